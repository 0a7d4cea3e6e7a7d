"""What people write for pairs of queries and documents: thirty lines of InfoNCE near the identity, plain or tuned."""

from collections.abc import Callable

import numpy as np

TEMPERATURE, DECAY, BATCH = 0.05, 0.1, 128
RATE, EPOCHS = 1e-3, 20
RATES, CHECKED = (3e-4, 1e-3, 3e-3), (5, 10, 20, 40)
"""Rates and epochs to tune over."""


def unit(X: np.ndarray) -> np.ndarray:
    """Rows of length one."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def reciprocal_ranks(U: np.ndarray, V: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """1 / rank of document ``rows[i]`` in the list of query i."""
    S = U @ V.T
    right = S[np.arange(len(U)), rows]
    return 1 / (1 + (right[:, None] < S).sum(axis=1))


def mapped(W: np.ndarray, Q: np.ndarray, D: np.ndarray, both: bool) -> tuple[np.ndarray, np.ndarray]:
    """Queries, and documents where both sides move, under W."""
    return unit(Q @ W.T), unit(D @ W.T) if both else D


def train(
    Q: np.ndarray, D: np.ndarray, both: bool, rate: float, epochs: int, seed: int, visit: Callable | None = None
) -> np.ndarray:
    """W = I + A by Adam on −log softmax of a batch's cosines over τ, with decay toward the identity."""
    rng, d = np.random.default_rng(seed), Q.shape[1]
    eye = np.eye(d, dtype=np.float32)
    A, mean, square, step = np.zeros_like(eye), np.zeros_like(eye), np.zeros_like(eye), 0
    for epoch in range(1, epochs + 1):
        for rows in np.array_split(rng.permutation(len(Q)), max(1, len(Q) // BATCH)):
            step += 1
            G = slope(eye + A, Q[rows], D[rows], both)
            mean += 0.1 * (G - mean)
            square += 0.001 * (G * G - square)
            A *= 1 - rate * DECAY
            A -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        if visit is not None:
            visit(epoch, eye + A)
    return eye + A


def slope(W: np.ndarray, Q: np.ndarray, D: np.ndarray, both: bool) -> np.ndarray:
    """The gradient of the mean loss of a batch in W."""
    X, Y = Q @ W.T, D @ W.T if both else D
    U, V = unit(X), unit(Y)
    P = U @ V.T / TEMPERATURE
    P = np.exp(P - P.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    P[np.arange(len(Q)), np.arange(len(Q))] -= 1
    P /= len(Q) * TEMPERATURE

    def back(dU: np.ndarray, U: np.ndarray, X: np.ndarray, points: np.ndarray) -> np.ndarray:
        length = np.linalg.norm(X, axis=1, keepdims=True)
        return ((dU - U * (U * dU).sum(axis=1, keepdims=True)) / length).T @ points

    return back(P @ V, U, X, Q) + (back(P.T @ U, V, Y, D) if both else 0)


def tuned(Q: np.ndarray, D: np.ndarray, both: bool, seed: int) -> np.ndarray:
    """Rate and epochs that a held-out fifth of the pairs likes best, refitted to all; the identity where none gains."""
    order = np.random.default_rng(seed).permutation(len(Q))
    out, rest = order[: max(1, len(Q) // 5)], order[max(1, len(Q) // 5) :]
    best, setting = reciprocal_ranks(Q[out], D, out).mean(), None
    for rate in RATES:

        def visit(epoch: int, W: np.ndarray, rate: float = rate) -> None:
            nonlocal best, setting
            if epoch in CHECKED:
                U, V = mapped(W, Q[out], D, both)
                score = reciprocal_ranks(U, V, out).mean()
                if score > best:
                    best, setting = score, (rate, epoch)

        train(Q[rest], D[rest], both, rate, max(CHECKED), seed, visit)
    return np.eye(Q.shape[1], dtype=np.float32) if setting is None else train(Q, D, both, *setting, seed)
