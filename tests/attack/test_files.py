"""Files that somebody made: whole by their checksums, with numbers that do not belong together.

Each is refused, or gives a value that is what it says: an index whose answers are those of its own items under its own
metric, a metric with finite distances.
"""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import gramian as gm
from gramian import persist
from gramian.search import Index

N, D = 60, 3
X = np.random.default_rng(0).normal(size=(N, D))
Q = X[:7] + 0.1
FEATURES = gm.KernelFeatures(gm.Gaussian(2.0), rank=6).fit(X)
KERNEL = gm.KernelMetric(FEATURES, np.diag(np.linspace(1, 2, 6)), alpha=0.5)
SLANTED = gm.Mahalanobis(np.random.default_rng(1).normal(size=(2, D)))
VALUES = {
    "exact": lambda: gm.ExactIndex(SLANTED).add(X),
    "hash": lambda: gm.HashIndex(SLANTED, 128, recall=1 - 1e-9, random_state=0).add(X),
    "products": lambda: gm.HashIndex(SLANTED, 128, estimate="products", recall=1 - 1e-9, random_state=0).add(X),
    "bytes": lambda: gm.HashIndex(SLANTED, 64, store="int8", recall=1 - 1e-9, random_state=0).add(X),
    "kernel": lambda: gm.KernelHashIndex(KERNEL, 64, recall=1 - 1e-9, random_state=0).add(X),
    "online": lambda: gm.OnlineHashIndex(gm.LEGO(), 64, random_state=0).add(X).learn_one(X[0], X[1], 0.1),
    "metric": lambda: SLANTED,
    "subspace": lambda: gm.SubspaceMahalanobis(np.linalg.qr(X[:3].T)[0][:, :2], np.eye(2), alpha=0.5),
    "kernel metric": lambda: KERNEL,
    "learner": lambda: gm.LEGO(eta=0.1).learn_one(X[0], X[1], 0.1),
    "kernel value": lambda: 2.0 * gm.Gaussian(2.0) + gm.Linear() * gm.Polynomial(2),
}


