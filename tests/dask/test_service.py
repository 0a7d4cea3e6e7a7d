"""A space whose items are on a cluster answers as one in this process."""

import numpy as np
import pytest

import gramian as gm
from gramian.dask import ShardedIndex
from gramian.service.snapshot import indexes_by, on_cluster


def _answers(folder):
    X = np.random.default_rng(0).normal(size=(40, 3))
    with gm.service.Space(folder, learning=False) as space:
        if "things" not in space.snapshot.collections:
            space.create("things", n_features=3)
            space.add("things", X[:30], ids=range(30))
            space.add("things", X[30:], ids=range(50, 60))
            space.remove("things", 4)
            space.remove("things", 52)
        first = space.query("things", id=7, k=9)
        second = space.query("things", x=[0.1, 0.2, 0.3], k=5)
        kinds = {type(index) for index in space.collection("things").indexes.values()}
    return first["ids"], second["ids"], kinds


def test_a_space_on_shards_answers_the_same(tmp_path):
    plain = _answers(tmp_path / "plain")
    with indexes_by(lambda metric: ShardedIndex(None, metric, gm.ExactIndex, n_shards=3, folder=tmp_path / "shards")):
        sharded = _answers(tmp_path / "sharded")
    assert plain[:2] == sharded[:2]
    assert plain[2] == {gm.ExactIndex} and sharded[2] == {ShardedIndex}
    assert _answers(tmp_path / "sharded")[2] == {gm.ExactIndex}


def test_a_space_on_the_workers_of_a_scheduler(client, tmp_path):
    with on_cluster(client.scheduler.address, tmp_path / "shards"):
        found = _answers(tmp_path / "space")
    assert found[2] == {ShardedIndex}
    assert found[:2] == _answers(tmp_path / "space")[:2]


def test_a_scheduler_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    from gramian.service import snapshot

    monkeypatch.setattr(snapshot, "SCHEDULER_SECONDS", 1)
    with pytest.raises(OSError), on_cluster("tcp://127.0.0.1:9", tmp_path):
        pass
