"""Multiple cause vector quantization: its free energy written out, its steps, and data made for it."""

import numpy as np
import pytest

import gramian as gm
from gramian.clustering import match
from gramian.clustering.mcvq import costs, gaussians, selection, states
from gramian.clustering.points import Points


def energy(Z, m, mu, s, g, a, k):
    """The free energy of the docstring, with loops over features and states."""
    ends = np.cumsum(k)
    total = 0.0
    for t, (size, end) in enumerate(zip(k, ends)):
        for j in range(end - size, end):
            total += (m[:, j] * np.log(np.maximum(m[:, j] * size, 1e-300))).sum()
            for f in range(Z.shape[1]):
                eps = np.log(2 * np.pi * s[j, f]) / 2 + (Z[:, f] - mu[j, f]) ** 2 / (2 * s[j, f])
                total += g[f, t] * (m[:, j] * eps).sum()
        total += len(Z) * (g[:, t] * np.log(g[:, t] / a[:, t])).sum()
    return total


def test_each_step_lowers_the_free_energy(rng):
    k, which = (2, 3), np.array([0, 0, 1, 1, 1])
    Z = rng.normal(size=(30, 4))
    m = np.hstack([rng.dirichlet(np.ones(size), size=30) for size in k])
    a = rng.dirichlet(np.ones(2), size=4)
    mu, s, g = rng.normal(size=(5, 4)), rng.uniform(0.5, 2, (5, 4)), rng.dirichlet(np.ones(2), size=4)
    before = energy(Z, m, mu, s, g, a, k)
    mu, s = gaussians(Z, Z * Z, m, np.zeros(4))
    fitted = energy(Z, m, mu, s, g, a, k)
    g = selection(m, mu, s, Z, Z * Z, a, which)
    selected = energy(Z, m, mu, s, g, a, k)
    for step in (0.01, -0.01):  # g is the minimizer on the simplex
        moved = g + step * g.min() * np.array([1, -1])
        assert energy(Z, m, mu, s, moved, a, k) > selected
    m, labels, value = states(Z, Z * Z, mu, s, g, k)
    final = energy(Z, m, mu, s, g, a, k)
    assert before > fitted > selected > final
    assert final == pytest.approx(value + 30 * (g * np.log(g / a)).sum())
    w = rng.uniform(size=(5, 4))
    loops = [[sum(w[j] * (np.log(2 * np.pi * s[j]) / 2 + (z - mu[j]) ** 2 / (2 * s[j]))) for j in range(5)] for z in Z]
    assert np.allclose(costs(Z, Z * Z, mu, s, w), loops)


@pytest.mark.parametrize("family", ["concatenated", "overlap", "sum"])
def test_the_quantizers_do_not_begin_alike(family):
    """From one start: k-means of all features for both would be one clustering twice, and stay near 0.6."""
    data = gm.datasets.two_views(600, 10, n_clusters=2, family=family, random_state=1)
    model = gm.MultipleCauseVQ((2, 2), n_init=1, random_state=0)
    points = Points.of(data.X)
    first = np.reshape(model._first(points, (2, 2), 0, np.random.RandomState(0)), (2, -1))
    assert match(first[0], first[1]).scores[0] < 0.9
    assert match(model.fit(data.X).labels_, data.y).scores.min() > 0.8


def test_features_find_their_quantizer():
    data = gm.datasets.two_views(400, 15, n_clusters=3, family="concatenated", random_state=3)
    model = gm.MultipleCauseVQ((3, 3), random_state=0).fit(data.X)
    assert match(model.labels_, data.y).scores.min() > 0.95
    owner = model.selection_.argmax(axis=1)
    assert len(set(owner[:15])) == 1 and len(set(owner[15:])) == 1 and owner[0] != owner[15]
    assert np.allclose(model.selection_.sum(axis=1), 1)


def test_starts_on_a_part_go_on_from_where_they_ended(rng):
    """Steps never rise, so that all points end no higher than the best start on a part stands on them."""
    means = rng.normal(size=(6, 8))
    X = means[rng.integers(0, 6, 1200)] + 1.2 * rng.normal(size=(1200, 8))
    stood = []

    class OnPart(gm.MultipleCauseVQ):
        _most_points = 400

        def _go_on(self, points, k, run, rng):
            Z = np.asarray(points.X, float)
            stood.append(states(Z, Z * Z, run.centers, run.extra["variances"], run.extra["selection"], k)[2])
            return super()._go_on(points, k, run, rng)

    with pytest.warns(UserWarning, match="compares its 3 starts on 400 of the 1,200 points"):
        model = OnPart((4, 4), n_init=3, random_state=0).fit(X)
    assert model.objective_ < stood[0]
