"""Every verdict follows from the log, and a log that was changed is found out."""

import json

import pytest

from gramian.cli import main
from gramian.service import events, replay
from tests.service.conftest import teach
from tests.service.test_duels import fight


@pytest.fixture
def fought(space):
    """Two adopted versions, a lost one, one superseded with what it won, and a verdict that was withdrawn."""
    teach(space)
    space.learn("a")
    fight(space, winner=0)
    space.learn("a")
    fight(space, winner=2, rounds=4)
    space.learn("a")
    fight(space, winner=3)
    verdict = [event["seq"] for event in space.events(limit=10_000) if event["op"] == "verdict"][-1]
    for click in space.clicks("a", after=verdict - 2):
        space.undo("a", click["seq"])
    fight(space, winner=3)
    space.activate("a", 0)
    space.learn("a", "gmml")
    fight(space, winner=4)
    return space


def test_every_verdict_is_computed_again(fought):
    rows = replay.verdicts(replay.logged(fought.store.folder))
    assert [row["recorded"] for row in rows] == ["lost", "adopted", "withdrawn", "adopted", "adopted"]
    assert all(row["same"] for row in rows)
    lines = [json.loads(line) for line in events.export_events(fought)]
    assert replay.verdicts(lines) == rows


@pytest.mark.parametrize("what", ["like", "team", "wealth", "verdict", "missing"])
def test_a_log_that_was_changed_is_found_out(fought, what):
    lines = [json.loads(line) for line in events.export_events(fought)]
    if what == "missing":
        lines.remove(next(line for line in lines if line["op"] == "verdict"))
    elif what in ("wealth", "verdict"):
        verdict = next(line for line in lines if line["op"] == "verdict")
        verdict.update({"verdict": "adopted"} if what == "verdict" else {"duels": {"wealth": 7.0}})
    elif what == "team":
        duel = next(line for line in lines if line["op"] == "duel")
        duel["team"] = [{1: 0, 0: 1}.get(team, -1) for team in duel["team"]]
    else:
        for line in lines:
            if line["op"] == "feedback" and "duel_id" in line:
                line["like"] = not line["like"]
    assert not all(row["same"] for row in replay.verdicts(lines))


def test_the_command_says_it_while_the_space_is_open(fought, capsys):
    assert main(["replay", str(fought.store.folder)]) in (0, None)
    told = capsys.readouterr().out
    assert "event " in told and "adopted" in told and "5 verdicts, all as the log says" in told
