"""Copies of a space are whole: backup under load, restore, compaction, events as lines."""

import contextlib
import json
import os
import pathlib
import sqlite3
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from gramian.cli import main
from gramian.persist import PersistError
from gramian.service import Space, archive, events, store, upkeep
from gramian.service.errors import Conflict
from gramian.service.upkeep import settle
from tests.service.conftest import D, N, teach


def state(space):
    """Everything of a space that people can see."""
    view = space.collection("a")
    return {
        "seq": space.seq,
        "events": space.events(limit=10**6),
        "clicks": space.clicks("a", limit=10**6),
        "versions": space.versions("a"),
        "items": [space.item("a", int(i)) for i in view.ids],
        "answers": [rounded(space.query("a", id=int(i), k=5)) for i in view.ids[:5]],
    }


def rounded(answer):
    """An answer with distances to twelve digits: products of other shapes round differently."""
    return {**answer, "sqdist": [float(f"{d:.12g}") for d in answer["sqdist"]]}


@pytest.fixture
def busy(space, points):
    """A space with a history: clicks, an undo, versions, a duel, parts in files and in the log."""
    seqs = teach(space, 40)
    space.undo("a", seqs[3])
    space.learn("a")
    settle(space._writer, space.collection("a"))
    found = space.query("a", id=2, k=4, duel=True)
    space.feedback("a", 2, found["ids"][0], True, duel_id=found["duel_id"])
    space.add("a", points[:2] + 9, [800, 801], meta=[{"n": 1}, None])
    space.remove("a", 3)
    space.activate("a", 1)
    return space


def test_a_backup_of_a_running_space_opens_as_it_was(busy, tmp_path):
    before = state(busy)
    done = archive.backup(busy.store.folder, tmp_path / "copy.zip")
    assert done["seq"] == busy.seq
    teach(busy, 3)
    assert archive.restore(tmp_path / "copy.zip", tmp_path / "restored")["seq"] == before["seq"]
    with Space(tmp_path / "restored", learning=False) as again:
        assert state(again) == before


def test_a_served_space_is_exported_as_it_is_at_that_moment(busy, tmp_path, monkeypatch, capsys):
    lines = list(events.export_events(busy))
    assert main(["export", str(busy.store.folder), "-o", str(tmp_path / "linked.jsonl")]) == 0
    monkeypatch.setattr(pathlib.Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError("no links here")))
    assert main(["export", str(busy.store.folder), "-o", str(tmp_path / "copied.jsonl")]) == 0
    assert (tmp_path / "linked.jsonl").read_text().splitlines() == lines
    assert (tmp_path / "copied.jsonl").read_text().splitlines() == lines
    assert teach(busy, 1) == [busy.seq]  # and the space goes on


def test_a_backup_under_load_has_everything_up_to_some_event(space, tmp_path):
    stop = threading.Event()

    def click():
        while not stop.is_set():
            teach(space, 5)
            settle(space._writer, space.collection("a"))
            space.add("a", np.zeros((2, D)))

    thread = threading.Thread(target=click)
    thread.start()
    try:
        copies = [archive.backup(space.store.folder, tmp_path / f"{i}.zip")["seq"] for i in range(3)]
    finally:
        stop.set()
        thread.join()
    events = space.events(limit=10**6)
    for i, seq in enumerate(copies):
        archive.restore(tmp_path / f"{i}.zip", tmp_path / str(i))
        with Space(tmp_path / str(i), learning=False) as again:
            assert again.seq == seq and again.events(limit=10**6) == events[:seq]


