"""GMML minimizes its objective."""

import numpy as np

from gramian.learners.gmml import geodesic


def test_gmml_minimizes_its_objective(rng):
    """At t = ½ the geodesic solves M S M = D, the stationarity of ⟨M, S⟩ + ⟨M⁻¹, D⟩."""
    A, B = rng.normal(size=(2, 5, 5))
    S, D = A @ A.T + np.eye(5), B @ B.T + np.eye(5)
    M = geodesic(S, D, 0.5)
    np.testing.assert_allclose(M @ S @ M, D, rtol=1e-8)
    np.testing.assert_allclose(geodesic(S, D, 0.0), np.linalg.inv(S), rtol=1e-8)
    np.testing.assert_allclose(geodesic(S, D, 1.0), D, rtol=1e-8)
