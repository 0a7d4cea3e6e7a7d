"""Multiple cause vector quantization: each feature belongs to one of several vector quantizers."""

import numpy as np

from gramian.clustering.base import Clusterings, Run
from gramian.clustering.points import Points, indicator, parts
from gramian.clustering.starts import KINDS, first_labels


class MultipleCauseVQ(Clusterings):
    """Several vector quantizers, each in charge of some of the features (Ross and Zemel 2003, 2006).

    Feature f of a point is drawn from N(μ_{jf}, s_{jf}) where j is the state, in this point, of the one quantizer t
    that feature f belongs to. With responsibilities m (of states, per point) and g (of quantizers, per feature, shared
    by all points) minimize the free energy, ε_{jf} = ½ log(2π s_{jf}) + (x_f − μ_{jf})² / 2 s_{jf}::

        Σ_points Σ_f Σ_t g_{ft} [ Σ_{j∈t} m_j ε_{jf} + log(g_{ft} / a_{ft}) ]  +  Σ_points Σ_t Σ_{j∈t} m_j log(m_j k_t)

    in turn over m, g with its prior a, and the means and variances, each exactly. The rival of chapter 8 of Jain 2009
    for data whose clusterings use different features.

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of states (k₁, …, k_T).
    n_init, init, center, max_iter, verbose, callback, random_state
        As in :class:`ConvolutionalEM`.
    tol : float
        Relative change of the objective at the end.

    Attributes
    ----------
    labels_ : array (n, T)
        Cluster of each point, one column per clustering.
    selection_ : array (d, T)
        g, the share of each quantizer in each feature.
    cluster_centers_, objective_, objective_path_, mean_, n_iter_, converged_
        As in :class:`DecorrelatedKMeans`.

    See Also
    --------
    gramian.CooperativeVQ : Outputs that add up.
    gramian.DecorrelatedKMeans : Clusterings that tell different things.

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.two_views(200, 5, n_clusters=2, family="concatenated", random_state=0)
    >>> model = gm.MultipleCauseVQ((2, 2), random_state=0).fit(data.X)
    >>> model.labels_.shape, model.selection_.shape
    ((200, 2), (10, 2))
    """

    _sparse = False
    _most_points = 10_000

    def _first(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> np.ndarray:
        """By turns k-means in the complement of the other quantizers, k-means, and random labels for all but one.

        The first comes first: from k-means of all features the quantizers would begin alike.
        """
        return first_labels(points, k, rng, KINDS[start % len(KINDS)])

    def _run(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run:
        return self._descent(points, k, indicator(labels, k), rng.dirichlet(np.full(len(k), 5.0), points.X.shape[1]))

    def _go_on(self, points: Points, k: tuple[int, ...], run: Run, rng: np.random.RandomState) -> Run:
        Z = np.asarray(points.X, np.float64)
        m = states(Z, Z * Z, run.centers, run.extra["variances"], run.extra["selection"], k)[0]
        return self._descent(points, k, m, run.extra["selection"])

    def _descent(self, points: Points, k: tuple[int, ...], m: np.ndarray, prior: np.ndarray) -> Run:
        """Steps from responsibilities m (n, K), features shared among the quantizers as the prior (d, T) says."""
        Z = np.asarray(points.X, np.float64)
        which = np.repeat(np.arange(len(k)), k)  # (K,): the quantizer of each state
        squares = Z * Z
        floor = 1e-6 * Z.var(axis=0) + 1e-12 * max(Z.var(), 1e-290)
        path: list[float] = []
        for _ in range(self.max_iter):
            mu, s = gaussians(Z, squares, m, floor)
            g = selection(m, mu, s, Z, squares, prior, which)
            m, labels, value = states(Z, squares, mu, s, g, k)
            value += len(Z) * np.vdot(g, np.log(np.maximum(g, 1e-300)) - np.log(np.maximum(prior, 1e-300)))
            left = abs(path[-1] - value) / max(abs(value), 1e-300) if path else np.inf
            path.append(float(value))
            prior = g
            if left <= self.tol:
                break
        extra = {"selection": g, "variances": s}
        return Run(labels, mu, path[-1], np.array(path), left, self.tol, extra)

    def _labels(self, points: Points) -> np.ndarray:
        k = tuple(len(C) for C in self.cluster_centers_)
        Z = points.dense(slice(None))
        mu = np.vstack(self.cluster_centers_) - self.mean_
        return states(Z, Z * Z, mu, self.variances_, self.selection_, k)[1]


def gaussians(Z: np.ndarray, squares: np.ndarray, m: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (K, d) of every state in every feature."""
    counts = np.maximum(m.sum(axis=0), 1e-12)[:, None]
    mu = m.T @ Z / counts  # (K, d)
    return mu, np.maximum(m.T @ squares / counts - mu**2, floor)


def costs(Z: np.ndarray, squares: np.ndarray, mu: np.ndarray, s: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Σ_f w_{jf} ε_{jf} for each point and state, (n, K)."""
    p = w / s  # (K, d)
    constant = (w * np.log(2 * np.pi * s) + p * mu**2).sum(axis=1) / 2
    cost: np.ndarray = squares @ p.T / 2 - Z @ (p * mu).T + constant
    return cost


def selection(
    m: np.ndarray,
    mu: np.ndarray,
    s: np.ndarray,
    Z: np.ndarray,
    squares: np.ndarray,
    prior: np.ndarray,
    which: np.ndarray,
) -> np.ndarray:
    """Shares g (d, T): the prior times exp(− mean cost) of the states of each quantizer."""
    counts, n = m.sum(axis=0)[:, None], len(Z)
    cost = counts * np.log(2 * np.pi * s) / 2 + (m.T @ squares - 2 * mu * (m.T @ Z) + counts * mu**2) / (2 * s)
    # of the states of each quantizer, per point
    mean = np.stack([cost[which == t].sum(axis=0) for t in range(prior.shape[1])], axis=1) / n
    logg = np.log(np.maximum(prior, 1e-300)) - mean
    g: np.ndarray = np.exp(logg - logg.max(axis=1, keepdims=True))  # (d, T)
    g /= g.sum(axis=1, keepdims=True)
    return g


def states(
    Z: np.ndarray, squares: np.ndarray, mu: np.ndarray, s: np.ndarray, g: np.ndarray, k: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Responsibilities m (n, K), the labels, and the free energy of costs and states."""
    w = np.repeat(g.T, k, axis=0)  # (K, d)
    m, energy = -costs(Z, squares, mu, s, w), 0.0
    labels = np.empty((len(Z), len(k)), dtype=np.int32)
    for t, block in enumerate(parts(k)):
        labels[:, t] = m[:, block].argmax(axis=1)
        top = m[:, block].max(axis=1, keepdims=True)
        e = np.exp(m[:, block] - top)
        total = e.sum(axis=1, keepdims=True)
        energy -= (top + np.log(total) - np.log(k[t])).sum()
        m[:, block] = e / total
    return m, labels, energy
