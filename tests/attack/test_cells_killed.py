"""Indexes with cells in processes that are killed: the file is one whole state, and who has it mapped goes on."""

import os
import random
import signal
import time

import numpy as np
import pytest

import gramian as gm

D, FIRST, MORE, LESS = 4, 400, 7, 3
POINTS = np.random.default_rng(5).normal(size=(4000, D))
Q = np.random.default_rng(6).normal(size=(8, D))


def begun():
    """The index before the first step: all candidates are compared, so that answers are those of a scan."""
    metric = gm.Mahalanobis(np.diag([3.0, 1.0, 1.0, 0.5]))
    return gm.HashIndex(metric, 64, cells=8, recall=1 - 1e-9, random_state=0).add(POINTS[:FIRST])


def held(step):
    """Ids after so many steps, each of which adds some items and removes the oldest."""
    return np.arange(LESS * step, FIRST + MORE * step)


def stepped(path):
    """What is in the file, one step on."""
    index = gm.load(path, mmap=True)
    step = int(index.ids.min()) // LESS + 1
    return index.add(POINTS[held(step)[-MORE:]], held(step)[-MORE:]).remove(held(step - 1)[:LESS])


def work(path, report):
    """Go on from the file, and say after each saving how far it is."""
    while True:
        index = stepped(path)
        os.write(report, b"?")  # from here on the new state may be there
        index.save(path)
        os.write(report, b"!")


def killed(path, moment):
    """Let a process work for a moment and kill it; how many steps it promised, and how many it began."""
    reader, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work(path, report)
        finally:
            os._exit(0)
    os.close(report)
    os.read(reader, 1)  # it has begun to save
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with os.fdopen(reader, "rb") as told:
        said = b"?" + told.read()
    return said.count(b"!"), said.count(b"?")


def answers(index):
    return index.query(Q, 5, n_jobs=1)


def by_scan(metric, ids):
    """The five nearest of some items to each query, without an index."""
    sqdist = metric.sqdist(Q, POINTS[ids])
    return ids[np.argsort(sqdist, axis=1, kind="stable")[:, :5]]


def try_kills(folder, rounds, seed=0):
    """Kills one after the other; the number of steps that were promised in all."""
    path, moments, step = folder / "index.gram", random.Random(seed), 0
    begun().save(path)
    stepped(path)  # compiled before the first fork
    for _ in range(rounds):
        before = gm.load(path, mmap=True)
        first = answers(before)
        promised, tried = killed(path, moments.uniform(0, 0.05))
        for mmap in (False, True):
            index = gm.load(path, mmap=mmap)
            now = int(index.ids.min()) // LESS
            assert step + promised <= now <= step + tried
            assert np.array_equal(np.sort(index.ids), held(now)) and index.n_cells_ == 8
            assert np.array_equal(answers(index)[0], by_scan(index.metric, held(now)))
        assert all(map(np.array_equal, answers(before), first))  # the file that it has mapped is still there
        step = now
    index.save(path)
    left = [name for name in os.listdir(folder) if name != path.name]
    assert len(left) <= rounds  # at most one unfinished file for each death
    return step


def test_cells_of_a_killed_process_are_one_whole_state(tmp_path):
    try_kills(tmp_path, 4)


@pytest.mark.slow
def test_cells_of_a_process_killed_three_hundred_times(tmp_path):
    total = 0
    for part in range(10):
        (tmp_path / str(part)).mkdir()
        total += try_kills(tmp_path / str(part), 30, seed=part)
    assert total > 30  # how far they come in a moment is the machine's
