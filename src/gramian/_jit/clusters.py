"""Nearest centers of several clusterings in one pass."""

from gramian._jit.compiler import njit


@njit()
def largest(scores, ends, labels):
    """Place of the largest score of each row in each run of columns, which stop at ``ends``; the first on ties."""
    for i in range(scores.shape[0]):
        start = 0
        for t in range(ends.shape[0]):
            best = start
            for j in range(start + 1, ends[t]):
                if scores[i, j] > scores[i, best]:
                    best = j
            labels[i, t] = best - start
            start = ends[t]
