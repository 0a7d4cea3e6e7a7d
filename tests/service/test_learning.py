"""The candidate and the query model solve the problems that their pages state."""

import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import gramian as gm
from gramian import linalg
from gramian.service import Space, learning, query_model
from gramian.service import evidence as evidence_of
from gramian.service.answers import MOST_TOGETHER, Together, highest
from gramian.service.evidence import Evidence, Scatter
from gramian.service.learning import ANCHOR, BACKGROUND
from gramian.service.query_model import Examples
from gramian.service.snapshot import Background
from tests.service.conftest import D, teach


@pytest.fixture
def evidence(rng):
    X = rng.standard_normal((500, 4)) * [1, 2, 3, 4]
    center = X.mean(axis=0)
    background = Background(center, 2 * (X - center).T @ (X - center) / len(X))
    near, far = rng.standard_normal((80, 4)) * [0.1, 2, 3, 4], rng.standard_normal((40, 4)) * [2, 1, 1, 1]
    return Evidence(Scatter.of(near), Scatter.of(far), background, 120, lambda: None)


def test_the_candidate_is_the_geometric_mean_of_the_anchored_scatters(evidence):
    """S⁻¹ ♯ D is the only M ≻ 0 with M S M = D; S and D are written out again here."""
    M = learning.gmml(evidence).matrix
    B = evidence.background.scatter + learning.RIDGE * np.trace(evidence.background.scatter) / 4 * np.eye(4)
    S, F = evidence.likes.mean, evidence.dislikes.mean
    S = (80 * S * np.trace(B) / np.trace(S) + ANCHOR * B) / (80 + ANCHOR)
    F = (40 * F * np.trace(B) / np.trace(F) + ANCHOR * B) / (40 + ANCHOR)
    F = (1 - BACKGROUND) * F + BACKGROUND * B
    scale = np.trace(F) / np.trace(M @ S @ M)
    assert np.allclose(scale * M @ S @ M, F, rtol=1e-6)
    B = evidence.background.scatter
    assert np.isclose((M * B).sum(), np.trace(B))


@pytest.mark.parametrize(("n", "rank"), [(40, 64), (800, 5), (800, 64)])
def test_directions_that_no_item_has_are_all_alike(rng, n, rank):
    """There B, S and D are multiples of the identity, and so is M."""
    X = rng.standard_normal((n, rank)) @ (rng.standard_normal((rank, 64)) if rank < 64 else np.eye(64))
    background = Background(X.mean(axis=0), 2 * np.cov(X.T, bias=True))
    near, far = X[:30] - X[30], X[5:35] - X[35]
    M = learning.gmml(Evidence(Scatter.of(near), Scatter.of(far), background, 60, lambda: None)).matrix
    outside = linalg.eigh(background.scatter)[1][:, : max(0, 64 - min(rank, n - 1))]
    M0 = outside.T @ M @ outside
    assert np.linalg.eigvalsh(M).min() > 0.05
    assert np.allclose(M0, M0[:1, :1] * np.eye(len(M0)), atol=1e-3)


def test_vectors_of_length_one_are_learned(tmp_path, rng):
    X = rng.standard_normal((60, 80))
    with gm.service.Space(tmp_path, learning=False) as space:
        space.create("a", 80)
        space.add("a", X / np.linalg.norm(X, axis=1, keepdims=True), list(range(1, 61)))
        teach(space, 60)
        for learner in ("gmml", "lego"):
            number = space.learn("a", learner)["version"]
            assert np.linalg.eigvalsh(space.collection("a").version(number).metric.matrix).min() >= 0


