"""RCA is a problem of the framework."""

import numpy as np

import gramian as gm


def test_rca_is_linear_logdet_with_one_chunklet_constraint(iris):
    """(3.4) with bound 1 has the optimum C⁻¹/d; (3.3) prints C⁻¹, the optimum for bound d."""
    X, y = iris
    rca = gm.RCA(anchor=0).fit(X, y).metric_.matrix
    chunklets = gm.Chunklets.from_labels(y)
    zero = gm.LinearLogDet(np.zeros((4, 4)))
    framework = gm.Framework(zero, anchor=0).fit(X, chunklets).metric_.matrix
    np.testing.assert_allclose(framework * 4, rca, rtol=1e-6)
    wide = gm.Chunklets(chunklets.ids, limit=4.0)
    np.testing.assert_allclose(gm.Framework(zero, anchor=0).fit(X, wide).metric_.matrix, rca, rtol=1e-6)
    V = np.vstack([X[y == c] - X[y == c].mean(0) for c in range(3)])
    np.testing.assert_allclose(rca, np.linalg.inv(V.T @ V / len(V)), rtol=1e-8)