def _poked(value):
    def poke(array):
        array = array.copy()
        if array.size and array.dtype.kind == "f":
            array.flat[array.size // 2] = value
        return array

    return poke


def _turned(array):
    return np.ascontiguousarray(array[::-1])


ARRAYS = {
    "backwards": _turned,
    "rolled": lambda a: np.roll(a, 1, axis=0),
    "first row twice": lambda a: np.concatenate([a[:1], a[:-1]]) if a.ndim else a,
    "one row less": lambda a: a[:-1],
    "one row more": lambda a: np.concatenate([a, a[-1:]]),
    "no rows": lambda a: a[:0],
    "one column less": lambda a: np.ascontiguousarray(a[..., :-1]),
    "one axis more": lambda a: a[..., None],
    "other numbers": lambda a: a.astype(np.float32) if a.dtype == np.float64 else a.astype(np.float64),
    "zeros": np.zeros_like,
    "NaN": _poked(np.nan),
    "infinity": _poked(np.inf),
    "huge": _poked(1e200),
    "complex": lambda a: a + 0j if a.dtype.kind == "f" else a,
    "text": lambda a: a.astype(str),
}
SETTINGS = ("epsilon", "recall", "searcher")
"""Words of an index that ask for other answers."""
SCALARS = [-1, 0, 1, 7, 10**6, 2**62, 10**30, 0.5, float("nan"), float("inf"), "word", None, True, [], [1, 2], {}]


def parts_of(path):
    """Header and arrays of a file."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = {name.removesuffix(".npy"): np.lib.format.read_array(archive.open(name)) for name in names}
        return json.loads(archive.read("header.json")), arrays


def written(path, header, arrays):
    with open(path, "wb") as stream:
        persist._write(stream, json.dumps(header), arrays)
    return path


def leaves(node, path=()):
    """Paths to the plain numbers, words and flags of a header."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for key, value in enumerate(node):
            yield from leaves(value, (*path, key))
    elif path[-1] not in ("array", "kind", "format", "version", *SETTINGS) and path[0] == "value":
        yield path


def changed(header, path, value):
    header = json.loads(json.dumps(header))
    node = header
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return header


def crafted(path):
    """Names of changes, each with the header and the arrays that it leads to."""
    header, arrays = parts_of(path)
    for name in arrays:
        for how, change in ARRAYS.items():
            yield f"{name} {how}", header, {**arrays, name: change(arrays[name])}
    names = list(arrays)
    for one, other in zip(names, names[1:]):
        yield f"{one} and {other} swapped", header, {**arrays, one: arrays[other], other: arrays[one]}
    for where in leaves(header):
        for value in SCALARS:
            yield f"{'.'.join(map(str, where[1:]))} = {value!r}", changed(header, where, value), arrays


def coherent(value):
    """Whether a loaded value is what it says."""
    if isinstance(value, Index):
        if len(value) == 0 or value.metric.n_features not in (D, None):
            return True  # an index of nothing, or of other points
        points = np.asarray(value.points, dtype=float)
        true = np.sort(value.metric.sqdist(Q, points), axis=1)
        ids, sqdist = value.query(Q, k=5)
        own = np.searchsorted(value.ids, ids)
        again = np.take_along_axis(value.metric.sqdist(Q, points), own, axis=1)
        close = {"rtol": 1e-6, "atol": 1e-6 * max(float(true.max()), 1e-300)}
        return np.allclose(sqdist, true[:, : sqdist.shape[1]], **close) and np.allclose(sqdist, again, **close)
    if hasattr(value, "metric_"):
        value = value.metric_
    if isinstance(value, gm.metrics.Metric):
        return value.n_features != D or bool(np.isfinite(value.sqdist(Q, X)).all())
    try:
        return bool(np.isfinite(value(Q, X)).all())
    except ValueError as error:  # a kernel too steep for these points says so
        return str(error).split(":")[0].isidentifier()


def complaint(path, header, arrays, mmap):
    try:
        value = gm.load(written(path, header, arrays), mmap=mmap)
    except persist.PersistError:
        return None
    except Exception as error:
        return f"load: {type(error).__name__}: {error}"
    try:
        return None if coherent(value) else "is not what it says"
    except Exception as error:
        return f"loads and then {type(error).__name__}: {str(error):.100}"


def attack(folder, kind, every=1, mmap=False):
    path = folder / "good.gram"
    gm.save(VALUES[kind](), path)
    with np.errstate(all="ignore"):
        found = {
            name: complaint(folder / "bad.gram", header, arrays, mmap)
            for number, (name, header, arrays) in enumerate(crafted(path))
            if number % every == 0
        }
    return [f"{kind}, {name}: {text}" for name, text in found.items() if text], len(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", VALUES)
def test_crafted_files_are_refused_or_are_what_they_say(kind, tmp_path):
    wrong, tried = attack(tmp_path, kind, every=3)
    assert tried > 10 and not wrong, "\n".join(wrong)


def test_points_that_are_stored_as_text_are_refused(tmp_path):
    """The door takes text that says numbers; compiled loops do not."""
    gm.save(VALUES["hash"](), tmp_path / "good.gram")
    header, arrays = parts_of(tmp_path / "good.gram")
    name = header["value"]["state"]["dict"]["columns"]["dict"]["points"]["array"]
    with pytest.raises(persist.PersistError, match="points are not stored as numbers"):
        gm.load(written(tmp_path / "bad.gram", header, {**arrays, name: arrays[name].astype(str)}))


def test_a_basis_that_is_stored_as_text_is_refused(tmp_path):
    gm.save(VALUES["kernel metric"](), tmp_path / "good.gram")
    header, arrays = parts_of(tmp_path / "good.gram")
    name = header["value"]["state"]["dict"]["coordinates"]["state"]["dict"]["features"]["state"]["dict"]["basis_"][
        "array"
    ]
    with pytest.raises(persist.PersistError, match="basis is not stored as numbers"):
        gm.load(written(tmp_path / "bad.gram", header, {**arrays, name: arrays[name].astype(str)}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", VALUES)
def test_all_crafted_files(kind, tmp_path, mmap):
    wrong, _ = attack(tmp_path, kind, mmap=mmap)
    assert not wrong, "\n".join(wrong)


BOMB = """
import resource, sys
import gramian as gm
gm.load(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    value = gm.load(sys.argv[2])
except ValueError as error:
    print("refused:", error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def peak_of(good, bad):
    """Megabytes that the second file takes beyond the first, and what was said."""
    done = subprocess.run([sys.executable, "-c", BOMB, str(good), str(bad)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *said, megabytes = done.stdout.splitlines()
    return int(megabytes), " ".join(said)


def test_a_small_file_takes_little_memory(tmp_path):
    """A learner that claims 20,000 features, and an array that is named three hundred times."""
    good, bad = tmp_path / "good.gram", tmp_path / "bad.gram"
    gm.save(VALUES["learner"](), good)
    header, arrays = parts_of(good)
    wide = changed(header, ("value", "state", "dict", "features"), 20_000)
    megabytes, said = peak_of(good, written(bad, wide, arrays))
    assert megabytes < 100 and "refused" in said
    gm.save(SLANTED, tmp_path / "metric.gram")
    header, arrays = parts_of(tmp_path / "metric.gram")
    arrays["array0"] = np.zeros((1000, 1000))
    header["value"]["state"]["dict"]["components"] = [{"array": "array0"}] * 300
    megabytes, said = peak_of(good, written(bad, header, arrays))
    assert megabytes < 100 and "refused" in said