def test_without_evidence_the_plain_features_remain(evidence):
    none = Scatter(4)
    M = learning.gmml(Evidence(none, none, evidence.background, 0, lambda: None)).matrix
    assert np.allclose(M, np.eye(4), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_candidate_does_not_depend_on_units(evidence, scale):
    likes = Scatter.of(np.array([[1.0, 2, 3, 4], [0, 1, 0, 1]]) * scale)
    background = Background(evidence.background.center * scale, evidence.background.scatter * scale**2)
    scaled = learning.gmml(Evidence(likes, Scatter(4), background, 2, lambda: None)).matrix
    likes = Scatter.of(np.array([[1.0, 2, 3, 4], [0, 1, 0, 1]]))
    plain = learning.gmml(Evidence(likes, Scatter(4), evidence.background, 2, lambda: None)).matrix
    assert np.allclose(scaled, plain, rtol=1e-4, atol=1e-5)


def test_clicks_teach_what_counts(space):
    """The person of the clicks looks at the first two features only."""
    teach(space, 400)
    space.learn("a")
    M = space.collection("a").version(1).metric.matrix
    assert np.diag(M)[:2].min() > 1.2 * np.diag(M)[2:].max()
    space.learn("a", "lego", label="online")
    versions = space.versions("a")["versions"]
    assert [v["status"] for v in versions] == ["plain", "superseded", "candidate"]
    assert versions[2]["name"] == "online" and versions[2]["events"] == 400


def test_constant_and_doubled_features_do_no_harm(tmp_path, points):
    X = np.column_stack([points, np.ones(len(points)), points[:, 0]])
    with gm.service.Space(tmp_path, learning=False) as space:
        space.create("a", X.shape[1])
        space.add("a", X)
        teach(space, 80)
        space.learn("a")
        assert np.isfinite(space.collection("a").version(1).metric.components).all()
        space.query("a", id=1, version=1, likes=[3], dislikes=[5])


def test_the_query_model_is_at_the_minimum_of_its_loss(rng):
    A = np.column_stack([rng.standard_normal((60, 3)), np.ones(60)])
    t, h = np.sign(rng.standard_normal(60)), rng.uniform(0.1, 1, 60)
    w = query_model._logistic(A, t, h)
    R = np.array([query_model.PENALTY] * 3 + [1e-3 * query_model.PENALTY])
    found = minimize(lambda w: query_model._loss(A, t, h, R, w), np.zeros(4), tol=1e-12)
    assert np.allclose(w, found.x, atol=1e-4)


def test_scores_by_one_pass_are_those_computed_point_by_point(space, points):
    teach(space)
    space.learn("a")
    view = space.collection("a")
    for version in view.versions.values():
        examples = Examples.of(view, space.asker.cloud(view, version), points[:3], points[3:5])
        first, norms = query_model.fit_scout(examples), space.asker.norms(view, version)
        by_row = first.scores(view, norms, view.vectors.product(first.product(norms.origin)))
        exact = by_points(first, points)
        assert np.allclose(by_row - by_row[0], exact - exact[0], atol=1e-8)


def by_points(first, X):
    return X @ first.direction - first.curvature * first.metric.sqdist(X, first.center[None])[:, 0]


def test_the_query_model_minimizes_what_its_page_says(space, points):
    """Another road: the objective in w, b and β as it is written, handed to a general minimizer."""
    view = space.collection("a")
    cloud = space.asker.cloud(view, view.version(0))
    examples = Examples.of(view, cloud, points[:4], points[4:7])
    model = query_model.fit(examples)
    Z, C = examples.Z, examples.Z[:7]
    sqdist = lambda A, B: ((A[:, None] - B[None]) ** 2).sum(axis=2)  # noqa: E731
    G = np.exp(-sqdist(Z, C) / (2 * query_model.BREADTH * cloud.near))
    t = np.r_[np.ones(4), -np.ones(len(Z) - 4)]
    h = np.r_[np.ones(7), np.full(len(Z) - 7, query_model.RANDOM_WEIGHT)]

    def objective(v):
        w, beta, b = v[:D], v[D:-1], v[-1]
        loss = (h * np.logaddexp(0, -t * (Z @ w + G @ beta + b))).sum()
        penalty = w @ w + beta @ (G[:7] + query_model.JITTER * np.eye(7)) @ beta + 1e-3 * b * b
        return loss + query_model.PENALTY / 2 * penalty

    found = minimize(objective, np.zeros(D + 8), tol=1e-14, options={"maxiter": 5000})
    scores = Z @ found.x[:D] + G @ found.x[D:-1] + found.x[-1]
    assert np.allclose(model.scores(examples.X), scores, atol=1e-3)


def test_those_who_ask_together_get_their_own_answers():
    passes = []

    def work(questions):
        passes.append(len(questions))
        time.sleep(0.01)
        if "bad" in questions:
            raise ValueError("bad")
        return [question + 1 for question in questions]

    together, found = Together(work), {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: together.ask(i)})) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: i + 1 for i in range(40)} and sum(passes) == 40 and max(passes) <= MOST_TOGETHER
    with pytest.raises(ValueError, match="bad"):
        together.ask("bad")
    assert together.ask(1) == 2


