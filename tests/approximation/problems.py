"""Objects and distances of the tests of subsets."""

import numpy as np

import gramian as gm


def euclidean(a, b):
    return float(np.linalg.norm(a - b))


def faces(rng, n=24, p=120):
    """Binary images of something that turns slowly."""
    t = np.linspace(0, 2, n)[:, None]
    return (np.sin(3 * t + np.linspace(0, 9, p)) + 0.3 * rng.normal(size=(n, p))) > 0


class Vectors:
    """Euclidean distance of vectors, in batches."""

    def __call__(self, a, b):
        return euclidean(a, b)

    def pairwise(self, A, B):
        return np.sqrt(gm.linalg.sqdist(np.asarray(A), np.asarray(B)))
