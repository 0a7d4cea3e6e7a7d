"""Convolutional EM: data as sums of parts, parts of different clusterings orthogonal."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.clustering.additive import SumOfParts, correlation, variance_floor
from gramian.clustering.base import Run
from gramian.clustering.parts import Moments, State, moments, residual
from gramian.clustering.penalty import Penalty, choose
from gramian.clustering.points import Points, indicator, parts
from gramian.clustering.starts import first_labels, promising, shrink

SHAPES = 5
"""Times that the shape of the noise is estimated anew at most."""


def sweep(m: Moments, C: np.ndarray, k: tuple[int, ...], lam: float) -> np.ndarray:
    """One pass of block minimization of (8.12) over the parts of each clustering, (8.15) and (8.16) for T ≥ 2.

    A part that no point has is set to zero, a minimizer like any other that is orthogonal to the rest.
    """
    counts = np.diag(m.N)
    used = counts > 1e-12 * counts.sum()
    C = np.where(used[:, None], C, 0.0)
    for block in parts(k):
        rows = np.arange(block.start, block.stop)[used[block]]
        rest = np.delete(C, block, axis=0)
        # (8.13): what the parts of the other clusterings leave, on average
        A = (m.S[rows] - np.delete(m.N, block, axis=1)[rows] @ rest) / counts[rows, None]
        C[rows] = shrink(A, rest, lam / counts[rows]) if len(rest) else A
    return C


def means_of(m: Moments) -> np.ndarray:
    """The mean of the points of each cluster, (8.13) and (8.14) with its z; 0 where there are none."""
    means: np.ndarray = m.S / np.maximum(np.diag(m.N), 1)[:, None]
    return means


def gap_variance(C: np.ndarray, k: tuple[int, ...]) -> float:
    """σ² that Algorithm 5 begins with: (least distance of two means of one clustering)² / 2d."""
    gaps = [linalg.sqdist(C[block])[np.triu_indices(size, 1)] for size, block in zip(k, parts(k)) if size > 1]
    least = np.concatenate(gaps).min() if gaps else 0.0
    return float(max(least / (2 * C.shape[1]), np.finfo(float).tiny ** 0.5))


def settled(m: Moments, C: np.ndarray, k: tuple[int, ...], lam: float, rounds: int = 1000) -> np.ndarray:
    """(8.18) and (8.19) in turn until the parts stay where they are (step 4.5)."""
    for _ in range(rounds):
        moved = sweep(m, C, k, lam)
        if np.abs(moved - C).max(initial=0.0) <= 1e-9 * np.abs(moved).max(initial=0.0):
            return moved
        C = moved
    return C


def shape(Z: np.ndarray, diagonal: bool) -> np.ndarray:
    """Second moments of the rows, of determinant one; a thousandth of the mean variance keeps them regular."""
    S = np.diag(np.mean(Z**2, axis=0)) if diagonal else Z.T @ Z / len(Z)
    S = S + max(1e-3 * np.trace(S) / len(S), np.finfo(float).tiny) * np.eye(len(S))
    unit: np.ndarray = S / np.exp(np.linalg.slogdet(S)[1] / len(S))  # (d, d), det 1
    return unit


def whitened(points: Points, S: np.ndarray) -> Points:
    """Points in coordinates in which noise of the shape S is spherical."""
    return Points.of(points.dense(slice(None)) @ linalg.psd_power(S, -0.5), center=False)


@dataclass(eq=False, repr=False)
class ConvolutionalEM(SumOfParts):
    """Several clusterings as the parts of a sum (Jain 2009, §8.1.2, Algorithm 5).

    The data are sampled from the convolution of T mixtures of spherical Gaussians (8.6), so that a point with labels
    (i, j, …) is N(μ_i + ν_j + …, v I) with v = T σ². Minimize over parts, weights, v and, when hard, labels::

        − log-likelihood  +  λ / (2 v) · Σ (μ_i · ν_j)²

    the second sum over parts of different clusterings. This is the quantity that every step lowers: the E-step is
    exact, the step on the parts is block minimization of (8.12), and weights and v have closed forms.

    Differences from the thesis: (8.17) leaves the weights and v out, and is not what (8.7) minimizes; (8.14) lacks a
    factor z; v takes the penalty in and the new parts, not the old ones as (8.10), which makes it the minimizer; the
    parts go on from those before and not from the means (step 4.4), or the objective could rise. Each start is a short
    decorrelated k-means, where the thesis has k-means for one clustering and random labels for the other.
    ``variant="as_printed"`` has none of these but the z of (8.14).

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of parts (k₁, …, k_T), one per clustering.
    penalty : float, "auto", "drop" or "average"
        λ ≥ 0 of (8.12), in the same units as that of :class:`DecorrelatedKMeans`, and by the same rules.
    n_init, init, verbose, callback, random_state
        As in :class:`DecorrelatedKMeans`.
    covariance : {"spherical", "diagonal", "full"}
        Shape of the noise, one for all points: v I as in the thesis, v diag(s) or v S with det S = 1. The shape is
        that of the data at first, then of the residuals, and the model is fitted again in coordinates in which it is
        spherical, as long as the objective falls; parts of different clusterings are orthogonal under S⁻¹. Dense data
        only, centered.
    assignment : {"hard", "soft"}
        One combination of parts per point as in (8.7), or probabilities. All combinations are tried up to 2048,
        above that they are sampled (Gibbs), and the path is then the running best.
    variant : {"improved", "as_printed"}
        "as_printed" is Algorithm 5: labels by k-means and at random, σ by the rule of [15] there, (8.7) to (8.10) with
        the parts of before, step 4.4, and (8.18), (8.19) until they settle; its last iterate is the answer, and the
        objective may rise. ``n_init=1`` is one such run.
    center : bool or "auto"
        Whether the mean of the data is the origin; "auto": unless the variant is as printed.
    max_iter : int
        Most iterations.
    tol : float
        Share of labels that may still change (hard), or relative change of the objective (soft).

    Attributes
    ----------
    labels_ : array (n, T)
        Cluster of each point, one column per clustering.
    parts_ : list of T arrays (k_t, d)
        Parts around ``mean_``.
    cluster_centers_ : list of T arrays (k_t, d)
        ``mean_`` + parts.
    weights_ : list of T arrays (k_t,)
        Share of each part.
    variance_ : float
        σ² of one part.
    shape_ : array (d, d) or None
        S, where the noise is not spherical.
    objective_, objective_path_, penalty_, mean_, n_iter_, converged_
        As in :class:`DecorrelatedKMeans`.

    See Also
    --------
    gramian.DecorrelatedKMeans : Each clustering has centers of its own.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = rng.integers(2, size=200), rng.integers(2, size=200)
    >>> X = np.column_stack([5 * rows, 6 * columns]) + 0.1 * rng.normal(size=(200, 2))
    >>> em = gm.ConvolutionalEM((2, 2), random_state=0).fit(X)
    >>> bool(np.abs(em.reconstruct() - X).max() < 1)
    True
    """

    _most_points = 20_000

    penalty: Penalty = "auto"
    _: KW_ONLY
    covariance: Literal["spherical", "diagonal", "full"] = "spherical"
    assignment: Literal["hard", "soft"] = "hard"
    variant: Literal["improved", "as_printed"] = "improved"
    center: Literal["auto"] | bool = "auto"  # type: ignore[assignment]  # True or False elsewhere

    def _centers(self) -> bool:
        return not self._printed if isinstance(self.center, str) else bool(self.center)

    @property
    def _printed(self) -> bool:
        return self.variant == "as_printed"

    def _begin(self, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> None:
        if self._printed and (self.covariance, self.assignment) != ("spherical", "hard"):
            raise ValueError(
                "ConvolutionalEM: covariance must be 'spherical' and assignment 'hard' for variant='as_printed', "
                f"got {self.covariance!r} and {self.assignment!r}."
            )
        if self.covariance != "spherical" and sparse.issparse(points.X):
            raise TypeError("ConvolutionalEM: covariance must be 'spherical' for sparse X; pass X.toarray().")
        self.penalty_ = choose(self.penalty, points, k, rng)

    def _first(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> np.ndarray:
        if self._printed:
            return first_labels(points, k, rng, "random")
        return promising(points, k, self.penalty_, rng)

    def _run(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run:
        """The spherical model; for other noise also in coordinates that the data, and then its residuals, give."""
        best = self._letter(points, k, labels, rng) if self._printed else super()._run(points, k, labels, rng)
        best.extra["shape"] = None
        if self.covariance == "spherical":
            return best
        S = shape(points.dense(slice(None)), self.covariance == "diagonal")
        start = labels if self.init is not None else promising(whitened(points, S), k, self.penalty_, rng)
        for _ in range(SHAPES):
            run = super()._run(whitened(points, S), k, start, rng)
            if run.objective >= best.objective - self.tol * abs(best.objective):
                break
            path = np.concatenate([best.path, run.path])
            centers = run.centers @ linalg.psd_power(S, 0.5)
            best = replace(run, centers=centers, path=np.minimum.accumulate(path), extra={**run.extra, "shape": S})
            rest = points.dense(slice(None)) - indicator(best.labels, k) @ best.centers
            S = shape(rest, self.covariance == "diagonal")
            start = best.labels.copy()
        return best

    def _letter(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run:
        """Algorithm 5 from given labels."""
        energy, T = float(points.norms.sum()), len(k)
        m = moments(points, labels, k)
        C = means_of(m)
        weights = np.concatenate([np.full(size, 1 / size) for size in k])  # step 3
        state = State(C, weights, T * gap_variance(C, k))
        path: list[float] = []
        change = np.inf
        while len(path) < self.max_iter and change > self.tol:
            last, m = m, self._expect(points, state, k, m.labels, rng)  # (8.7)
            change = float(np.mean(m.labels != last.labels)) if path else np.inf
            path.append(-m.likelihood + self._lam * correlation(state.C, k) / (2 * state.variance))
            variance = residual(energy, m, state.C) / (len(points) * points.d)  # T σ² of (8.10)
            C = means_of(m)  # (8.13), (8.14), step 4.4
            state = State(
                settled(m, C, k, self.penalty_), np.diag(m.N) / len(points), max(variance, variance_floor(points))
            )
        extra = {"variance": state.variance / T, "weights": np.split(state.weights, np.cumsum(k)[:-1])}
        return Run(m.labels, state.C, path[-1], np.array(path), change, self.tol, extra)

    def _labels(self, points: Points) -> np.ndarray:
        if self.shape_ is None:
            return super()._labels(points)
        C = np.vstack(self.parts_) @ linalg.psd_power(self.shape_, -0.5)
        return self._nearest(whitened(points, self.shape_), C)

    def _spread(self, points: Points, run: Run, k: tuple[int, ...]) -> np.ndarray:
        S = run.extra["shape"]
        if S is None:
            return super()._spread(points, run, k)
        turned = replace(run, centers=run.centers @ linalg.psd_power(S, -0.5))
        return super()._spread(whitened(points, S), turned, k)

    def _means(self, m: Moments, C: np.ndarray, k: tuple[int, ...], energy: float) -> np.ndarray:
        last = np.inf
        for _ in range(20):
            C = sweep(m, C, k, self.penalty_)
            value = residual(energy, m, C) + self.penalty_ * correlation(C, k)
            if value >= last * (1 - 1e-6):
                break
            last = value
        return C
