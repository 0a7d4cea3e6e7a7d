"""A short closed tour through points: the graph of data that lie on a closed curve."""

import numpy as np
from scipy import sparse


def tour_graph(D):
    """Adjacency matrix (n, n) of a short closed tour for distances D: greedy edges, then reversals that shorten it."""
    order = shortened(D, walk(greedy_cycle(D)))
    A = sparse.coo_array((np.ones(len(D)), (order, np.roll(order, -1))), D.shape)
    return sparse.csr_array(A.maximum(A.T))


def greedy_cycle(D):
    """Shortest edges first, each if both ends have fewer than two and no cycle closes before the last edge."""
    n = len(D)
    A, degree, piece = np.zeros((n, n), bool), np.zeros(n, int), np.arange(n)
    left, right = np.triu_indices(n, 1)
    for e in np.argsort(D[left, right], kind="stable"):
        a, b = left[e], right[e]
        if max(degree[a], degree[b]) < 2 and (piece[a] != piece[b] or degree.sum() == 2 * n - 2):
            A[a, b] = A[b, a] = True
            degree[[a, b]] += 1
            piece[piece == piece[b]] = piece[a]
    return A


def walk(A):
    """The vertices of a cycle in order."""
    order = [0, np.flatnonzero(A[0])[0]]
    while len(order) < len(A):
        ends = np.flatnonzero(A[order[-1]])
        order.append(ends[ends != order[-2]][0])
    return np.array(order)


def shortened(D, order):
    """Reverse the stretch that saves most, until none saves."""
    n = len(order)
    i, j = np.triu_indices(n, 2)
    while True:
        E, step = D[np.ix_(order, order)], D[order, np.roll(order, -1)]
        change = (E + np.roll(E, (-1, -1), (0, 1)) - step[:, None] - step)[i, j]
        best = change.argmin()
        if change[best] > -1e-9 * D.max():
            return order
        order = order.copy()
        order[i[best] + 1 : j[best] + 1] = order[i[best] + 1 : j[best] + 1][::-1]
