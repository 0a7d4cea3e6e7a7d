"""The second level of hashing of chapter 5, beside the flips that it is to find."""

import numpy as np
from benchmarks.papers.online.second_level import SecondLevel


def test_second_level_finds_most_flips(rng):
    X, H = rng.standard_normal((4000, 24)), rng.standard_normal((32, 24))
    moved = 0.5 * (H + 0.03 * rng.standard_normal(H.shape))
    second = SecondLevel(X, np.zeros(24), H, 0)
    found = touched = flips = 0
    for j in second.bits:
        flipped = np.flatnonzero((X @ H[j] >= 0) != (X @ moved[j] >= 0))
        listed = second.candidates(j, moved[j])
        flips, touched, found = (
            flips + len(flipped),
            touched + len(listed),
            found + len(np.intersect1d(flipped, listed)),
        )
    assert found > 0.8 * flips
    assert touched < 0.3 * len(X) * len(second.bits)
