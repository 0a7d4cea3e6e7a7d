"""Power loss at any call to the system: what was acknowledged is there, all else is there in whole or not at all."""

import itertools
import json
import os
import random
import shutil

import numpy as np
import pytest

import gramian as gm
from gramian.service import Space, archive
from gramian.service.stream import Stream
from tests.service.power import DATA, ENTRIES, Call, Disk, losses, recorded
from tests.service.test_crash import ONE, check_promises, check_whole

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not here to record")


def run(what, place):
    """The calls of something that happens in ``place/disk/folder``."""
    (place / "disk").mkdir(parents=True)
    return recorded("tests.service.recorded", what, place / "disk" / "folder", env={**os.environ, **ONE})


def look_running(folder, promises):
    with Space(folder, learning=False) as space:
        if "a" not in space.snapshot.collections:
            assert not promises
            return
        check_promises(space, [p for p in promises if p["did"] not in ("open", "compact")])
        check_whole(space)


def look_restoring(folder, promises):
    if promises or folder.exists():
        with Space(folder, learning=False) as space:
            assert len(space.collection("a").ids) == 90


def look_saving(folder, promises):
    last = max((p["number"] for p in promises), default=-1)
    if last >= 0 or (folder / "metric.gram").exists():
        L = gm.load(folder / "metric.gram").components
        number = int(L[0, 0])
        assert last <= number <= last + 1 and (number == L).all() and len(L) == 2 + 40 * number


def look_streaming(folder, promises):
    stream = Stream(folder)
    assert stream.seq >= max((p["seq"] for p in promises), default=0)
    stream.close()


LOOKS = {
    "running": look_running,
    "compacting": look_running,
    "restoring": look_restoring,
    "saving": look_saving,
    "streaming": look_streaming,
}


def lose(what, place, n, seed=0):
    """Lose the power so many times; how often something had been promised before."""
    if what == "restoring":
        place.mkdir()
        with Space(place / "source", learning=False) as space:
            space.create("a", 4)
            space.add("a", np.random.default_rng(0).standard_normal((90, 4)))
        archive.backup(place / "source", place / "copy.zip")
    calls, promised = run(what, place), 0
    for number, (disk, data, entries, rng) in enumerate(itertools.islice(losses(calls, place / "disk", seed), n)):
        target = place / "image"
        disk.image(target, data, entries, rng)
        promises = [json.loads(line) for line in disk.said.splitlines()]
        try:
            LOOKS[what](target / "folder", promises)
        except BaseException as error:
            error.add_note(
                f"{what}, loss {number} of seed {seed}: data {data}, names {entries}, {len(promises)} promises"
            )
            raise
        shutil.rmtree(target)
        promised += bool(promises)
    return promised


def test_a_space_survives_power_losses(tmp_path):
    assert lose("running", tmp_path, 12) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "n"), [("running", 500), ("compacting", 200), ("restoring", 150), ("saving", 150), ("streaming", 150)]
)
def test_a_thousand_power_losses(tmp_path, what, n):
    lose(what, tmp_path / what, n, seed=1)


def written(disk, number, name, *values):
    """A call to the system, as strace writes it."""
    text = ", ".join('"' + "".join(f"\\x{b:02x}" for b in v) + '"' if isinstance(v, bytes) else str(v) for v in values)
    result = 3 if name == "openat" else len(values[1]) if name == "write" else 0
    disk.happen(Call(name, text, result, float(number), number + 0.5))


def outcomes(root, *calls):
    """All that the disk may have after some calls, as {name: content}."""
    disk, rng, found = Disk(root), random.Random(0), []
    for number, call in enumerate(calls):
        written(disk, number, *call)
    for data, entries in itertools.product(DATA, ENTRIES):
        for _ in range(20):
            disk.image(root / "image", data, entries, rng)
            now = {path.name: path.read_bytes() for path in (root / "image").iterdir()}
            found += [now] if now not in found else []
            shutil.rmtree(root / "image")
    return sorted(found, key=str)


def test_the_disk_keeps_what_was_waited_for_and_forgets_the_rest(tmp_path):
    """The simulation itself."""
    file = os.fsencode(tmp_path / "a")
    opened = [("openat", "AT_FDCWD", file, "O_WRONLY|O_CREAT"), ("write", 3, b"x" * 600)]
    pieces = [b"", b"x" * 512, bytes(512) + b"x" * 88, b"x" * 600]
    assert outcomes(tmp_path, *opened) == sorted([{}, *({"a": piece} for piece in pieces)], key=str)
    assert outcomes(tmp_path, *opened, ("fsync", 3)) == [{"a": b"x" * 600}, {}]  # its name is in no folder yet
    folder = [("openat", "AT_FDCWD", os.fsencode(tmp_path), "O_RDONLY"), ("fsync", 3)]
    assert outcomes(tmp_path, *opened, ("fsync", 3), *folder) == [{"a": b"x" * 600}]
    done = [*opened, ("fsync", 3), *folder]
    moved = [*done, ("rename", file, os.fsencode(tmp_path / "b"))]
    assert {"b": b"x" * 600} in outcomes(tmp_path, *moved) and {"a": b"x" * 600} in outcomes(tmp_path, *moved)
    cut = [*done, ("openat", "AT_FDCWD", file, "O_WRONLY"), ("ftruncate", 3, 7)]
    assert outcomes(tmp_path, *cut) == [{"a": b"x" * 7}, {"a": b"x" * 600}]
