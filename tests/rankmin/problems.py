"""Problems with and without a solution of low rank."""

import numpy as np

import gramian as gm


def matrices(rng, n=9, m=5):
    A = rng.standard_normal((m, n, n))
    return (A + A.transpose(0, 2, 1)) / 2


KERNEL = gm.Gaussian(1.0)


def feasible_pairs(X, kernel=KERNEL):
    """Bounds that k₀ itself satisfies loosely, but its truncation does not."""
    D = kernel.sqdist(X)
    i, j = np.arange(0, len(X) - 1, 2), np.arange(1, len(X), 2)
    d = D[i, j]
    similar = d < np.median(d)
    return gm.Pairs(i, j, similar, bounds=(0.9 * d + 1e-3, 1.02 * d))


def random_problem(seed, n=20, m=15, rank=2):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n, n))
    A = (A + A.transpose(0, 2, 1)) / 2
    F = rng.standard_normal((n, rank))
    F /= np.sqrt(np.linalg.norm(F @ F.T))
    return A, np.einsum("mij,ij->m", A, F @ F.T)
