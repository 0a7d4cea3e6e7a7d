"""Anchored votes: against brute force and scikit-learn, and the promise that defaults do no harm."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading

import gramian as gm
from gramian.manifold import NeighborGraph
from gramian.manifold.transductive import vote
from gramian.manifold.voting import Choice, Evidence, Voters, choose, cut, spreading

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def hide(y, keep):
    out = np.full(len(y), -1)
    out[keep] = y[keep]
    return out


def few_labels(y, per_class, rng):
    return hide(y, np.concatenate([rng.permutation(np.flatnonzero(y == c))[:per_class] for c in np.unique(y)]))


@pytest.mark.parametrize("anchor", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_votes_are_by_the_blended_distance(rng, anchor, kind):
    X, F, y = rng.normal(size=(40, 5)), rng.normal(size=(40, 2)), rng.integers(-1, 3, size=40)
    voters = Voters.among(y, F, kind(X), anchor)
    known = y >= 0
    DF, DX = cdist(F, F, "sqeuclidean"), cdist(X, X, "sqeuclidean")
    D = (1 - anchor) * DF / DF.mean() + anchor * DX / DX.mean()
    want = y[known][D[:, known].argmin(axis=1)]
    np.testing.assert_array_equal(voters.winners(F, kind(X), 1), want)
    np.testing.assert_array_equal(vote(F[known], y[known], F, 1), y[known][DF[:, known].argmin(axis=1)])


def test_label_spreading_is_scikit_learn_s(rng):
    data = gm.datasets.moons(120, noise=0.1, random_state=0)
    A, y = NeighborGraph(8)(data.X), hide(data.y, rng.permutation(120)[:10])
    theirs = LabelSpreading(kernel=lambda *_: sparse.csr_matrix(A), alpha=0.9, max_iter=50, tol=0.0).fit(data.X, y)
    assert np.mean(spreading(A, y) == theirs.transduction_) > 0.97


def test_the_anchor_gives_way_to_clear_evidence_only(rng):
    """An embedding that is the truth wins over noise; noise never wins over points that tell the classes."""
    y = np.repeat([0, 1], 30)
    truth, noise = np.c_[y, 0 * y] + 0.01 * rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    codes = hide(y, np.arange(0, 60, 2))
    for plain, embedding, anchored in ((noise, truth, False), (truth, noise, True)):
        evidence = Evidence(codes, plain, None, 1, 0)
        found = choose(evidence, [1.0, 2.0], None, lambda rest, grid, F=embedding: (F for _ in grid))
        assert (found.anchor == 1.0) == anchored and found.value == 1.0
        assert (found.learned > found.plain) != anchored and np.isnan(found.spreading)
    nothing = choose(Evidence(hide(y, [0, 40]), noise, None, 1, 0), [1.0, 2.0], None, lambda rest, grid: [])
    assert nothing == Choice(1.0, 1.0)  # one label a class: no evidence, the plain distance


@pytest.mark.parametrize("cls", [gm.TDL, gm.GeometryAwareKernel])
def test_defaults_do_no_harm(cls, rng):
    """On classes that lie across the graph's geometry the votes are those of the nearest neighbor."""
    X = np.c_[rng.normal(size=(150, 1)) * 0.3, rng.normal(size=(150, 6))]
    y = (X[:, 0] > 0).astype(int)
    labels = few_labels(y, 10, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(random_state=0).fit(X, labels)
    plain = KNeighborsClassifier(1).fit(X[labels >= 0], y[labels >= 0])
    new = rng.normal(size=(80, 7))
    assert np.mean(model.predict() == y) >= np.mean(plain.predict(X) == y) - 0.01
    if model.anchor_ == 1.0:
        np.testing.assert_array_equal(model.predict(new), plain.predict(new))
        np.testing.assert_array_equal(model.predict()[labels < 0], plain.predict(X[labels < 0]))


@pytest.mark.parametrize("cls", [gm.TDL, gm.GeometryAwareKernel])
def test_defaults_gain_where_classes_follow_the_graph(cls, rng):
    data = gm.datasets.moons(300, noise=0.08, random_state=0)
    labels = few_labels(data.y, 6, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(random_state=0).fit(data.X, labels)
    plain = KNeighborsClassifier(1).fit(data.X[labels >= 0], data.y[labels >= 0]).predict(data.X)
    assert np.mean(model.predict() == data.y) >= np.mean(plain == data.y)
    assert set(model.evidence_) == {"learned", "plain", "spreading"}


def test_components_follow_the_classes_and_a_given_lam_is_the_paper(rng):
    X, y = gm.datasets.load("iris", return_X_y=True)
    labels = few_labels(np.unique(y, return_inverse=True)[1], 5, rng)
    auto = gm.TDL(random_state=0).fit(X, labels)
    assert auto.embedding_.shape == (150, 3) and auto.lam_ > 0
    given = gm.TDL(2, lam=1.0).fit(X, labels)
    known = labels >= 0
    assert given.anchor_ == 0.0 and np.isnan(given.evidence_["learned"])
    found = vote(given.embedding_[known], labels[known], given.embedding_, 1)
    np.testing.assert_array_equal(given.predict(), np.where(known, labels, found))
    half = gm.TDL(2, lam=1.0, anchor=0.5).fit(X, labels)
    assert half.anchor_ == 0.5 and half.transduction_.shape == (150,)


def test_one_sentence_says_when_something_simpler_is_as_good(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, size=80)
    with pytest.warns(UserWarning, match="TDL: on held-out labels the learned distance is right in .* no clear gain"):
        gm.TDL(random_state=0).fit(X, few_labels(y, 10, rng))
    for anchor, message in (("most", "anchor must be 'auto' or"), (2.0, "or a number in .0, 1., got 2.0")):
        with pytest.raises(ValueError, match=message):
            gm.TDL(anchor=anchor).fit(X, y)


@pytest.mark.parametrize("follows", [True, False])
def test_of_votes_with_as_many_labels_those_that_follow_the_graph_are_taken(rng, follows):
    """Two rings: both kinds of votes get the hidden labels right; the embedding keeps each ring whole, or cuts it."""
    y, angle = np.arange(120) % 2, np.linspace(0, 2 * np.pi, 120)
    X = (1 + 2 * y)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    A = NeighborGraph(4)(X)
    codes = hide(y, np.array([0, 1, 2, 3, 4, 5]))  # all labels on one side: far from them plain votes mix the rings
    side = np.abs(angle - np.pi) < np.pi / 2
    embedding = np.c_[y if follows else np.where(side, 1 - y, y), 0 * y].astype(float)
    evidence = Evidence(codes, X, A, 1, 0)
    found = choose(evidence, [1.0], None, lambda rest, grid: (embedding for _ in grid))
    assert found.learned == found.plain == 1.0
    cuts = [cut(evidence, embedding, anchor) for anchor in (found.anchor, 1.0)]
    assert (found.anchor < 1.0 and cuts[0] <= cuts[1] / 2) if follows else found.anchor == 1.0
    no_graph = choose(evidence._replace(adjacency=None), [1.0], None, lambda rest, grid: (embedding for _ in grid))
    assert no_graph.anchor == 1.0
