"""A space as simple as it can be, random operations on both, and what must be equal after each of them."""

import json
import shutil
from pathlib import Path

import numpy as np

from gramian.service import Space, archive, events
from gramian.service.errors import SpaceError
from tests.service import readers

WIDTH = 3
COLORS = ("red", "green", "blue")


class Model:
    """Items, clicks and metrics in dictionaries."""

    def __init__(self):
        self.seq = 0
        self.items = {}
        self.used = -1
        self.clicks = {}
        self.metrics = {0: np.eye(WIDTH)}
        self.active = 0

    def put(self, ids, X, metas):
        """Place items; None is the id after the largest one ever used."""
        free = max([self.used, *(i for i in ids if i is not None)])
        for number, x, meta in zip(ids, X, metas):
            free += number is None
            self.items[free if number is None else number] = (x, meta)
        self.used = max(self.used, free, *(i for i in ids if i is not None))
        self.seq += 1

    def live(self):
        """Clicks that count: query vector, item vector, liked."""
        for query, item, like, undone in self.clicks.values():
            known = isinstance(query, tuple) or query in self.items
            if not undone and known and item in self.items:
                yield np.array(query if isinstance(query, tuple) else self.items[query][0]), self.items[item][0], like

    def nearest(self, x, k, M, where=None, skip=None):
        """Ids and squared distances, by comparing with all items."""
        found = []
        for number, (y, meta) in self.items.items():
            if number != skip and all(meta.get(name) == value for name, value in (where or {}).items()):
                found.append((float((x - y) @ M @ (x - y)), number))
        return sorted(found)[:k]

    def learned(self):
        """The metric of the live clicks, by the formula on the page of the learner."""
        X = np.array([self.items[i][0] for i in sorted(self.items)])
        B = 2 * np.cov(X.T, bias=True).reshape(WIDTH, WIDTH)
        size = np.trace(B)
        ridged = B + 1e-5 * size / WIDTH * np.eye(WIDTH)
        V = {like: np.array([q - y for q, y, liked in self.live() if liked == like]) for like in (True, False)}
        S, D = (anchored(V[like].reshape(-1, WIDTH), ridged) for like in (True, False))
        D = 0.75 * D + 0.25 * ridged
        root = power(S, 0.5)
        M = power(S, -0.5) @ power(root @ D @ root, 0.5) @ power(S, -0.5)
        return M * size / (M * B).sum()


def anchored(V, B):
    S = V.T @ V / max(len(V), 1)
    S = S * np.trace(B) / np.trace(S) if np.trace(S) > 0 else B
    return (len(V) * S + 50 * B) / (len(V) + 50)


def power(M, p):
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 1e-30) ** p) @ vectors.T


