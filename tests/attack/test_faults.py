"""Faults at every call to the system: an error of the disk, a full disk, Ctrl-C once and twice, and death.

Whatever happens while a file is written, the name holds the old file or the new one, whole; the next attempt works;
only death leaves a temporary file behind. ``-m slow`` has a thousand deaths and a hundred full disks of a space.
"""

import builtins
import contextlib
import errno
import functools
import io
import os
import random
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

import gramian as gm
from gramian import persist
from gramian.cli import formats
from gramian.service import Space
from gramian.service.errors import StorageFull
from tests.service.test_crash import kills, launched

X = np.random.default_rng(0).normal(size=(300, 3))
NAMES = ["z0", "z1", "z2"]


def _index(path, X):
    gm.ExactIndex(gm.Mahalanobis.euclidean(3)).add(X).save(path)


def _online(path, X):
    gm.OnlineHashIndex(gm.LEGO(), 64, random_state=0).add(X).save(path)


@functools.cache
def _figure():
    return gm.plotting.matrix(gm.Mahalanobis(X[:3])).figure


def _picture(path, X):
    pytest.importorskip("matplotlib")
    formats.draw(_figure(), path)


WRITERS = {
    "metric.gram": lambda path, X: gm.save(gm.Mahalanobis(X), path),
    "index.gram": _index,
    "online.gram": _online,
    "table.csv": lambda path, X: formats.write(path, NAMES, X, "y", None),
    "table.npy": lambda path, X: formats.write(path, NAMES, X, "y", None),
    "table.npz": lambda path, X: formats.write(path, NAMES, X, "y", np.arange(len(X))),
    "picture.png": _picture,
}
"""All that writes a file through ``persist.replacing``; Parquet is written by a library of its own, see below."""
FAULTS = {
    "an error of the disk": lambda: OSError(errno.EIO, "Input/output error"),
    "a full disk": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "Ctrl-C": KeyboardInterrupt,
}