def test_what_is_no_backup_is_refused_and_leaves_nothing(space, tmp_path):
    (tmp_path / "no.zip").write_bytes(b"no zip")
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as packed:
        packed.writestr("vectors/../../stolen", "x")
    archive.backup(space.store.folder, tmp_path / "copy.zip")
    damaged = bytearray((tmp_path / "copy.zip").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.zip").write_bytes(damaged)
    for name in ("no.zip", "evil.zip"):
        with pytest.raises(PersistError):
            archive.restore(tmp_path / name, tmp_path / "out")
    with pytest.raises((PersistError, zipfile.BadZipFile)):
        archive.restore(tmp_path / "damaged.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists() and not (tmp_path / "stolen").exists()
    assert not list(tmp_path.glob(".restore-*"))
    with pytest.raises(FileExistsError):
        archive.restore(tmp_path / "copy.zip", space.store.folder)
    with pytest.raises(FileNotFoundError):
        archive.backup(tmp_path / "nowhere", tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


@pytest.fixture
def synced(monkeypatch):
    """What was waited for, in its order: ("sync", path) and ("move", from, to)."""
    calls, fsync, move = [], os.fsync, os.replace

    def sync(handle):
        calls.append(("sync", pathlib.Path(os.readlink(f"/proc/self/fd/{handle}"))))
        fsync(handle)

    def moved(source, target):
        calls.append(("move", pathlib.Path(source), pathlib.Path(target)))
        move(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", moved)
    return calls


def test_a_restored_space_is_on_the_disk_before_it_is_said(busy, tmp_path, synced):
    archive.backup(busy.store.folder, tmp_path / "copy.zip")
    synced.clear()
    target = tmp_path / "deep" / "er" / "space"
    archive.restore(tmp_path / "copy.zip", target)
    at = next(i for i, call in enumerate(synced) if call[-1] == target)
    source = synced[at][1]
    before = {path for kind, path, *_ in synced[:at] if kind == "sync"}
    for path in (target, *target.rglob("*")):
        assert source / path.relative_to(target) in before, path
    assert ("sync", target.parent) in synced[at:]
    assert {tmp_path, tmp_path / "deep"} <= before


def test_a_new_space_has_its_folders_on_the_disk(tmp_path, synced):
    Space(tmp_path / "deep" / "space", learning=False).close()
    for folder in (tmp_path, tmp_path / "deep", tmp_path / "deep" / "space"):
        assert ("sync", folder) in synced


def zipped(path, entries, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in entries:
            packed.writestr(name, content)
    return path


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_holds_no_log_or_more_than_it_holds_is_no_backup(space, tmp_path):
    archive.backup(space.store.folder, tmp_path / "copy.zip")
    with zipfile.ZipFile(tmp_path / "copy.zip") as packed:
        log = packed.read("space.db")
    none = {
        "empty": zipped(tmp_path / "empty.zip", []),
        "without": zipped(tmp_path / "without.zip", [("vectors/a.npy", b"x")]),
        "nothing": zipped(tmp_path / "nothing.zip", [("space.db", b"")]),
        "deflated": zipped(tmp_path / "deflated.zip", [("space.db", log)], zipfile.ZIP_DEFLATED),
        "twice": zipped(tmp_path / "twice.zip", [("space.db", log), ("space.db", log)]),
    }
    data = bytearray((tmp_path / "copy.zip").read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (1 << 30).to_bytes(4, "little")  # the size that the last entry says of itself
    none["larger"] = tmp_path / "larger.zip"
    none["larger"].write_bytes(data)
    for path in none.values():
        with pytest.raises(PersistError, match="^restore: "):
            archive.restore(path, tmp_path / "out")
        assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".restore-*"))


def test_compaction_gives_back_room_and_changes_no_answer(busy, points):
    busy.add("a", np.tile(points, (40, 1)), list(range(10_000, 10_000 + 40 * N)))
    for number in range(10_000, 10_000 + 39 * N, 400):
        busy.remove("a", number)
    busy.add("a", np.tile(points, (40, 1)), list(range(10_000, 10_000 + 40 * N)), upsert=True)
    before = state(busy)
    folder = busy.store.folder
    busy.close()
    sizes = archive.compact(folder)
    assert sizes["after"] < sizes["before"]
    with Space(folder, learning=False) as again:
        view = again.collection("a")
        assert len(view.vectors) == len(view.ids)
        assert state(again) == before


def test_compaction_is_alone_with_the_files_however_much_is_unsettled(tmp_path, points, monkeypatch):
    monkeypatch.setattr("gramian.service.upkeep.SETTLE_BYTES", 1 << 40)
    folder, X = tmp_path / "s", np.tile(points, (20, 1))
    with Space(folder, learning=False) as space:
        space.create("a", D)
        for start in range(0, len(X), 400):
            space.add("a", X[start : start + 400])
        space.remove("a", 5)
    monkeypatch.setattr("gramian.service.upkeep.SETTLE_BYTES", 1)  # the upkeep of a space would begin at once
    archive.compact(folder)
    with Space(folder, learning=False) as again:
        assert np.array_equal(again.collection("a").points(again.collection("a").ids), np.delete(X, 5, axis=0))


def test_rows_that_were_numbered_anew_are_not_settled_by_their_old_numbers(busy):
    old = busy.collection("a")
    items = {int(i): busy.item("a", int(i)) for i in old.ids}
    files = set(busy.store.vectors.iterdir())
    busy.transact(lambda draft: archive._pack(old, draft.store))
    with pytest.raises(Conflict, match="numbered anew"):
        settle(busy._writer, old)
    assert len(set(busy.store.vectors.iterdir()) - files) == 1  # that of the packing
    busy.close()
    with Space(busy.store.folder, learning=False) as again:
        assert {int(i): again.item("a", int(i)) for i in again.collection("a").ids} == items


def test_parts_that_change_while_they_are_settled_stay_as_they_are(busy, monkeypatch):
    view = busy.collection("a")
    monkeypatch.setattr(upkeep, "_are", lambda *values: True)
    monkeypatch.setattr(upkeep, "parts_between", lambda db, *values: [] if db is busy.store.db else [("before",)])
    files = set(busy.store.vectors.iterdir())
    with pytest.raises(Conflict, match="changed while"):
        settle(busy._writer, view)
    assert set(busy.store.vectors.iterdir()) == files


@pytest.mark.parametrize("bad", ["points", "ids"])
def test_what_was_packed_is_read_before_anything_is_given_up(busy, monkeypatch, bad):
    before, folder = state(busy), busy.store.folder
    busy.close()
    pack = archive._pack

    def wrong(view, store):
        pack(view if bad == "ids" else replace(view, rows=view.rows[::-1].copy()), store)
        if bad == "ids":
            store.db.execute("UPDATE items SET id = id + 10000 WHERE id = (SELECT max(id) FROM items)")

    monkeypatch.setattr(archive, "_pack", wrong)
    with pytest.raises(PersistError, match="nothing was changed"):
        archive.compact(folder)
    with Space(folder, learning=False) as again:
        assert state(again) == before


def change_length(path, by):
    """Let the parts have more rows, by somebody who knows of checksums."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        db.create_function("row_sum", -1, store.row_sum)
        db.execute("UPDATE parts SET n_rows = n_rows + ?", (by,))
        db.execute(f"UPDATE parts SET row_sum = row_sum({', '.join(store.columns(db, 'parts'))})")
        db.commit()


def test_a_space_that_does_not_open_loses_no_file(busy):
    """Files that no table names may be all there is of the vectors."""
    busy.close()
    stray = busy.store.vectors / "stray.npy"
    stray.write_bytes(b"x")
    change_length(busy.store.path, 1)
    with pytest.raises(PersistError, match="hole"):
        Space(busy.store.folder)
    assert stray.exists()
    change_length(busy.store.path, -1)
    Space(busy.store.folder).close()
    assert not stray.exists()


def test_compaction_of_a_folder_that_is_none_makes_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="no space at"):
        archive.compact(tmp_path / "typo")
    assert not (tmp_path / "typo").exists()


def test_events_as_lines_make_the_same_space_again(busy, tmp_path):
    lines = list(events.export_events(busy))
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, busy.seq + 1))
    with Space(tmp_path / "again", learning=False) as again:
        done = events.import_events(again, lines)
        assert done["events"] == busy.seq
        left, right = state(busy), state(again)
        for side in (left, right):
            for part in ("events", "clicks"):
                side[part] = [{k: v for k, v in row.items() if k != "time"} for row in side[part]]
        assert left == right


def test_lines_of_a_stream_are_taken_too(tmp_path):
    lines = ['{"op": "add", "id": 4, "x": [1, 2]}', "", '{"op": "add", "id": 5, "x": [1, 3], "meta": {"a": 1}}']
    with Space(tmp_path, learning=False) as space:
        assert events.import_events(space, lines)["events"] == 2
        assert space.item("stream", 5) == {"id": 5, "x": [1.0, 3.0], "meta": {"a": 1}}


@pytest.mark.parametrize("line", ["{", '{"op": "items"}', '{"op": "add", "id": 1, "x": ["a"]}', "[]"])
def test_a_line_that_cannot_be_replayed_is_named_and_nothing_of_its_lines_happens(space, line):
    good = '{"op": "remove", "collection": "a", "id": 7}'
    with pytest.raises(ValueError, match="line 2 cannot be replayed"):
        events.import_events(space, [good, line])
    assert space.seq == 2


def test_a_failed_import_that_is_repeated_counts_nothing_twice(busy, tmp_path):
    teach(busy, 600)
    lines = list(events.export_events(busy))
    broken = [*lines[:601], "{", *lines[601:]]
    with Space(tmp_path / "again", learning=False) as again:
        with pytest.raises(ValueError, match="line 602 cannot be replayed"):
            events.import_events(again, broken)
        assert again.seq == 0 and not again.snapshot.collections
        events.import_events(again, lines)
        assert len(again.clicks("a", limit=10**6)) == len(busy.clicks("a", limit=10**6))


@pytest.mark.parametrize("n", [1, 150])
def test_an_imported_space_hands_out_no_id_of_a_removed_item(space, tmp_path, n):
    """Its clicks would count for the new one."""
    ids = list(range(10_000, 10_000 + n))
    space.add("a", np.zeros((n, D)), ids)
    space.feedback("a", 1, ids[-1], True)
    space.remove("a", ids[-1])
    with Space(tmp_path / "again", learning=False) as again:
        events.import_events(again, list(events.export_events(space)))
        for one in (space, again):
            one.add("a", np.ones((1, D)))
            assert one.collection("a").ids[-1] == 10_000 + n
