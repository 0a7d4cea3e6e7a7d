"""Duels are fair, credited to the right side, and decide neither too early nor wrongly."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.metrics import Mahalanobis
from gramian.service import duels, wealth
from gramian.service.errors import SpaceError, Unknown
from gramian.service.learning import LEARNERS
from tests.service.conftest import teach

orders = st.permutations(list(range(12)))


@given(orders, orders, st.integers(1, 14), st.integers(0, 1000))
def test_a_list_has_pairs_of_what_one_shows_and_the_best_of_the_rest(first, second, k, seed):
    duel = duels.interleave(3, first, 0, second, k, np.random.default_rng(seed))
    assert len(set(duel.ids)) == len(duel.ids) == len(duel.teams) == min(k, 12)
    assert set(duel.ids) <= set(first[:k]) | set(second[:k])
    apart = [len(set(first[:depth]) - set(second[:depth])) for depth in range(1, min(k, 12) + 1)]
    depth = max(d for d, n in enumerate(apart, 1) if n == max(apart))
    sides = {team: [i for i, side in zip(duel.ids, duel.teams) if side == team] for team in (3, 0)}
    tops = {3: first[:depth], 0: second[:depth]}
    for team, other in ((3, 0), (0, 3)):
        alone = [i for i in tops[team] if i not in tops[other]]
        assert sorted(sides[team], key=tops[team].index) == alone[: k // 2]
    for mine, its in zip(*(sorted(sides[team], key=tops[team].index) for team in (3, 0))):
        assert abs(duel.ids.index(mine) - duel.ids.index(its)) == 1


def test_rankings_that_change_places_change_sides_only():
    """So whatever people do by item and place, each side gets the same on average: all lists are counted."""
    rng = np.random.default_rng(0)
    first, second = [1, 2, 3, 4, 5, 6], [4, 7, 1, 8, 9, 2]
    lists = []
    for rankings in ((first, second), (second, first)):
        drawn = [duels.interleave(1, rankings[0], 0, rankings[1], 5, rng) for _ in range(4000)]
        sides = (1, 0) if rankings[0] is first else (0, 1)
        names = {sides[0]: "first", sides[1]: "second", -1: "both"}
        keys = [tuple((item, names[team]) for item, team in zip(duel.ids, duel.teams)) for duel in drawn]
        lists.append({key: keys.count(key) / 4000 for key in set(keys)})
    assert set(lists[0]) == set(lists[1]) and len(lists[0]) >= 4
    assert all(abs(lists[0][key] - lists[1][key]) < 0.05 for key in lists[0])


def test_each_side_is_first_half_of_the_time():
    rng = np.random.default_rng(0)
    firsts = [duels.interleave(1, [1, 2, 5], 0, [3, 4, 5], 3, rng).teams[0] for _ in range(2000)]
    assert abs(np.mean(firsts) - 0.5) < 0.05


@given(st.lists(st.tuples(st.sampled_from([1, -1]), st.booleans()), max_size=10))
def test_a_vote_is_what_speaks_for_the_candidate_less_what_speaks_against_it(judged):
    """A like of one side speaks as a dislike of the other does; sides that change places change the sign."""
    speaks = sum((value > 0) == candidate for value, candidate in judged)
    expected = (2 * speaks - len(judged)) / len(judged) if judged else 0.0
    assert wealth.vote(judged) == pytest.approx(expected) and -1 <= wealth.vote(judged) <= 1
    assert wealth.vote([(value, not candidate) for value, candidate in judged]) == -wealth.vote(judged)


votes = st.lists(st.floats(-1, 1), max_size=12)


@given(st.lists(votes, max_size=4))
def test_the_wealth_is_that_of_bettors_who_begin_with_each_candidate(courses):
    """Money counted vote by vote, in place of sums of logarithms."""
    shares = [0.85, *(0.15 / (j * (j - 1)) for j in range(2, len(courses) + 1))][: len(courses)]
    money = 1 - sum(shares)
    for j, share in enumerate(shares):
        for stake, weight in ((0.25, 0.2), (0.7, 0.8)):
            own = share * weight
            for v in np.concatenate([np.zeros(0), *courses[j:]]):
                own *= 1 + stake * v
            money += own
    assert wealth.log_wealth([wealth.log_gains(course) for course in courses]) == pytest.approx(np.log(money), abs=1e-9)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=3), st.integers(1, 3))
def test_nobody_can_expect_to_gain_from_fair_votes(past, n):
    """The mean wealth over all coming votes of ±1 is that of now, also where a new candidate comes in between."""
    now = [wealth.log_gains(past)]
    later = []
    for number in range(2**n):
        coming = [1.0 if number >> i & 1 else -1.0 for i in range(n)]
        later.append(np.exp(wealth.log_wealth([*now, wealth.log_gains(coming)])))
    assert np.mean(later) == pytest.approx(np.exp(wealth.log_wealth(now)))


def lives(rng, n_lives=400, n_votes=120):
    """Fair votes of many kinds, and candidates that are renewed whenever the last ones went badly."""
    for life in range(n_lives):
        size = rng.choice([1.0, 0.5, 0.2])
        yield rng.choice([-size, 0.0, size], n_votes) if life % 2 else rng.uniform(-size, size, n_votes)


def test_fair_votes_adopt_in_at_most_a_twentieth_of_400_lives():
    rng = np.random.default_rng(0)
    adopted = 0
    for course in lives(rng):
        parts, votes = [], []
        for v in course:
            votes.append(v)
            decision = wealth.decided(parts, np.array(votes), 0)
            adopted += decision == "adopted"
            if decision == "adopted":
                break
            if decision == "lost" or (len(votes) > 5 and sum(votes) < -1):  # whoever renews candidates may peek
                parts, votes = [*parts, wealth.log_gains(votes)], []
    assert adopted / 400 <= wealth.ALPHA


def test_a_better_metric_is_adopted_and_a_worse_one_lost():
    rng = np.random.default_rng(1)
    v = np.clip(rng.normal(0.3, 0.4, 60), -1, 1)
    assert wealth.decided([], v, 0) == "adopted"
    assert wealth.decided([], -v, 0) == "lost"
    assert wealth.decided([], v[:2], 0) is None
    assert wealth.decided([], np.zeros(wealth.MOST), 0) == "undecided"


def test_what_one_candidate_won_is_there_for_the_next():
    won = wealth.log_gains(np.full(12, 0.5))
    assert wealth.decided([won], np.full(3, 0.4), 0) == "adopted"
    assert wealth.decided([], np.full(3, 0.4), 0) is None
    assert wealth.decided([3 * won], np.full(3, -0.1), 0) is None  # its own votes are against it
    assert wealth.decided([3 * won], np.array([0.5, -0.5, 0.0]), 0) is None
    assert wealth.decided([3 * won], np.array([0.5, 0.0, 0.0]), 0) == "adopted"


@pytest.mark.parametrize("choices", [0, 1, 2])
def test_who_leads_has_half_of_the_way_and_who_is_adopted_all_of_it(choices):
    share = 0.8 if choices == 0 else 0.2 / (choices * (choices + 1))
    for n in range(1, 24):
        money = 0.2 * 1.15**n + 0.8 * 1.42**n
        assert wealth.leads(np.full(n, 0.6), choices) == (money >= (0.05 * share) ** -0.5)
        won = n >= 3 and 0.85 * money + 0.15 >= 1 / (0.05 * share)
        assert wealth.decided([], np.full(n, 0.6), choices) == ("adopted" if won else None)
        worse = 0.2 * 1.15**n + 0.8 * 1.42**n >= 20 and n >= 3
        assert wealth.decided([], np.full(n, -0.6), choices) == ("lost" if worse else None)


@pytest.mark.parametrize("n", [999, 1000])
def test_a_candidate_steps_back_after_a_thousand_votes_and_not_before(n):
    assert wealth.decided([], np.tile([0.1, -0.1], 500)[:n], 0) == (None if n < 1000 else "undecided")


def test_what_is_adopted_pays_for_the_next_test_and_choices_of_people_do_not():
    """Levels of lives in which people choose ever so often sum to at most α; adoptions in between cost none of it."""
    levels = [np.exp(-wealth.log_needed(choices)) for choices in range(10_000)]
    assert sum(levels) == pytest.approx(wealth.ALPHA, rel=1e-4) and sum(levels) < wealth.ALPHA
    v = np.full(11, 0.6)
    assert wealth.decided([], v, 0) == "adopted" and wealth.decided([], v, 1) is None


def test_of_many_adoptions_few_are_of_nothing_better():
    """Lives with better and equal candidates in turn: false adoptions are at most α of all and one more, on average."""
    rng = np.random.default_rng(3)
    false, true, lives = 0, 0, 150
    for _ in range(lives):
        parts, votes, better = [], [], bool(rng.integers(2))
        for _ in range(200):
            votes.append(np.clip(rng.normal(0.4 * better, 0.5), -1, 1))
            decision = wealth.decided(parts, np.array(votes), 0)
            if decision == "adopted":
                # false: nothing in this test was ever better
                true, false = true + better, false + (not better)
                parts, votes, better = [], [], bool(rng.integers(2))
            elif decision == "lost":
                parts, votes = [*parts, wealth.log_gains(votes)], []
    assert true > lives and false <= wealth.ALPHA * (true + false + lives)


@pytest.fixture
def dueling(space):
    teach(space)
    space.learn("a")
    return space


def test_a_metric_that_ranks_as_the_one_in_use_is_kept_and_does_not_duel(space, monkeypatch):
    monkeypatch.setitem(LEARNERS, "auto", lambda evidence: Mahalanobis(3.0 * np.eye(len(evidence.background.center))))
    teach(space, 3)
    assert space.teacher.learn("a", by_itself=True)["status"] == "same"
    versions = space.versions("a")
    assert versions["candidate"] is None and versions["versions"][1]["status"] == "same"
    assert not space.teacher.due(space.collection("a"))
    assert space.query("a", id=1, version=1)["ids"] == space.query("a", id=1)["ids"]
    space.activate("a", 1)
    assert space.versions("a")["active"] == 1
    assert space.learn("a")["status"] == "candidate"  # who asks for one gets it


def test_a_click_with_a_duel_is_credited_and_its_undoing_takes_the_credit_back(dueling):
    found = dueling.query("a", id=1, k=6, duel=True)
    assert set(found["team"]) <= {-1, 0, 1} and 1 in found["team"] and found["version"] == 0 and found["candidate"] == 1
    seqs = [
        dueling.feedback("a", 1, item, like, duel_id=found["duel_id"])["seq"]
        for item, like in zip(found["ids"], (True, True, True, False, True, True))
    ]
    teams = [team for team, like in zip(found["team"], (1, 1, 1, 0, 1, 1)) if like]
    assert len(teams) == 5
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
        found = space.query("a", id=number, k=6, duel=True)
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

    found = dueling.query("a", id=1, k=6, duel=True)
    dueling.close()
    with Space(tmp_path / "space", learning=False) as again:
        item = found["ids"][found["team"].index(1)]
        again.feedback("a", 1, item, True, duel_id=found["duel_id"])
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


def test_a_candidate_is_renewed_as_the_clicks_grow_but_not_one_that_leads(dueling):
    due = lambda: dueling.teacher.due(dueling.collection("a"))  # noqa: E731
    learned = dueling.versions("a")["versions"][1]["events"]
    teach(dueling, learned, seed=1)
    assert due()
    asked = 0
    while (record := dueling.versions("a")["versions"][1]["duels"])["wealth"] < 8:
        asked += 1
        found = dueling.query("a", id=asked, k=6, duel=True)
        for item, team in zip(found["ids"], found["team"]):
            dueling.feedback("a", asked, item, team == 1, duel_id=found["duel_id"])
    assert record["wealth"] < record["needed"] and not due()
    for seq in [click["seq"] for click in dueling.clicks("a") if click["duel_id"]]:
        dueling.undo("a", seq)
    assert due()


def test_what_a_candidate_won_is_carried_over_to_the_next_and_ends_with_an_activation(dueling):
    fight(dueling, winner=1, rounds=4)
    before = dueling.versions("a")["versions"][1]["duels"]["wealth"]
    dueling.learn("a")
    assert dueling.versions("a")["versions"][2]["duels"]["wealth"] == pytest.approx(before)
    assert fight(dueling, winner=2) < 15 and dueling.versions("a")["active"] == 2
    dueling.activate("a", 0)
    dueling.learn("a")
    fresh = dueling.versions("a")["versions"][3]["duels"]
    assert fresh["wealth"] == 1.0 and fresh["needed"] == pytest.approx(200.0)


def test_what_was_won_is_read_as_it_was_written_and_from_earlier_spaces_too():
    reign = duels.Reign(2, ((0.5, -0.25), (0.0, 1.0)))
    assert duels.Reign.read(json.loads(json.dumps(reign.plain()))) == reign
    assert duels.Reign.read({"reign": 3, "parts": [[0.5, -0.25], [0.0, 1.0]]}) == reign


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
    return wealth.decided([], record.votes, 0)
