"""One fit of one of our learners under another name: its progress printed, its warnings in their words."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian import _validate
from gramian.linalg import psd_sqrt

NO_MINIMUM = (
    "There was a problem in SDML when using scikit-learn's graphical lasso solver. skggm's graphical lasso can "
    "sometimes converge on non SPD cases where scikit-learn's graphical lasso fails to converge. Try to install skggm "
    "and rerun the algorithm (see the README.md for the right version of skggm)."
)

OURS = (
    " The following error message was thrown: the matrix is not positive definite. Here skggm is never used, and would "
    "not help: the problem has no minimum. Lower balance_param, or take gramian.SDML, which does so by itself."
)


def fit_with(estimator: Any, learner: Any, X: Any, y: Any) -> Any:
    """Fit a learner of ours, keep its factor and its steps, and say what it warned of under the name of the estimator.

    That a fit did not converge is always said.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, y)
    name = type(estimator).__name__
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, ConvergenceWarning):
            text = f"[{name}] {name} did not converge: {text.split(': ', 1)[-1]}"
        _validate.warn(text, warning.category)
    estimator.n_iter_ = learner.n_iter_
    estimator.components_ = learner.components_
    return learner


def square_root(M: np.ndarray) -> np.ndarray:
    """A factor (d, d) of M."""
    return psd_sqrt(M)


def require_minimum(problem: Any) -> None:
    """Warn as there where the matrix of SDML is not definite, and fail where the penalty does not help either."""
    if np.linalg.eigvalsh(problem.K)[0] > 0:
        return
    _validate.warn(
        "Warning, the input matrix of graphical lasso is not positive semi-definite (PSD). The algorithm may diverge, "
        "and lead to degenerate solutions. To prevent that, try to decrease the balance parameter `balance_param` "
        "and/or to set prior='identity'.",
        ConvergenceWarning,
    )
    if problem.has_minimum():
        return
    diagonal = np.array_equal(problem.K, np.diag(np.diag(problem.K)))
    raise RuntimeError(NO_MINIMUM + ("" if diagonal else OURS))


def table(estimator: Any, sign: float = 1.0) -> Callable[..., None] | None:
    """A callback that prints steps as NCA and MLKR do there; None unless verbose."""
    if not estimator.verbose:
        return None
    name = f"[{type(estimator).__name__}]"
    header = f"{'Iteration':>10} {'Objective Value':>20} {'Time(s)':>10}"
    print(name)
    print(f"{name} {header}\n{name} {'-' * len(header)}")
    last = time.time()

    def report(n_iter: int, value: float, residual: float) -> None:
        nonlocal last
        print(f"{name} {n_iter:>10} {sign * value:>20.6e} {time.time() - last:>10.2f}", flush=True)
        last = time.time()

    return report


@contextmanager
def timed(estimator: Any) -> Iterator[None]:
    """Print how long training took, when verbose."""
    began = time.time()
    yield
    if estimator.verbose:
        print(f"[{type(estimator).__name__}] Training took {time.time() - began:8.2f}s.")


def lines(estimator: Any) -> Callable[..., None] | None:
    """A callback that prints step, objective and residual; None unless verbose."""
    if not estimator.verbose:
        return None
    name = type(estimator).__name__

    def report(n_iter: int, value: float, residual: float) -> None:
        print(f"[{name}] iter {n_iter}\t obj {value:.6f}\t residual {residual:.2e}", flush=True)

    return report
