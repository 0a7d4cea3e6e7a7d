"""Models of the data as sums of parts, fitted by expectation and maximization in turn, and the plainest of them."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.clustering.base import Clusterings, Run
from gramian.clustering.parts import LIMIT, Moments, State, exact, gibbs, moments, residual
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import first_labels, refill


def correlation(C: np.ndarray, k: tuple[int, ...]) -> float:
    """Σ (μ_i · ν_j)² over parts of different clusterings, each pair once: the penalty of (8.12)."""
    cross = (C @ C.T) ** 2  # (K, K)
    return float((cross.sum() - sum(cross[rows, rows].sum() for rows in parts(k))) / 2)


class SumOfParts(Clusterings):
    """Base of the models z = μ¹_{c¹} + … + μᵀ_{cᵀ} + noise; the hook is ``_means(m, C, k, energy)``, the step on C."""

    @abstractmethod
    def _means(self, m: Moments, C: np.ndarray, k: tuple[int, ...], energy: float) -> np.ndarray: ...

    def _first(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> np.ndarray:
        """Labels to start from."""
        return first_labels(points, k, rng, ("orthogonal", "random")[start % 2])

    def _run(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run:
        energy = points.norms.sum()
        floor = variance_floor(points)
        labels = refill(points, labels, k)
        m = moments(points, labels, k)
        left = np.inf
        # means, equal weights, v = 1
        state = State(m.S / np.maximum(np.diag(m.N), 1)[:, None], np.ones(sum(k)), 1.0)
        path: list[float] = []
        best = np.inf, state, labels
        for _ in range(self.max_iter):
            state = self._step(m, state, k, energy, points, floor)
            last, m = m, self._expect(points, state, k, m.labels, rng)
            value = -m.likelihood + self._lam * correlation(state.C, k) / (2 * state.variance)
            left = float(np.mean(m.labels != last.labels)) if self._hard else _change(path, value)
            if not path or value < best[0]:
                best = (value, state, m.labels)
            path.append(best[0])
            if left <= self.tol:
                break
        value, state, labels = best
        extra = {"variance": state.variance / len(k), "weights": np.split(state.weights, np.cumsum(k)[:-1])}
        return Run(labels, state.C, value, np.array(path), left, self.tol, extra)

    def _step(self, m: Moments, state: State, k: tuple[int, ...], energy: float, points: Points, floor: float) -> State:
        """M-step: parts, then the weights (8.8), (8.9) and the variance at the new parts."""
        C = self._means(m, state.C, k, energy)
        loss = residual(energy, m, C) + self._lam * correlation(C, k)
        return State(C, np.diag(m.N) / len(points), max(loss / (len(points) * points.d), floor))

    def _expect(
        self, points: Points, state: State, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState
    ) -> Moments:
        if np.prod(k, dtype=float) <= LIMIT:
            return exact(points, state, k, not self._hard)
        return gibbs(points, state, k, not self._hard, labels, rng)

    @property
    def _lam(self) -> float:
        return float(getattr(self, "penalty_", 0.0))

    @property
    def _hard(self) -> bool:
        return getattr(self, "assignment", "soft") == "hard"

    @property
    def parts_(self) -> list[np.ndarray]:
        """Parts μ^t, one array (k_t, d) per clustering, around ``mean_``."""
        check_is_fitted(self, "labels_")
        return [C - self.mean_ for C in self.cluster_centers_]

    def reconstruct(self, X: Any = None) -> np.ndarray:
        """The sum of parts that stands for each point of X, or of the points of ``fit``, (n, d)."""
        check_is_fitted(self, "labels_")
        labels = self.labels_ if X is None else self.predict(X)
        sums: np.ndarray = self.mean_ + sum(C[c] for C, c in zip(self.parts_, labels.T))  # (n, d)
        return sums

    def _labels(self, points: Points) -> np.ndarray:
        return self._nearest(points, np.vstack(self.parts_))

    def _nearest(self, points: Points, C: np.ndarray) -> np.ndarray:
        """The most probable combination of the parts C for each point."""
        k = tuple(map(len, self.cluster_centers_))
        return likeliest(points, State(C, np.concatenate(self.weights_), self.variance_ * len(k)), k)

    def _spread(self, points: Points, run: Run, k: tuple[int, ...]) -> np.ndarray:
        state = State(run.centers, np.concatenate(run.extra["weights"]), run.extra["variance"] * len(k))
        return likeliest(points, state, k)


class CooperativeVQ(SumOfParts):
    """Several vector quantizers whose outputs add up (Hinton and Zemel 1994; Ghahramani 1995, "Factorial learning").

    Maximize over parts C, weights and v the likelihood of z = Σ_t μ^t_{c^t} + N(0, v I), labels summed out. E-step over
    all combinations of parts (sampled above 2048 combinations); M-step by least squares, C = N⁺ S with the moments
    N = Σ E[h hᵀ], S = Σ E[h] zᵀ of the stacked memberships h. We take spherical noise where Ghahramani has a full
    covariance.

    This is :class:`ConvolutionalEM` with soft labels and λ = 0: shifts between the parts of two clusterings are left
    open, and of those the pseudo-inverse takes the shortest. It stands here as the rival of chapter 8 of Jain 2009.

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of parts (k₁, …, k_T).
    n_init, init, center, max_iter, verbose, callback, random_state
        As in :class:`ConvolutionalEM`.
    tol : float
        Relative change of the objective at the end.

    See Also
    --------
    gramian.DecorrelatedKMeans : Clusterings that tell different things.
    gramian.MultipleCauseVQ : Each feature has one cause.

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.two_views(200, 5, n_clusters=2, family="sum", random_state=0)
    >>> gm.CooperativeVQ((2, 2), n_init=2, random_state=0).fit(data.X).labels_.shape
    (200, 2)
    """

    def _means(self, m: Moments, C: np.ndarray, k: tuple[int, ...], energy: float) -> np.ndarray:
        C_best: np.ndarray = np.linalg.pinv(m.N, rcond=1e-10, hermitian=True) @ m.S  # C = N⁺ S
        return C_best


def likeliest(points: Points, state: State, k: tuple[int, ...]) -> np.ndarray:
    """The most probable combination of parts for each point."""
    if np.prod(k, dtype=float) <= LIMIT:
        return exact(points, state, k, soft=False).labels
    return gibbs(points, state, k, False, points.nearest(state.C, k), np.random.RandomState(0)).labels


def variance_floor(points: Points) -> float:
    """Least variance of a point around its sum of parts, far below that of the data."""
    scale = points.norms.sum() / (len(points) * points.d)
    return float(1e-10 * scale) if scale > 0 else 1e-10


def _change(path: list[float], value: float) -> float:
    return abs(path[-1] - value) / max(abs(value), 1e-300) if path else np.inf