class Play:
    """Random operations on a space in a folder and on the model; the trace says what was done."""

    def __init__(self, place, seed):
        self.place, self.rng = Path(place), np.random.default_rng(seed)
        self.model, self.trace, self.count = Model(), [], 0
        self.folder = self.place / "0"
        self.space = Space(self.folder, learning=False)
        self.space.create("a", WIDTH)
        self.model.seq = 1

    def step(self, name=None):
        """One operation, and what must hold at once after it."""
        name = name or str(self.rng.choice(list(WEIGHTS), p=np.array(list(WEIGHTS.values())) / sum(WEIGHTS.values())))
        self.trace.append(name)
        getattr(self, name)()
        assert self.space.seq == self.model.seq
        assert len(self.space.collection("a").ids) == len(self.model.items)

    def some(self, numbers, missing=0.1):
        """One of some numbers, or now and then one that is not there."""
        numbers = list(numbers)
        odd = not numbers or self.rng.random() < missing
        return int(self.rng.integers(10**6, 10**7)) if odd else int(self.rng.choice(numbers))

    def point(self):
        fine = self.rng.random() < 0.5
        return self.rng.standard_normal(WIDTH) if fine else self.rng.integers(-2, 3, WIDTH).astype(float)

    def refused(self, allowed, work):
        """Whether the space did what the model allows, and refused what it does not."""
        try:
            work()
        except SpaceError:
            assert not allowed
            return True
        assert allowed
        return False

    def put(self):
        n = int(self.rng.choice([1, 2, 5, 40]))
        pool = [None] * 3 + [*self.model.items][:50] + self.rng.integers(0, 400, 5).tolist()
        ids = [pool[i] for i in self.rng.choice(len(pool), n)]
        X, metas = np.array([self.point() for _ in ids]), [self.meta() for _ in ids]
        upsert = bool(self.rng.random() < 0.6)
        named = [i for i in ids if i is not None]
        allowed = len(set(named)) == len(named) and (upsert or not set(named) & set(self.model.items))
        if not self.refused(allowed, lambda: self.space.add("a", X, ids, meta=metas, upsert=upsert)):
            self.model.put(ids, X, metas)

    def put_free(self):
        """An item without an id."""
        x = self.point()
        self.space.add("a", x[None])
        self.model.put([None], [x], [{}])

    def remove_last(self):
        """The item with the largest id."""
        number = max(self.model.items)
        self.space.remove("a", number)
        del self.model.items[number]
        self.model.seq += 1

    def meta(self):
        if self.rng.random() < 0.2:
            return {}
        return {"color": str(self.rng.choice(COLORS)), "n": int(self.rng.integers(3))}

    def remove(self):
        number = self.some(self.model.items)
        if not self.refused(number in self.model.items, lambda: self.space.remove("a", number)):
            del self.model.items[number]
            self.model.seq += 1

    def click(self):
        item, like = self.some(self.model.items), bool(self.rng.integers(2))
        query = tuple(self.point().tolist()) if self.rng.random() < 0.3 else self.some(self.model.items)
        allowed = item in self.model.items and (isinstance(query, tuple) or query in self.model.items)
        said = list(query) if isinstance(query, tuple) else query
        if not self.refused(allowed, lambda: self.space.feedback("a", said, item, like)):
            self.model.seq += 1
            self.model.clicks[self.model.seq] = [query, item, like, None]

    def undo(self):
        seq = self.some(self.model.clicks)
        allowed = seq in self.model.clicks and self.model.clicks[seq][3] is None
        if not self.refused(allowed, lambda: self.space.undo("a", seq)):
            self.model.seq += 1
            self.model.clicks[seq][3] = self.model.seq

    def learn(self):
        n, spread = len(list(self.model.live())), {tuple(x) for x, _ in self.model.items.values()}
        allowed = n > 0 and len(spread) > 1
        if not self.refused(allowed, lambda: self.space.learn("a", "gmml")):
            self.model.seq += 1
            number = max(self.model.metrics) + 1
            version = self.space.collection("a").version(number)
            L = readers.gram(version.source)[1]["components"]
            expected = self.model.learned()
            assert version.events == n
            np.testing.assert_allclose(L.T @ L, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
            self.model.metrics[number] = L.T @ L

    def activate(self):
        number = self.some(self.model.metrics)
        if not self.refused(number in self.model.metrics, lambda: self.space.activate("a", number)):
            self.model.active = number
            self.model.seq += 1

    def query(self):
        number = self.some(self.model.metrics, missing=0)
        version = "active" if self.rng.random() < 0.5 else number
        M, k = self.model.metrics[self.model.active if version == "active" else number], int(self.rng.integers(1, 12))
        where = {"color": str(self.rng.choice(COLORS))} if self.rng.random() < 0.3 else None
        own = self.some(self.model.items) if self.rng.random() < 0.5 else None
        x = self.point() if own is None else self.model.items.get(own, [None])[0]
        asked = {"x": x} if own is None else {"id": own}
        found = []
        work = lambda: found.append(self.space.query("a", **asked, k=k, version=version, where=where))  # noqa: E731
        if self.refused(own is None or own in self.model.items, work):
            return
        expected = self.model.nearest(x, k, M, where, own)
        np.testing.assert_allclose(found[0]["sqdist"], [d for d, _ in expected], rtol=1e-9, atol=1e-9)
        for number, sqdist, meta in zip(found[0]["ids"], found[0]["sqdist"], found[0]["meta"]):
            y, said = self.model.items[number]
            assert meta == said and abs((x - y) @ M @ (x - y) - sqdist) <= 1e-9 * (1 + sqdist) and number != own
        assert len(set(found[0]["ids"])) == len(found[0]["ids"])
        if self.model.metrics[0] is M and float(np.abs(np.round(x) - x).max()) == 0:  # exact, so that ties are
            whole = [i for i in found[0]["ids"] if (np.round(self.model.items[i][0]) == self.model.items[i][0]).all()]
            assert whole == [i for _, i in expected if i in whole]

    def moved(self, make):
        """Go on in another folder, which ``make`` fills from this one."""
        self.count += 1
        target = self.place / str(self.count)
        make(target)
        self.space.close()
        shutil.rmtree(self.folder)
        self.folder, self.space = target, Space(target, learning=False)
        self.check()

    def kill(self):
        """As after a kill: the files as they are, without an end, while the writer is in the middle of a change."""
        self.moved(lambda target: self.space.transact(lambda draft: shutil.copytree(self.folder, target)))

    def backup(self):
        def make(target):
            archive.backup(self.folder, self.place / "copy.zip")
            archive.restore(self.place / "copy.zip", target)

        self.moved(make)

    def copy(self):
        """Every event into a new space."""

        def make(target):
            lines = json.loads(json.dumps(list(events.export_events(self.space))))
            with Space(target, learning=False) as other:
                events.import_events(other, lines)

        self.moved(make)

    def restart(self):
        self.space.close()
        self.read()
        self.space = Space(self.folder, learning=False)
        self.check()

    def compact(self):
        self.space.close()
        archive.compact(self.folder)
        self.read()
        self.space = Space(self.folder, learning=False)
        self.check()

    def check(self):
        """Everything that the space says of its items, clicks and versions."""
        view, model = self.space.collection("a"), self.model
        assert view.ids.tolist() == sorted(model.items) and view.active == model.active
        for number, (x, meta) in model.items.items():
            assert self.space.item("a", number) == {"id": number, "x": x.tolist(), "meta": meta}
        clicks = {c["seq"]: c for c in self.space.clicks("a", limit=10**6)}
        assert set(clicks) == set(model.clicks)
        for seq, (query, item, like, undone) in model.clicks.items():
            said = list(query) if isinstance(query, tuple) else query
            found = clicks[seq]
            assert (found["query"], found["item"], found["like"]) == (said, item, like)
            assert found["undone"] is (undone is not None)
        assert [event["seq"] for event in self.space.events(limit=10**6)] == list(range(1, model.seq + 1))
        for number, M in model.metrics.items():
            np.testing.assert_array_equal(view.version(number).metric.matrix, M)

    def read(self):
        """The same by another reader; the space is closed."""
        found, events = readers.space(self.folder)
        model = self.model
        assert len(events) == model.seq and found["a"]["active"] == model.active
        assert found["a"]["items"] == {i: (x.tolist(), meta) for i, (x, meta) in model.items.items()}
        said = found["a"]["clicks"].items()
        clicks = {seq: (query if isinstance(query, int) else tuple(query), *rest) for seq, (query, *rest) in said}
        assert clicks == {seq: tuple(click) for seq, click in model.clicks.items()}
        for number, L in found["a"]["metrics"].items():
            np.testing.assert_allclose(L.T @ L, model.metrics[number], rtol=1e-12)


WEIGHTS = {"put": 20, "remove": 12, "click": 20, "undo": 5, "learn": 2, "activate": 2, "query": 30}
WEIGHTS |= {"restart": 1, "compact": 1, "kill": 1, "backup": 0.5, "copy": 0.5}
"""Operations, and how often each comes."""
