"""Chapter 8 of Jain 2009: what it proves and what it shows, on data drawn here."""

import numpy as np
import pytest
from benchmarks.papers.disparate.heuristics import feature_removal, orthogonal_projection
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score as nmi

import gramian as gm
from gramian.clustering import match, table
from gramian.clustering.points import Points


def test_nearest_centers_are_independent_exactly_when_orthogonal(rng):
    """Lemma 14 and (8.20): orthogonal centers, spherical Gaussian data, independent labels."""
    Z = Points.of(rng.normal(size=(20_000, 6)), center=False)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    first = rng.normal(size=(3, 3)) @ Q[:, :3].T
    for second, related in (
        (rng.normal(size=(4, 3)) @ Q[:, 3:].T, False),
        (rng.normal(size=(4, 3)) @ Q[:, :3].T, True),
    ):
        labels = Z.nearest(np.vstack([first, second]), (3, 4))
        assert (nmi(*labels.T) > 0.01) == related


def test_parts_are_the_cluster_means_and_representatives_are_not(rng):
    """Figure 8.2."""
    truth = rng.integers(2, size=(500, 2))
    means = np.array([[4.0, 1.5], [-1.2, 3.2]])
    X = (2 * truth - 1) @ means + rng.normal(size=(500, 2))
    corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]) @ means
    dec, em = (cls((2, 2), random_state=0).fit(X) for cls in (gm.DecorrelatedKMeans, gm.ConvolutionalEM))
    sums = np.array([em.mean_ + mu + nu for mu in em.parts_[0] for nu in em.parts_[1]])
    assert gm.linalg.sqdist(corners, sums).min(axis=1).max() < 0.3
    assert gm.linalg.sqdist(corners, np.vstack(dec.cluster_centers_)).min() > 2
    assert all(match(model.labels_, truth).scores.min() > 0.95 for model in (dec, em))


@pytest.mark.parametrize("family", ["concatenated", "overlap", "sum"])
def test_both_methods_beat_one_clustering(family):
    """Figures 8.3–8.5: a single clustering fits one labeling or a mixture of both."""
    data = gm.datasets.two_views(500, 30, n_clusters=4, family=family, random_state=0)
    plain = table(KMeans(4, n_init=5, random_state=0).fit_predict(data.X), data.y).mean()
    for cls in (gm.DecorrelatedKMeans, gm.ConvolutionalEM):
        assert match(cls((4, 4), random_state=0).fit(data.X).labels_, data.y).scores.mean() > plain + 0.3


def test_mcvq_needs_features_of_one_factor():
    """Figure 8.5: on the sum data the assumption of MCVQ fails, that of the two methods does not."""
    data = gm.datasets.two_views(500, 30, n_clusters=4, family="sum", separation=1.0, random_state=0)
    ours, theirs = (
        match(cls((4, 4), random_state=0).fit(data.X).labels_, data.y).scores.mean()
        for cls in (gm.DecorrelatedKMeans, gm.MultipleCauseVQ)
    )
    assert ours > theirs + 0.03


@pytest.mark.slow
def test_faces_by_person_and_by_pose(data_folder):
    """Table 8.2 in shape: three people in three poses. Pose is what the others miss; person is easy for all."""
    data = np.load(data_folder / "cmu_faces.npz")
    person, pose, rows = data["y_person"], data["y_pose"], []
    for seed in range(12):
        rng = np.random.RandomState(seed)
        take = np.isin(person, rng.choice(20, 3, replace=False)) & np.isin(pose, rng.choice(4, 3, replace=False))
        X, truth = data["X"][take].astype(float), np.column_stack([person[take], pose[take]])
        Z, k = PCA(len(X) - 1, random_state=0).fit_transform(X), (3, 3)
        plain = KMeans(3, n_init=10, random_state=seed).fit_predict(Z)
        found = [
            match(gm.DecorrelatedKMeans(k, random_state=seed).fit(Z).labels_, truth, score="accuracy").scores,
            table(plain, truth, score="accuracy")[0],
            match(feature_removal(X, k, random_state=seed), truth, score="accuracy").scores,
            match(orthogonal_projection(Z, k, random_state=seed), truth, score="accuracy").scores,
        ]
        rows.append(found)
    ours, others = np.split(np.mean(rows, axis=0), [1])
    assert (ours[:, 1] > others[:, 1]).all() and (ours.mean() > others.mean(axis=1)).all()
    assert ours[0, 0] > others[[0, 2], 0].max()  # k-means and orthogonal projection, also for person
