"""What is done while the calls to the system are recorded: ``python -m tests.service.recorded WHAT FOLDER``.

Each promise is said after it was given, one line of JSON each, as ``victims`` says it.
"""

import json
import sys
from pathlib import Path

import numpy as np

import gramian as gm
from gramian.service import Space, archive, changes, learning, store, upkeep
from gramian.service.stream import Stream
from gramian.service.vectors import make_folder
from tests.service.victims import WIDTH, say


def small():
    """Limits that few items reach, so that everything happens in a short while."""
    upkeep.SETTLE_BYTES, upkeep.PAUSE = 600, 0.001
    changes.LARGE_BATCH, store.CHECKPOINT_PAGES = 2000, 4
    learning.FIRST, learning.REST = 6, 0


def running(folder, rounds=12, seed=0):
    """A life of a space: batches in files and in the log, clicks, undo, removal, versions, a restart."""
    small()
    rng = np.random.default_rng(seed)
    for half in range(2):
        with Space(folder) as space:
            space.create("a", WIDTH)
            say({"did": "open", "seq": space.seq})
            for number in range(rounds):
                one_round(space, rng, 1000 * (rounds * half + number))


def one_round(space, rng, base):
    n = 3 if rng.random() < 0.7 else 90
    ids, X = [10 * base + i for i in range(n)], rng.standard_normal((n, WIDTH))
    done = space.add("a", X, ids)
    say({"did": "add", "ids": ids[:3], "x": X[:3].tolist(), "n": n, "seq": done["seq"]})
    for like in (True, False):
        query, item = rng.choice(space.collection("a").ids, 2).tolist()
        done = space.feedback("a", query, item, like)
        say({"did": "click", "query": query, "item": item, "seq": done["seq"]})
    if rng.random() < 0.3:
        say({"did": "undo", "of": done["seq"], "seq": space.undo("a", done["seq"])["seq"]})
    if n == 3 and rng.random() < 0.3:
        say({"did": "remove", "id": ids[0], "seq": space.remove("a", ids[0])["seq"]})


def compacting(folder):
    running(folder, 5)
    archive.compact(folder)
    say({"did": "compact"})


def restoring(folder):
    """What is restored was made elsewhere, beside the folder."""
    archive.restore(folder.parents[1] / "copy.zip", folder)
    say({"did": "restore"})


def saving(folder):
    """One file, written again and again."""
    make_folder(folder)
    for number in range(6):
        gm.save(gm.Mahalanobis(np.full((2 + 40 * number, 3), float(number))), folder / "metric.gram")
        say({"did": "save", "number": number})


def streaming(folder):
    """A stream with snapshots of its index."""
    stream, rng = Stream(folder, snapshot_every=9), np.random.default_rng(0)
    for number in range(40):
        x = rng.standard_normal(WIDTH).tolist()
        event = {"op": "add", "id": number, "x": x} if number % 2 else {"op": "learn", "u": x, "v": x, "target": 1.0}
        stream.answer(json.dumps(event))
        if number % 3 == 0:
            stream.commit()
            say({"did": "event", "seq": stream.seq})
    stream.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