class Calls:
    """Counts calls to the system below a folder, and lets something happen at one of them, or at several."""

    NAMES = ("fsync", "replace", "chmod", "rename", "unlink")

    def __init__(self, monkeypatch, happens=None, at=(), half=True):
        self.number, self.happens, self.at, self.half = 0, happens, set(at), half
        for name in self.NAMES:
            monkeypatch.setattr(os, name, self.watched(getattr(os, name)))
        monkeypatch.setattr(builtins, "open", self.opened(builtins.open))
        monkeypatch.setattr(io, "open", builtins.open)

    def here(self):
        """Whether something happens now."""
        self.number += 1
        return self.number in self.at

    def watched(self, function):
        def call(*args, **kwargs):
            if self.here() and self.happens is not None:
                raise self.happens()
            return function(*args, **kwargs)

        return call

    def opened(self, function):
        def call(file, mode="r", *args, **kwargs):
            if "r" in mode and "+" not in mode:
                return function(file, mode, *args, **kwargs)
            if self.here() and self.happens is not None:
                raise self.happens()
            stream = function(file, mode, *args, **kwargs)
            write = stream.write

            def watched(data):
                if self.here() and self.happens is not None:
                    if self.half:
                        write(data[: len(data) // 2])
                        stream.flush()
                    raise self.happens()
                return write(data)

            with contextlib.suppress(AttributeError):
                stream.write = watched
            return stream if getattr(stream, "write", None) is watched else Proxy(stream, watched)

        return call


class Proxy:
    """A stream whose writes are watched."""

    def __init__(self, stream, write):
        self.__dict__.update(stream=stream, write=write)

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stream.close()

    def __iter__(self):
        return iter(self.stream)


def count(name, folder):
    """How many calls to the system a writer makes."""
    with pytest.MonkeyPatch.context() as patch:
        calls = Calls(patch)
        WRITERS[name](folder / name, X)
    return calls.number


def whole(folder, name, old, new):
    """The file is the old one or the new one."""
    now = (folder / name).read_bytes()
    if name.endswith((".gram", ".png", ".npz")):  # archives and pictures carry a time, or need not be equal
        return now == old or readable(folder / name)
    return now in (old, new)


def readable(path):
    if path.suffix == ".gram":
        return gm.load(path) is not None
    if path.suffix == ".npz":
        return len(np.load(path)["X"]) == len(X)
    return path.read_bytes().endswith(b"IEND\xaeB`\x82")


def moments(total, most):
    """All numbers up to a total, or so many of them, the first and the last ones among them."""
    chosen = set(range(1, total + 1))
    if len(chosen) > most:
        few = np.linspace(1, total, most).astype(int).tolist()
        chosen = {*few, *range(1, 6), *range(total - 8, total + 1)} & chosen
    return sorted(chosen)


def prepared(folder, name):
    """The old and the new content of a file; the old one is there."""
    WRITERS[name](folder / name, X + 1)
    new = (folder / name).read_bytes()
    WRITERS[name](folder / name, X)
    return (folder / name).read_bytes(), new


def try_faults(name, folder, happens, most, again=()):
    old, new = prepared(folder, name)
    for number in moments(count(name, folder), most):
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(OSError, KeyboardInterrupt):
            Calls(patch, happens, {number, *(number + step for step in again)})
            WRITERS[name](folder / name, X + 1)
        assert whole(folder, name, old, new), f"half a file after call {number}"
        left = [path.name for path in folder.iterdir() if path.name != name]
        assert not left or again, f"{left} left after call {number}"
        for path in left:
            (folder / path).unlink()
    WRITERS[name](folder / name, X + 1)
    assert whole(folder, name, b"", new)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", WRITERS)
def test_a_fault_at_any_call_leaves_a_whole_file(name, fault, tmp_path):
    try_faults(name, tmp_path, FAULTS[fault], most=6)


@pytest.mark.parametrize("name", ["metric.gram", "table.csv"])
def test_two_interrupts_in_a_row_leave_a_whole_file(name, tmp_path):
    try_faults(name, tmp_path, KeyboardInterrupt, most=6, again=(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", WRITERS)
def test_every_fault_at_every_call(name, fault, tmp_path):
    try_faults(name, tmp_path, FAULTS[fault], most=10**6)


def died(work):
    """Run something in a process of its own until it dies; whether it did."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def try_deaths(name, folder, rounds, seed=0):
    """Kill a writer at random calls; how many died."""
    old, new = prepared(folder, name)
    total, rng, dead = count(name, folder), random.Random(seed), 0

    def kill():
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(rounds):
        number = rng.randint(1, total)

        def work(number=number):
            Calls(pytest.MonkeyPatch(), kill, {number}, half=rng.random() < 0.5)
            WRITERS[name](folder / name, X + 1)

        dead += died(work)
        assert whole(folder, name, old, new)
    assert dead > rounds // 2
    return dead


def test_death_at_any_call_leaves_a_whole_file(tmp_path):
    try_deaths("metric.gram", tmp_path, 20)
    left = [path for path in tmp_path.iterdir() if path.name != "metric.gram"]
    for path in left:
        os.utime(path, (0, 0))
    gm.save(gm.Mahalanobis(X), tmp_path / "metric.gram")
    assert [path.name for path in tmp_path.iterdir()] == ["metric.gram"]  # what the dead left is cleared away


@pytest.mark.slow
def test_five_hundred_deaths_of_writers(tmp_path):
    for name in WRITERS:
        (tmp_path / name).mkdir()
        try_deaths(name, tmp_path / name, 75)


def limited(size, work):
    """Run something in a process in which no file may grow beyond a size; its exit code."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            code = work() or 0
        except OSError:
            code = 3
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("name", [*WRITERS, "table.parquet"])
def test_a_disk_that_is_full_leaves_the_old_file(name, tmp_path):
    """No file may grow beyond half of what is needed."""
    write = WRITERS.get(name, lambda path, X: formats.write(path, NAMES, X, "y", None))
    if name == "table.parquet":
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
    write(tmp_path / name, X)
    old = (tmp_path / name).read_bytes()
    assert limited(len(old) // 2, lambda: write(tmp_path / name, X + 1)) == 3
    assert (tmp_path / name).read_bytes() == old and len(list(tmp_path.iterdir())) == 1


def fill(folder, sizes, report):
    """Add items to a space while no file may grow beyond sizes, in turn; each promise goes to a pipe."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with Space(folder, learning=False) as space:
        if "a" not in space.snapshot.collections:
            space.create("a", 3)
        start = max(space.collection("a").ids, default=-1) + 1
        for number in range(60):
            resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[number % len(sizes)] or hard, hard))
            with contextlib.suppress(StorageFull):
                space.add("a", X[[number]], [int(start + number)], meta=[{"text": "x" * 3000}])
                os.write(report, f"{start + number}\n".encode())
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def try_full_disks(folder, rounds, seed=0):
    """Full disks in the life of one space; the ids that it acknowledged, all of which it has."""
    rng, promised = random.Random(seed), []
    for _ in range(rounds):
        size = 1000 * rng.randint(4, 600)
        reader, report = os.pipe()
        code = limited(2**62, lambda: fill(folder, [size, size, 0, size, 0], report))  # noqa: B023
        os.close(report)
        with os.fdopen(reader) as stream:
            promised += [int(line) for line in stream]
        assert code in (0, 3)
        with Space(folder, learning=False) as space:
            assert np.isin(promised, space.collection("a").ids).all()
    return promised


def test_full_disks_lose_nothing_that_was_acknowledged(tmp_path):
    assert len(try_full_disks(tmp_path / "space", 2)) > 40


@pytest.mark.slow
def test_a_hundred_full_disks(tmp_path):
    total = sum(len(try_full_disks(tmp_path / str(part), 10, seed=part)) for part in range(10))
    assert total > 2000


@pytest.mark.slow
def test_a_space_killed_a_thousand_times(tmp_path):
    total = 0
    with launched() as launcher:
        for part in range(100):
            total += len(kills(launcher, tmp_path / str(part), 10, seed=1000 + part))
    assert total > 10_000


def test_the_writers_are_those_that_replace_files():
    """A new caller of ``replacing`` belongs into the table above, or to its own tests."""
    known = {"persist.py", "cli/formats.py", "cli/serving.py", "service/", "export/", "dask/"}
    root = Path(persist.__file__).parent
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "replacing(" in path.read_text()}
    assert all(any(name.startswith(part) for part in known) for name in found), found
