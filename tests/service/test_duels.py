"""Duels are fair, credited to the right side, and decide neither too early nor wrongly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.metrics import Mahalanobis
from gramian.service import duels
from gramian.service.errors import SpaceError, Unknown
from gramian.service.learning import LEARNERS
from tests.service.conftest import teach

orders = st.permutations(list(range(12)))


@given(orders, orders, st.integers(1, 14), st.integers(0, 1000))
def test_a_team_draft_takes_turns_and_each_side_gives_its_best(first, second, k, seed):
    duel = duels.interleave(3, first, 0, second, k, np.random.default_rng(seed))
    assert len(set(duel.ids)) == len(duel.ids) == min(k, 12)
    for n in range(1, len(duel.ids) + 1):
        counts = [duel.teams[:n].count(team) for team in (3, 0)]
        assert abs(counts[0] - counts[1]) <= 1
        side = first if duel.teams[n - 1] == 3 else second
        assert duel.ids[n - 1] == next(i for i in side if i not in duel.ids[: n - 1])


def test_each_side_is_first_half_of_the_time():
    rng = np.random.default_rng(0)
    firsts = [duels.interleave(1, [1, 2], 0, [2, 1], 2, rng).teams[0] for _ in range(2000)]
    assert abs(np.mean(firsts) - 0.5) < 0.05


def record(differences):
    d = np.asarray(differences, float)
    return duels.Record(1, 0, int(d[d > 0].sum()), int(-d[d < 0].sum()), d)


def test_verdicts_of_a_fair_coin_are_rare_though_one_looks_after_every_duel():
    """Two metrics of the same quality: over many candidates a verdict comes in fewer than α of the cases."""
    rng = np.random.default_rng(0)
    decided = 0
    for _ in range(400):
        d = rng.integers(-3, 4, 200)
        decided += any(duels.verdict(record(d[:n]), 1) in ("adopted", "lost") for n in range(10, 201, 5))
    assert decided / 400 < duels.ALPHA


def test_a_better_metric_is_adopted_and_a_worse_one_lost():
    rng = np.random.default_rng(1)
    d = rng.normal(1.4, 1.6, 60)
    assert duels.verdict(record(d), 1) == "adopted"
    assert duels.verdict(record(-d), 1) == "lost"
    assert duels.verdict(record(d[:5]), 1) is None
    assert duels.verdict(record(np.zeros(duels.MOST)), 1) == "undecided"


def test_later_candidates_need_more():
    d = np.tile([2.0, 0.0, 1.0, 0.0, -1.0], 16)
    assert duels.verdict(record(d), 1) == "adopted" and duels.verdict(record(d), 20) is None
    assert sum(1 / (i * (i + 1)) for i in range(1, 10_000)) < 1


@pytest.fixture
def dueling(space):
    teach(space)
    space.learn("a")
    return space


def test_a_metric_that_ranks_as_the_one_in_use_is_kept_and_does_not_duel(space, monkeypatch):
    monkeypatch.setitem(LEARNERS, "gmml", lambda evidence: Mahalanobis(3.0 * np.eye(len(evidence.background.center))))
    teach(space, 3)
    assert space.teacher.learn("a", "gmml", by_itself=True)["status"] == "same"
    versions = space.versions("a")
    assert versions["candidate"] is None and versions["versions"][1]["status"] == "same"
    assert not space.teacher.due(space.collection("a"))
    assert space.query("a", id=1, version=1)["ids"] == space.query("a", id=1)["ids"]
    space.activate("a", 1)
    assert space.versions("a")["active"] == 1
    assert space.learn("a")["status"] == "candidate"  # who asks for one gets it


def test_a_click_with_a_duel_is_credited_and_its_undoing_takes_the_credit_back(dueling):
    found = dueling.query("a", id=1, k=6, duel=True)
    assert set(found["team"]) == {0, 1} and found["version"] == 0 and found["candidate"] == 1
    seqs = [
        dueling.feedback("a", 1, item, like, duel_id=found["duel_id"])["seq"]
        for item, like in zip(found["ids"], (True, True, True, False, True, True))
    ]
    teams = [team for team, like in zip(found["team"], (1, 1, 1, 0, 1, 1)) if like]
    summary = dueling.versions("a")["versions"][1]["duels"]
    assert (summary["likes"], summary["likes_against"]) == (teams.count(1), teams.count(0))
    assert summary["queries"] == 1 and summary["against"] == 0
    dueling.feedback("a", 1, found["ids"][0], False, duel_id=found["duel_id"])  # changed their mind
    for seq in seqs[1:]:
        dueling.undo("a", seq)
    summary = dueling.versions("a")["versions"][1]["duels"]
    assert (summary["likes"], summary["likes_against"]) == (0, 0)


def test_a_click_must_fit_its_duel(dueling):
    found = dueling.query("a", id=1, k=3, duel=True)
    other = next(i for i in range(2, 100) if i not in found["ids"])
    seq = dueling.seq
    with pytest.raises(SpaceError, match="must be one that duel"):
        dueling.feedback("a", 1, other, True, duel_id=found["duel_id"])
    with pytest.raises(Unknown):
        dueling.feedback("a", 1, other, True, duel_id="nothing")
    assert dueling.seq == seq


def fight(space, winner, rounds=60):
    """A person who likes what one side shows."""
    for number in range(1, rounds + 1):
        found = space.query("a", id=number, k=4, duel=True)
        if found["duel_id"] is None:
            return number - 1
        for item, team in zip(found["ids"], found["team"]):
            space.feedback("a", number, item, team == winner, duel_id=found["duel_id"])
    return rounds


def test_a_candidate_that_wins_its_duels_is_adopted_by_itself(dueling):
    rounds = fight(dueling, winner=1)
    assert rounds <= 20
    versions = dueling.versions("a")
    assert versions["active"] == 1 and versions["candidate"] is None
    assert versions["versions"][1]["status"] == "adopted"
    verdict = [event for event in dueling.events() if event["op"] == "verdict"]
    assert [(event["version"], event["verdict"]) for event in verdict] == [(1, "adopted")]
    assert dueling.query("a", id=1, duel=True)["duel_id"] is None


def test_a_candidate_that_loses_is_kept_and_not_used(dueling):
    fight(dueling, winner=0)
    versions = dueling.versions("a")
    assert versions["active"] == 0 and versions["versions"][1]["status"] == "lost"
    assert dueling.query("a", id=1, version=1)["version"] == 1


def test_there_is_one_candidate_at_a_time_and_duels_survive_a_restart(dueling, tmp_path):
    from gramian.service import Space

    found = dueling.query("a", id=1, k=4, duel=True)
    dueling.close()
    with Space(tmp_path / "space", learning=False) as again:
        again.feedback("a", 1, found["ids"][0], True, duel_id=found["duel_id"])
        assert again.versions("a")["versions"][1]["duels"]["queries"] == 1
        again.learn("a")
        assert again.versions("a")["candidate"] == 2
        assert again.versions("a")["versions"][1]["status"] == "superseded"
        assert again.versions("a")["versions"][1]["duels"]["queries"] == 1


@pytest.mark.parametrize("winner", [0, 1])
def test_a_verdict_is_withdrawn_when_the_click_that_decided_it_is_undone(dueling, winner):
    fight(dueling, winner)
    decided = dueling.versions("a")
    (verdict,) = [event["seq"] for event in dueling.events() if event["op"] == "verdict"]
    (deciding,) = [click for click in dueling.clicks("a") if click["seq"] == verdict - 1]
    for click in dueling.clicks("a", after=verdict):  # what was said after the verdict confirms it
        dueling.undo("a", click["seq"])
    assert dueling.versions("a")["active"] == decided["active"]
    dueling.undo("a", deciding["seq"])
    versions = dueling.versions("a")
    assert (versions["active"], versions["candidate"]) == (0, 1)
    assert versions["versions"][1]["status"] == "candidate"
    verdicts = [event["verdict"] for event in dueling.events() if event["op"] == "verdict"]
    assert verdicts == [{0: "lost", 1: "adopted"}[winner], "withdrawn"]
    dueling.feedback("a", deciding["query"], deciding["item"], deciding["like"], duel_id=deciding["duel_id"])
    assert dueling.versions("a")["active"] == decided["active"]
    assert dueling.versions("a")["versions"][1]["status"] == decided["versions"][1]["status"]


def test_a_verdict_stands_when_the_other_clicks_say_the_same_or_people_decided_since(dueling):
    fight(dueling, winner=1)
    clicks = dueling.clicks("a")
    neutral = next(c for c in clicks if c["duel_id"] and not c["like"])
    dueling.undo("a", neutral["seq"])
    assert dueling.versions("a")["active"] == 1
    dueling.activate("a", 0)
    dueling.undo("a", clicks[-1]["seq"])
    assert dueling.versions("a")["active"] == 0 and dueling.versions("a")["candidate"] is None


def test_a_candidate_in_its_duels_is_replaced_once_the_clicks_have_tripled(dueling):
    due = lambda: dueling.teacher.due(dueling.collection("a"))  # noqa: E731
    found = dueling.query("a", id=1, k=4, duel=True)
    dueling.feedback("a", 1, found["ids"][0], True, duel_id=found["duel_id"])
    learned = dueling.versions("a")["versions"][1]["events"]
    teach(dueling, 2 * learned - 2, seed=1)
    assert not due()
    teach(dueling, 1, seed=2)
    assert due()


def test_an_undone_click_can_decide_a_duel_too(dueling):
    """What is left decides, as if the click had never been."""
    found = dueling.query("a", id=99, k=4, duel=True)
    shown = [item for item, team in zip(found["ids"], found["team"]) if team == 0]
    against = [dueling.feedback("a", 99, item, True, duel_id=found["duel_id"])["seq"] for item in shown]
    rounds = 0
    while _verdict_without(dueling, against) is None:
        rounds += 1
        found = dueling.query("a", id=rounds, k=2, duel=True)
        for item, team in zip(found["ids"], found["team"]):
            dueling.feedback("a", rounds, item, team == 1, duel_id=found["duel_id"])
    assert dueling.versions("a")["candidate"] == 1
    for seq in against:
        dueling.undo("a", seq)
    assert dueling.versions("a")["active"] == 1


def _verdict_without(space, clicks):
    """The verdict if some clicks had not been made."""
    view = space.collection("a")
    with space.store.writing() as db:
        marks = ",".join(map(str, clicks))
        db.execute("SAVEPOINT before")
        db.execute(f"UPDATE feedback SET undone = 1 WHERE seq IN ({marks})")
        record = duels.record(db, view.number, 1, 0)
        db.execute("ROLLBACK TO before")
    return duels.verdict(record, 1)
