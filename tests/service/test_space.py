"""A space answers what brute force answers, forgets what is undone, and is the same after a restart."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.service import Space, meta
from gramian.service.errors import Conflict, SpaceError, Unknown
from gramian.service.upkeep import settle
from tests.service.conftest import D, N, teach


def brute(points, ids, x, k, metric=None, skip=()):
    D2 = ((points - x) ** 2).sum(axis=1) if metric is None else metric.sqdist(x[None], points)[0]
    order = [i for i in np.lexsort((ids, D2)) if ids[i] not in skip][:k]
    return [int(ids[i]) for i in order], D2[order]


def test_a_query_is_the_exact_answer_without_its_own_item(space, points):
    ids = np.arange(1, N + 1)
    for number in (1, 50, 120):
        answer = space.query("a", id=number, k=7)
        expected, sqdist = brute(points, ids, points[number - 1], 7, skip=(number,))
        assert answer["ids"] == expected
        assert np.allclose(answer["sqdist"], sqdist)
        assert answer["version"] == 0 and answer["seq"] == 2
    assert space.query("a", x=points[4], k=1)["ids"] == [5]
    assert len(space.query("a", x=points[4], k=1000)["ids"]) == N


def test_every_version_answers_as_its_own_metric(space, points):
    teach(space)
    space.learn("a")
    metric = space.collection("a").version(1).metric
    x = points[3] + 0.1
    expected, sqdist = brute(points, np.arange(1, N + 1), x, 10, metric)
    answer = space.query("a", x=x, version=1)
    assert answer["ids"] == expected and np.allclose(answer["sqdist"], sqdist)
    assert space.query("a", x=x, version="active")["version"] == 0
    space.activate("a", 1)
    assert space.query("a", x=x)["ids"] == expected
    assert space.query("a", x=x, version="plain")["ids"] == brute(points, np.arange(1, N + 1), x, 10)[0]
    assert np.allclose(space.transform("a", points), metric.transform(points))


def test_a_filter_gives_the_nearest_of_those_that_match(space, points):
    ids = np.arange(1, N + 1)
    for where, mask in (
        ({"color": "red"}, ids % 2 == 1),
        ({"number": [3, 5.0, 11, 999]}, np.isin(ids, [4, 6, 12])),
        ({"color": "red", "number": 4}, ids == 5),
        ({"color": "blue"}, ids < 0),
        ({"unknown": 1}, ids < 0),
    ):
        expected, _ = brute(points[mask], ids[mask], points[9], 5, skip=(10,))
        assert space.query("a", id=10, k=5, where=where)["ids"] == expected
        ranked = space.query("a", id=10, k=100, where=where, likes=[20])
        assert set(ranked["ids"]) == set(ids[mask].tolist()) - {10}


@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "remove", "upsert", "settle"]), st.integers(0, 30)), max_size=25)
)
def test_items_that_come_and_go_are_those_of_a_dictionary(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("space")
    held = {}
    rng = np.random.default_rng(0)
    with Space(folder, learning=False) as space:
        space.create("a", 3)
        for what, number in steps:
            x = rng.standard_normal(3)
            if what == "settle":
                settle(space._writer, space.collection("a"))
            elif what == "remove" and number in held:
                space.remove("a", number)
                del held[number]
            elif what == "upsert" or (what == "add" and number not in held):
                space.add("a", [x], [number], meta=[{"n": number}], upsert=what == "upsert")
                held[number] = x
            else:
                with pytest.raises((Unknown, Conflict)):
                    space.remove("a", number) if what == "remove" else space.add("a", [x], [number])
            check_held(space, held)
    with Space(folder, learning=False) as space:
        check_held(space, held)


def check_held(space, held):
    assert space.collection("a").ids.tolist() == sorted(held)
    ids = np.array(sorted(held), int)
    points = np.array([held[i] for i in ids]).reshape(-1, 3)
    expected, sqdist = brute(points, ids, np.zeros(3), 5)
    answer = space.query("a", x=np.zeros(3), k=5)
    assert answer["ids"] == expected and np.allclose(answer["sqdist"], sqdist)
    assert answer["meta"] == [{"n": i} for i in expected]


def test_refused_changes_leave_no_trace(space, points):
    seq = space.seq
    for bad in (
        lambda: space.add("a", points[:2], [200, 1]),
        lambda: space.add("a", points[:2], [200, 200]),
        lambda: space.add("a", points[:2, :3]),
        lambda: space.add("a", [[np.nan] * D]),
        lambda: space.add("a", points[:1], [2**63]),
        lambda: space.add("b", points[:1]),
        lambda: space.create("a", D + 1),
        lambda: space.create("../b", 2),
        lambda: space.create("b", 0),
        lambda: space.remove("a", 999),
        lambda: space.feedback("a", 1, 999, True),
        lambda: space.feedback("a", 999, 1, True),
        lambda: space.feedback("a", [0.0] * (D - 1), 1, True),
        lambda: space.feedback("a", [np.inf] * D, 1, True),
        lambda: space.undo("a", 1),
        lambda: space.activate("a", 5),
        lambda: space.learn("a"),
        lambda: space.learn("a", "nothing"),
        lambda: space.query("a", x=points[0], id=1),
        lambda: space.query("a"),
        lambda: space.query("a", dislikes=[1]),
        lambda: space.query("a", id=1, k=1001),
        lambda: space.query("a", id=1, likes=[999]),
        lambda: space.query("a", id=1, version=3),
    ):
        with pytest.raises(ValueError):
            bad()
    assert space.seq == seq
    assert space.collection("a").ids.tolist() == list(range(1, N + 1))
    assert space.add("a", points[:2])["seq"] == seq + 1
    assert space.collection("a").ids[-2:].tolist() == [N + 1, N + 2]


def learned(space, points):
    """Everything that clicks decide, to the last bit."""
    space.learn("a")
    number = max(space.collection("a").versions)
    metric = space.collection("a").version(number).metric
    return metric.components.tobytes(), json.dumps(space.query("a", x=points[0], version=number)["sqdist"])


@pytest.mark.parametrize("undone", [[0], [3, 4, 5], list(range(20)), [59]])
def test_after_an_undo_the_state_is_bit_for_bit_that_without_the_click(tmp_path, points, undone):
    rng = np.random.default_rng(1)
    clicks = [(int(q), int(i), bool(rng.integers(2))) for q, i in rng.integers(1, N + 1, (60, 2))]
    clicks[3] = (points[3] * 1000, 5, True)  # which sets the grid of the sums alone
    results = []
    for with_undo in (True, False):
        with Space(tmp_path / str(with_undo), learning=False) as space:
            space.create("a", D)
            space.add("a", points, list(range(1, N + 1)))
            seqs = {}
            for i, (query, item, like) in enumerate(clicks):
                if with_undo or i not in undone:
                    seqs[i] = space.feedback("a", query, item, like)["seq"]
            if with_undo:
                space.learn("a")  # so that the sums have been made before something is taken out of them
                for i in undone:
                    space.undo("a", seqs[i])
            results.append(learned(space, points))
    assert results[0] == results[1]


def test_an_undone_click_cannot_be_undone_again(space):
    (seq,) = teach(space, 1)
    space.undo("a", seq)
    with pytest.raises(Conflict):
        space.undo("a", seq)
    assert [click["undone"] for click in space.clicks("a")] == [True]


def test_learning_is_the_same_after_a_restart_and_after_items_came_and_went(space, points, tmp_path):
    teach(space)
    space.add("a", points[:3] + 1, [501, 502, 503])
    first = learned(space, points)
    space.add("a", points[:1], [700])
    space.feedback("a", 700, 1, True)
    space.learn("a")
    space.remove("a", 700)
    space.add("a", points[:1] + 5, [502], upsert=True)
    space.add("a", points[1:2] + 1, [502], upsert=True)
    assert learned(space, points) == first
    space.close()
    with Space(tmp_path / "space", learning=False) as again:
        assert learned(again, points) == first


def test_events_are_numbered_without_holes_and_survive_a_restart(space, tmp_path):
    teach(space, 5)
    with pytest.raises(SpaceError):
        space.feedback("a", 1, 999, True)
    space.learn("a")
    before = space.events()
    assert [event["seq"] for event in before] == list(range(1, space.seq + 1))
    space.close()
    with Space(tmp_path / "space") as again:
        assert again.events() == before


def test_the_map_is_linear_keeps_its_bearings_and_has_a_row_for_each_id(space, points):
    plain = space.map("a")
    assert plain.shape == (N, 2) and plain.dtype == np.float32
    centered = points - points.mean(axis=0)
    _, s, _ = np.linalg.svd(centered, full_matrices=False)
    assert np.allclose(np.sqrt((plain.astype(float) ** 2).sum(axis=0)), s[:2], rtol=1e-5)
    teach(space)
    space.learn("a")
    moved = space.map("a", 1).astype(float)
    U, _, Wt = np.linalg.svd(moved.T @ plain)
    assert np.allclose(U @ Wt, np.eye(2), atol=1e-3)  # no turn or mirroring would bring it nearer


def test_a_map_of_one_feature_or_no_items(tmp_path):
    with Space(tmp_path, learning=False) as space:
        space.create("a", 1)
        assert space.map("a").shape == (0, 2)
        space.add("a", [[1.0], [3.0]])
        assert np.allclose(np.abs(space.map("a")), [[1, 0], [1, 0]])


def test_the_difference_of_two_versions_is_that_of_their_neighbors(space, points):
    teach(space)
    space.learn("a")
    found = space.diff("a", 0, 1, k=5)
    metric = space.collection("a").version(1).metric
    for row in found["items"]:
        x = points[row["id"] - 1]
        before, _ = brute(points, np.arange(1, N + 1), x, 5, skip=(row["id"],))
        after, _ = brute(points, np.arange(1, N + 1), x, 5, metric, skip=(row["id"],))
        assert row["gone"] == [i for i in before if i not in after]
        assert row["new"] == [i for i in after if i not in before]
    assert space.diff("a", 1, 1)["kept_share"] == 1.0


def test_vectors_keep_single_precision_only_where_it_is_exact(tmp_path):
    single = np.array([[0.5, 0.25]], np.float32)
    double = np.array([[0.1, 0.2]])
    with Space(tmp_path, learning=False) as space:
        space.create("a", 2)
        space.add("a", single, [1])
        assert space.collection("a").vectors.tail.dtype == np.float32
        space.add("a", double, [2])
        assert space.item("a", 2)["x"] == [0.1, 0.2] and space.item("a", 1)["x"] == [0.5, 0.25]


def test_one_process_at_a_time_and_a_refused_opening_keeps_no_lock(space, tmp_path):
    with pytest.raises(ValueError, match="must not be open elsewhere"):
        Space(tmp_path / "space")
    space.close()
    (tmp_path / "space" / "metrics" / "stray.gram").write_bytes(b"left by a crash")
    Space(tmp_path / "space").close()
    assert not list((tmp_path / "space" / "metrics").iterdir())


@pytest.mark.parametrize("learner", ["gmml", "lego", "auto"])
def test_every_learner_gives_the_same_metric_for_the_same_clicks_in_any_space(tmp_path, points, learner):
    exported = []
    for folder in ("one", "two"):
        with Space(tmp_path / folder, learning=False, learner=learner) as space:
            space.create("a", D)
            space.add("a", points, list(range(1, N + 1)))
            teach(space, 80)
            if folder == "two":
                space.undo("a", space.feedback("a", 1, 2, True)["seq"])
            assert space.learn("a")["learner"] == learner
            exported.append(space.collection("a").version(1).metric.components)
    assert np.array_equal(*exported)


def test_a_learner_that_is_not_there_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(ValueError, match="learner must be one of gmml, lego, auto"):
        Space(tmp_path / "space", learner="magic")
    assert not (tmp_path / "space").exists()


def test_questions_about_many_fields_keep_few_columns(space):
    for i in range(200):
        assert space.query("a", id=1, where={f"field {i}": 1})["ids"] == []
    assert len(space.asker.fields) <= meta.MOST_COLUMNS
    assert space.query("a", id=1, k=3, where={"color": "red"})["ids"] == brute_red(space)


def brute_red(space):
    view = space.collection("a")
    ids = [i for i in view.ids.tolist() if i % 2 == 1 and i != 1]
    return sorted(ids, key=lambda i: ((view.points([i]) - view.points([1])) ** 2).sum())[:3]


def test_the_background_learns_by_itself_with_the_learner_of_the_space(tmp_path, points):
    with Space(tmp_path, learner="auto") as space:
        space.create("a", D)
        space.add("a", points, list(range(1, N + 1)))
        teach(space, 55)
        for _ in range(1200):
            if len(space.collection("a").versions) > 1:
                break
            space._upkeep._stop.wait(0.05)
        assert space.versions("a")["versions"][1]["learner"] == "auto"
        assert "version" in [event["op"] for event in space.events()]


def test_a_learned_metric_is_a_file_that_the_library_reads(space):
    teach(space)
    space.learn("a")
    (file,) = space.store.metrics.iterdir()
    assert np.array_equal(gm.load(file).components, space.collection("a").version(1).metric.components)
