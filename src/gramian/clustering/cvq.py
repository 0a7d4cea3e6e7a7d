"""Cooperative vector quantization: sums of parts by maximum likelihood, without decorrelation."""

import numpy as np

from gramian.clustering.additive import SumOfParts
from gramian.clustering.parts import Moments


class CooperativeVQ(SumOfParts):
    """Several vector quantizers whose outputs add up (Hinton and Zemel 1994; Ghahramani 1995, "Factorial learning").

    Maximize over parts C, weights and v the likelihood of z = Σ_t μ^t_{c^t} + N(0, v I), labels summed out. E-step over
    all combinations of parts (sampled above 2048 combinations); M-step by least squares, C = N⁺ S with the moments
    N = Σ E[h hᵀ], S = Σ E[h] zᵀ of the stacked memberships h. We take spherical noise where Ghahramani has a full
    covariance.

    This is :class:`ConvolutionalEM` with soft labels and λ = 0: shifts between the parts of two clusterings are left
    open, and of those the pseudo-inverse takes the shortest. It stands here as the rival of chapter 8 of Jain 2009.

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of parts (k₁, …, k_T).
    n_init, init, center, max_iter, random_state
        As in :class:`ConvolutionalEM`.
    tol : float
        Relative change of the objective at the end.
    verbose : bool
        Show progress over the starts: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(start, objective, residual)`` after each start.

    See Also
    --------
    gramian.DecorrelatedKMeans : Clusterings that tell different things.
    gramian.MultipleCauseVQ : Each feature has one cause.

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.two_views(200, 5, n_clusters=2, family="sum", random_state=0)
    >>> gm.CooperativeVQ((2, 2), n_init=2, random_state=0).fit(data.X).labels_.shape
    (200, 2)
    """

    def _means(self, m: Moments, C: np.ndarray, k: tuple[int, ...], energy: float) -> np.ndarray:
        return np.linalg.pinv(m.N, rcond=1e-10, hermitian=True) @ m.S