def test_the_highest_scores_are_found_whatever_their_order_and_ties():
    rng = np.random.default_rng(0)
    for n, k in ((0, 3), (5, 10), (700, 3), (3000, 5), (3000, 11), (3001, 12), (9000, 2000)):
        for scores in (rng.standard_normal(n), rng.integers(0, 4, n).astype(float), np.full(n, -np.inf)):
            at = highest(scores, k)
            assert len(at) == min(n, k) and (np.diff(at) > 0).all()
            assert np.array_equal(np.sort(scores[at]), np.sort(scores)[max(0, n - k) :])


def test_items_far_from_the_origin_in_single_precision_are_ranked_as_in_double(tmp_path, monkeypatch):
    monkeypatch.setattr("gramian.service.answers.LISTED", 200)
    X = (1000 + np.random.default_rng(0).standard_normal((3000, 8))).astype(np.float32)
    with gm.service.Space(tmp_path, learning=False) as space:
        space.create("a", 8)
        space.add("a", X)
        space.remove("a", 17)
        view = space.collection("a")
        found = space.query("a", id=3, k=20, likes=[4, 5], dislikes=[6], unseen=True)
        points = view.points([3, 4, 5, 6])
        examples = Examples.of(view, space.asker.cloud(view, view.version(0)), points[:3], points[3:])
        first = by_points(query_model.fit_scout(examples), X.astype(float))
        first[[3, 4, 5, 6, 17]] = -np.inf
        listed = np.sort(np.argsort(-first)[:200])
        scores = query_model.fit(examples).scores(X[listed].astype(float))
        assert found["ids"] == listed[np.argsort(-scores, kind="stable")][:20].tolist()


def test_wide_vectors_and_few_points_give_the_same_model_as_all_coordinates(rng, tmp_path):
    """With more features than points the model is fitted in the span of the points, where its minimum lies."""
    X = rng.standard_normal((300, 150))
    with gm.service.Space(tmp_path, learning=False) as space:
        space.create("a", 150)
        space.add("a", X)
        view = space.collection("a")
        metric = view.version(0).metric
        examples = Examples.of(view, query_model.Cloud.of(view, metric), X[:2], X[2:3])
        model = query_model.fit(examples)
        compressed = query_model._compressed
        query_model._compressed = lambda Z: (np.eye(Z.shape[1]), Z)
        try:
            full = query_model.fit(examples)
        finally:
            query_model._compressed = compressed
        assert np.allclose(model.scores(X), full.scores(X), atol=1e-4)


def test_likes_bring_what_they_have_in_common(space, points):
    """A person who looks at the first feature only finds more of it after ten clicks."""
    right = np.flatnonzero(points[:, 0] > 0.8) + 1
    wrong = np.flatnonzero(points[:, 0] < 0) + 1
    before = space.query("a", id=int(right[0]), k=20)["ids"]
    clicks = {"likes": right[1:6].tolist(), "dislikes": wrong[:5].tolist()}
    after = space.query("a", id=int(right[0]), k=20, unseen=True, **clicks)
    assert np.mean(points[np.array(after["ids"]) - 1, 0] > 0) > np.mean(points[np.array(before) - 1, 0] > 0)
    assert not set(after["ids"]) & {*clicks["likes"], *clicks["dislikes"], int(right[0])}
    assert after["score"] == sorted(after["score"], reverse=True)
    assert space.query("a", id=int(right[0]), k=20, unseen=True, **clicks) == after


