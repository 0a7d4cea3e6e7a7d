"""Processes to be killed: each line "folder seed" on standard input forks one that works in a space until it dies.

The line "sync" is answered once everything before it was written.
A victim writes one line of JSON for each thing it was promised, after the promise: its kind and the numbers that came
back. It begins where the space stands.
"""

import itertools
import json
import os
import signal
import sys
import threading
import time

import numpy as np

from gramian.service import Space

WIDTH = 4


def work(folder, seed):
    space = Space(folder)
    if "a" not in space.snapshot.collections:
        space.create("a", WIDTH)
    say({"did": "open", "seq": space.seq})
    threads = [threading.Thread(target=teach, args=(space, seed + i)) for i in range(3)]
    threads.append(threading.Thread(target=fill, args=(space, seed)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def say(what):
    os.write(1, json.dumps(what).encode() + b"\n")  # at once, so that a kill tears no line


def fill(space, seed):
    """Batches of three items whose ids belong together, some of them removed again."""
    rng = np.random.default_rng(seed)
    for _ in itertools.count():
        base = int(rng.integers(1, 10**9)) * 10
        ids = [base, base + 1, base + 2]
        large = rng.random() < 0.1
        X = rng.standard_normal((3, WIDTH)) if not large else rng.standard_normal((50_000, WIDTH))
        numbers = ids if not large else [10**12 + int(rng.integers(10**12)) * 10**5 + i for i in range(50_000)]
        done = space.add("a", X, numbers)
        say({"did": "add", "ids": numbers[:3], "x": X[:3].tolist(), "n": len(numbers), "seq": done["seq"]})
        if not large and rng.random() < 0.2:
            say({"did": "remove", "id": base, "seq": space.remove("a", base)["seq"]})


def teach(space, seed):
    rng = np.random.default_rng(seed)
    for _ in itertools.count():
        ids = space.collection("a").ids
        if len(ids) < 2:
            time.sleep(0.005)
            continue
        query, item = rng.choice(ids[:50], 2).tolist()
        try:
            done = space.feedback("a", query, item, bool(rng.integers(2)), user=str(seed))
        except ValueError:  # the item was removed in between
            continue
        say({"did": "click", "query": query, "item": item, "seq": done["seq"]})
        if rng.random() < 0.1:
            say({"did": "undo", "of": done["seq"], "seq": space.undo("a", done["seq"])["seq"]})


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if line == "sync\n":
            say({"sync": True})
            continue
        folder, seed = line.split()
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            work(folder, int(seed))
            os._exit(0)
        say({"pid": child})


if __name__ == "__main__":
    main()
