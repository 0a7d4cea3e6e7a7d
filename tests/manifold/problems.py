"""Two moons, hidden labels and kernels over them."""

import numpy as np
from scipy.spatial.distance import cdist

from gramian.manifold import InductiveFamily, RBFFamily, SpectralFamily


def moons(n=120, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, np.pi, n // 2)
    X = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.6 - np.sin(t)]])
    return X + noise * rng.normal(size=X.shape), np.repeat([0, 1], n // 2)


def hide(y, keep):
    out = np.full(len(y), -1)
    out[keep] = y[keep]
    return out


def projector(F):
    Q = np.linalg.qr(F)[0]
    return Q @ Q.T


def naive_cost(X, y, k):
    """Equation (6) by loops."""
    n, C = len(y), np.zeros((len(y), len(y)))
    D = cdist(X, X)
    for i in np.flatnonzero(y >= 0):
        for sign, group in ((1, (y == y[i])), (-1, (y >= 0) & (y != y[i]))):
            others = np.flatnonzero(group & (np.arange(n) != i))
            chosen = others[np.argsort(D[i, others], kind="stable")[:k]]
            C[i, chosen] += sign / max(len(chosen), 1)
    return C


def closer_moons(n=100, seed=0, noise=0.06):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, np.pi, n // 2)
    X = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]])
    return X + noise * rng.normal(size=X.shape), np.repeat([0, 1], n // 2)


def family(name, **options):
    """The family of that name with small settings; options that it has not are left out."""
    kind = {"spectral": SpectralFamily, "inductive": InductiveFamily, "rbf": RBFFamily}[name]
    return kind(**{key: value for key, value in options.items() if key in kind.__dataclass_fields__})


def logdet(K, M):
    P = np.linalg.solve(M, K)
    return np.trace(P) - np.linalg.slogdet(P)[1] - len(K)
