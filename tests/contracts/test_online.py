"""Every public online learner keeps the contract; learners enroll themselves."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gramian as gm
from gramian.online.learner import OnlineLearner

LEARNERS = [
    value
    for value in (getattr(gm, name) for name in gm._registry.HOME)
    if inspect.isclass(value) and issubclass(value, OnlineLearner)
]
FORMS = {"given": {"eta": 0.3}, "auto": {"eta": "auto", "n_pretrain": 20}, "low rank": {"eta": 0.3, "rank": 3}}


def test_the_enrollment_is_whole():
    assert {cls.__name__ for cls in LEARNERS} >= {"LEGO", "OnlinePOLA", "OnlineITML"}


@pytest.fixture(params=[(c, f) for c in LEARNERS for f in FORMS], ids=lambda p: f"{p[0].__name__}-{p[1]}")
def learner(request):
    cls, form = request.param
    return cls(**FORMS[form])


def stream(rng, n=60, d=5):
    X = rng.standard_normal((2 * n, d))
    kinds = rng.choice(["equal", "at_most", "at_least"], n)
    return [(X[i], X[n + i], float(t), k) for i, (t, k) in enumerate(zip(rng.uniform(0, 9, n), kinds))]


def test_a_metric_at_any_time_and_no_change_of_old_ones(learner, rng):
    with pytest.raises(NotFittedError):
        _ = learner.metric_
    old = None
    for u, v, target, kind in stream(rng, 30):
        learner.learn_one(u, v, target, kind)
        M = learner.metric_.matrix
        assert np.linalg.eigvalsh(M)[0] >= -1e-12 * np.abs(M).max()
        if old is not None:
            assert np.array_equal(old[0].matrix, old[1])
        old = learner.metric_, np.array(M)
    assert learner.n_seen_ == 30
    assert learner.regret_ == learner.loss_ - learner.comparator_loss_


@pytest.mark.parametrize("target", [np.nan, np.inf, -1.0, "near", None])
def test_a_bad_target_raises_and_changes_nothing(learner, rng, target):
    learner.learn_one(*stream(rng, 1)[0])
    before = learner.progress_
    with pytest.raises(ValueError, match="target"):
        learner.learn_one(np.zeros(5), np.ones(5), target)
    assert learner.progress_ is before


@pytest.mark.parametrize(
    ("u", "v", "kind"),
    [
        (np.zeros(4), np.zeros(4), "equal"),
        (np.full(5, np.nan), np.zeros(5), "equal"),
        (np.zeros((2, 5)), np.zeros((2, 5)), "equal"),
        (np.zeros(5), np.ones(5), "nearly"),
        (np.full(5, 1e200), np.zeros(5), "equal"),
    ],
)
def test_bad_input_raises_and_changes_nothing(learner, rng, u, v, kind):
    learner.learn_one(*stream(rng, 1)[0])
    before = learner.progress_
    with pytest.raises(ValueError, match=type(learner).__name__):
        learner.learn_one(u, v, 1.0, kind)
    assert learner.progress_ is before


def test_a_first_lesson_that_fails_leaves_the_learner_unfitted(learner):
    for u, v, target in ((np.zeros(3), np.zeros(2), 1.0), (np.full(3, np.inf), np.zeros(3), 1.0), ([], [], 1.0)):
        with pytest.raises(ValueError, match=type(learner).__name__):
            learner.learn_one(u, v, target)
        with pytest.raises(NotFittedError):
            _ = learner.metric_
    assert learner.learn_one(np.zeros(2), np.ones(2), 1.0).metric_.n_features == 2


def test_equal_points_change_no_metric(learner, rng):
    for event in stream(rng, 10):
        learner.learn_one(*event)
    before = np.array(learner.metric_.matrix)
    for kind in ("equal", "at_most", "at_least"):
        learner.learn_one(np.ones(5), np.ones(5), 2.0, kind)
    assert np.array_equal(learner.metric_.matrix, before)


def test_repeated_and_contradictory_feedback_stay_finite(learner):
    u, v = np.zeros(3), np.array([1.0, 2.0, 0.0])
    for i in range(50):
        learner.learn_one(u, v, 0.0 if i % 2 else 100.0)
    M = learner.metric_.matrix
    assert np.isfinite(M).all()
    assert np.linalg.eigvalsh(M)[0] >= -1e-12 * np.abs(M).max()


def test_stop_and_resume_equals_no_stop(learner, rng, tmp_path):
    events = stream(rng, 40)
    whole = clone(learner)
    for event in events:
        whole.learn_one(*event)
    for event in events[:17]:
        learner.learn_one(*event)
    learner.save(tmp_path / "learner")
    again = gm.load(tmp_path / "learner")
    for event in events[17:]:
        again.learn_one(*event)
    assert np.array_equal(again.metric_.matrix, whole.metric_.matrix)
    assert (again.loss_, again.comparator_loss_, again.n_seen_) == (whole.loss_, whole.comparator_loss_, 40)
    assert again.eta_ == whole.eta_
    pickled = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(pickled.metric_.matrix, whole.metric_.matrix)


def test_a_batch_is_its_pairs_one_by_one(learner, rng):
    X = rng.standard_normal((30, 4))
    pairs = gm.Pairs.from_labels(rng.integers(0, 3, 30), n_pairs=50, X=X, random_state=0)
    batch = clone(learner).partial_fit(X, pairs[:20]).partial_fit(X, pairs[20:])
    for i, j, similar, limit in zip(pairs.left, pairs.right, pairs.similar, pairs.limit):
        learner.learn_one(X[i], X[j], limit, "at_most" if similar else "at_least")
    scale = np.abs(batch.metric_.matrix).max()
    assert np.allclose(batch.metric_.matrix, learner.metric_.matrix, atol=1e-12 * scale)
    assert np.isclose(batch.loss_, learner.loss_, rtol=1e-10)


def test_state_is_not_aliased_to_the_input(learner, rng):
    u, v = rng.standard_normal((2, 5))
    kept = u.copy(), v.copy()
    learner.learn_one(u, v, 1.0)
    assert np.array_equal(u, kept[0])
    assert np.array_equal(v, kept[1])
    before = np.array(learner.metric_.matrix)
    u[:] = v[:] = 7.0
    assert np.array_equal(learner.metric_.matrix, before)


def test_rules_are_pure(learner, rng):
    learner.start(4)
    rule, d = learner.progress_.rule, learner.progress_.coordinates.size
    rule_state = rule.grow(rule.init(d), 4 - d)
    before = pickle.dumps(rule.pack(rule_state))
    V = rng.standard_normal((5, 4))
    for v in V:
        rule.update(rule_state, v, 2.0)
    rule.stream(rule_state, V, np.ones(5), np.zeros(5, dtype=int))
    assert pickle.dumps(rule.pack(rule_state)) == before


def test_float32_and_lists_are_taken(learner):
    learner.learn_one([0, 1], [2, 2], 3)
    other = clone(learner).learn_one(np.float32([0, 1]), np.float32([2, 2]), np.float32(3))
    assert np.allclose(learner.metric_.matrix, other.metric_.matrix)
