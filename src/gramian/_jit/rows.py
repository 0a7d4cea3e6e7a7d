"""Rows placed in a frame, and their mean: one pass in double precision that converts nothing beforehand."""

import numpy as np

from gramian._jit.compiler import njit


@njit(nogil=True, fastmath={"reassoc", "contract"})
def placed_row(x, center, unit, z):
    """Write (x − center) / unit to z in single precision; returns its squared norm before and after rounding."""
    exact, rounded = 0.0, 0.0
    for t in range(len(x)):
        value = (np.float64(x[t]) - center[t]) / unit
        z[t] = np.float32(value)
        exact += value * value
        rounded += np.float64(z[t]) * np.float64(z[t])
    return exact, rounded


@njit(nogil=True)
def placed_rows(X, center, unit, largest, rows, sqnorms):
    """Write (x − center) / unit to rows, and their squared norms; 0 and −∞ for rows longer than ``largest``."""
    for i in range(len(X)):
        exact, sqnorms[i] = placed_row(X[i], center, unit, rows[i])
        if exact > largest * largest:
            rows[i] = 0
            sqnorms[i] = -np.inf


@njit(nogil=True)
def add_row(total, x):
    """Add a row to a sum in double precision."""
    for t in range(len(total)):
        total[t] += x[t]


@njit(nogil=True)
def column_means(X):
    """Mean of the rows, in double precision."""
    total = np.zeros(X.shape[1])
    for i in range(len(X)):
        add_row(total, X[i])
    return total / len(X)