def test_vectors_too_wide_for_a_matrix_are_refused_in_one_sentence(space, monkeypatch):
    monkeypatch.setattr(learning, "MOST_LEARNED", 5)
    teach(space, 3)
    with pytest.raises(ValueError, match="at most 5 features"):
        space.learn("a")
    assert not space.teacher.due(space.collection("a"))


@pytest.mark.parametrize("size", [1, 3, 40])
def test_sums_do_not_depend_on_how_clicks_are_read(size, monkeypatch):
    monkeypatch.setattr(evidence_of, "CHUNK", 16)
    V = np.random.default_rng(0).normal(size=(40, 3)) * [1, 1e-3, 1e3]
    V[5] = 0
    whole, pieces = Scatter.of(V), Scatter(3)
    for start in range(0, 40, size):
        pieces.add(V[start : start + size])
    np.testing.assert_array_equal(pieces.mean, whole.mean)
    assert pieces.n == 40
    exact = [[sum(Fraction(v[i]) * Fraction(v[j]) for v in V.tolist()) / 40 for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(whole.mean, np.array(exact, float), rtol=1e-13)


@pytest.mark.parametrize("learner", learning.LEARNERS)
def test_versions_do_not_depend_on_how_clicks_are_read(space, learner, monkeypatch):
    teach(space)
    space.feedback("a", [0.1] * D, 5, True)
    metrics = []
    for batch in (4096, 7):
        monkeypatch.setattr(evidence_of, "BATCH", batch)
        number = space.learn("a", learner)["version"]
        metrics.append(space.collection("a").version(number).metric.matrix)
    np.testing.assert_array_equal(*metrics)


def test_clicks_on_items_that_are_gone_make_no_version_due(space):
    """What is counted is what a version learns from: else the next one would be due at once, without end."""
    teach(space, 100)
    for number in range(1, 71):
        space.remove("a", number)
    teach(space, 30, seed=1)
    space.feedback("a", [0.0] * D, 100, True)
    view = space.collection("a")
    with space.store.reading() as db:
        counted = evidence_of.n_live(db, view)
        evidence = evidence_of.gather(db, view, space.seq)
    assert counted == evidence.n == space.learn("a")["events"] < 80
    assert not space.teacher.due(space.collection("a"))


@pytest.mark.parametrize("learner", learning.LEARNERS)
@pytest.mark.parametrize("kind", ["wide", "copies", "constant", "single"])
def test_every_learner_is_positive_and_finite_on_hard_vectors(tmp_path, learner, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50 if kind == "wide" else 6))
    X[:, 1] = 3.0 if kind == "constant" else X[:, 1]
    X[10:20] = X[:10] if kind == "copies" else X[10:20]
    X = X.astype(np.float32).astype(float) if kind == "single" else X
    with Space(tmp_path, learning=False) as space:
        space.create("a", X.shape[1])
        space.add("a", X)
        for number in range(29):
            space.feedback("a", number, number + 1, bool(number % 3))
            space.feedback("a", number, (7 * number + 3) % 30, bool(number % 2))
        space.learn("a", learner)
        M = space.collection("a").version(1).metric.matrix
    assert np.isfinite(M).all() and np.linalg.eigvalsh(M).min() >= -1e-9 * np.trace(M)


@pytest.mark.parametrize("learner", ["gmml", "auto"])
def test_likes_alone_teach(space, learner):
    rng = np.random.default_rng(0)
    view = space.collection("a")
    X = view.points(view.ids)
    taught = 0
    while taught < 60:
        a, b = rng.choice(len(X), 2, replace=False)
        if abs(X[a, 0] - X[b, 0]) < 0.3:
            space.feedback("a", int(view.ids[a]), int(view.ids[b]), True)
            taught += 1
    space.learn("a", learner)
    weights = np.diag(space.collection("a").version(1).metric.matrix)
    assert weights[0] > 1.1 * weights[1:].mean()
