"""The two-view families: shapes, places of the parts, and the correlation knob."""

import numpy as np
import pytest

import gramian as gm


@pytest.mark.parametrize("family, width", [("concatenated", 14), ("overlap", 10), ("sum", 7)])
def test_parts_lie_where_they_should(family, width):
    data = gm.datasets.two_views(50, 7, n_clusters=(2, 3), family=family, noise=0.0, random_state=0)
    A, B = (means[y] for means, y in zip(data.means, data.y.T))
    expected = {
        "concatenated": lambda: np.hstack([A, B]),
        "overlap": lambda: np.hstack([A[:, :3], A[:, 3:] + B[:, :4], B[:, 4:]]),
        "sum": lambda: A + B,
    }[family]()
    assert data.X.shape == (50, width) and np.allclose(data.X, expected) and data.y.max(axis=0).tolist() == [1, 2]


def test_correlation_pulls_the_second_view_into_the_first():
    def share(c):
        first, second = gm.datasets.two_views(10, 30, n_clusters=3, family="sum", correlation=c, random_state=0).means
        Q = np.linalg.qr(first.T)[0]
        return np.linalg.norm(second @ Q) / np.linalg.norm(second)

    assert share(0.0) < 0.5 < share(0.8) < share(1.0) and share(1.0) == pytest.approx(1)
    with pytest.raises(ValueError, match="two_views: correlation needs both views in the same space"):
        gm.datasets.two_views(10, correlation=0.5)
