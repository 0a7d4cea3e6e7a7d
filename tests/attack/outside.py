"""Good values for the modules around the mathematics: pictures, exports, blocks, the service, and other words for it.

What a call uses up (a name, a file, a click) is :class:`Made` anew for each of them. A space, and a server in front of
it, is opened once for all calls; a failed one may not change its number of events.
"""

import functools
import itertools
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from gramian.dask import ShardedIndex
from tests.beside.problems import InMemory

N, D = 24, 4
Y = np.arange(N) % 3
X = np.abs(np.random.default_rng(0).normal(size=(N, D)) + 3 * np.eye(3, D)[Y])
METRIC = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 3.0, 4.0]))
PAIRS = gm.Pairs.from_labels(Y, random_state=0)
FOLDER = Path(tempfile.mkdtemp())
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Made:
    """A value that is made anew for every call."""

    function: Callable[[], Any]


def place(ending: str = "") -> Made:
    """A path at which there is nothing."""
    return Made(lambda: FOLDER / f"new{next(_numbers)}{ending}")


@functools.cache
def space() -> Any:
    """A space of a collection with items and clicks."""
    opened = gm.service.Space(FOLDER / "space", learning=False)
    opened.create("a", D)
    opened.add("a", X, list(range(100, 100 + N)), meta=[{"color": "red"}] * N)
    for item in range(101, 113):
        opened.feedback("a", 100, item, bool(item % 3 == 0))
    opened.learn("a")
    return opened


@functools.cache
def client() -> Any:
    """A client of a server in this process."""
    import uvicorn

    from gramian.service.http import create_app

    server = uvicorn.Server(uvicorn.Config(create_app(space()), port=0, log_level="critical"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    return gm.service.Client(f"http://127.0.0.1:{port}")


@functools.cache
def sidecar() -> Any:
    """A sidecar of a database in memory."""
    return gm.beside.Sidecar(InMemory(X), FOLDER / "sidecar")


@functools.cache
def exported(target: str, ending: str) -> Any:
    """What an export wrote."""
    path = FOLDER / f"exported{ending}"
    made = getattr(gm.export, f"to_{target}")(METRIC, *([] if target == "npz" else [X]), path=path)
    del made
    return path


def new_item() -> int:
    """The id of an item that may be removed."""
    number = 10**6 + next(_numbers)
    space().add("a", X[:1], [number], upsert=True)
    return number


def new_click() -> int:
    """The event of a click that may be taken back."""
    return space().feedback("a", 101, 102, True)["seq"]


def new_search() -> str:
    """The query_id of a search that showed the first document."""
    return sidecar().search(X[0], 3).query_id


SERVICE = {
    "name": "a",
    "id": 103,
    "x": X[0],
    "X": X[:2],
    "item": 102,
    "query": 101,
    "like": True,
    "version": 1,
    "to": 0,
    "k": 3,
    "learner": None,
    "create.name": Made(lambda: f"c{next(_numbers)}"),
    "create.n_features": D,
    "remove.id": Made(new_item),
    "undo.seq": Made(new_click),
    "query.id": None,
    "query.version": "active",
    "transform.version": "active",
    "map.version": "active",
}
"""Words of a space and of its client."""
TUPLES = {
    "ITML": (X[np.stack([PAIRS.left, PAIRS.right], axis=1)], np.where(PAIRS.similar, 1, -1)),
    "LSML": (np.stack([X, X + 1, X + 2, X + 4], axis=1),),
    "SCML": (np.stack([X, X + 1, X + 3], axis=1),),
    "RCA": (X, np.arange(N) // 4),
}
TUPLES |= {"MMC": TUPLES["ITML"], "SDML": TUPLES["ITML"]}
"""What learners of metric-learn that take no labels are fit on."""
IMAGES = {"image_shape": (2, 2), "queries": X[:2], "query_labels": Y[:2]}
ROW = {"candidate": "RCA", "gain": 0.02, "gain_error": 0.01, "note": "chosen"}
HISTORY = {"event": [1, 2], "second": [0.1, 0.3], "loss": [1.0, 1.5], "recall_event": [2], "recall": [1.0]}
OWN: dict[str, Any] = {
    **{f"service.Space.{name}": value for name, value in SERVICE.items()},
    **{f"service.Client.{name}": value for name, value in SERVICE.items()},
    **{f"plotting.neighbors.{name}": value for name, value in IMAGES.items()},
    "service.Memory.space": Made(space),
    "service.Space.judge.queries": [100, 100],
    "service.Space.judge.items": [103, 104],
    "service.Space.judge.grades": [1.0, 0.0],
    "beside.Sidecar.engine": InMemory(X),
    "beside.Sidecar.space": place(),
    **{f"beside.Sidecar.{name}.query": Made(new_search) for name in ("useful", "not_useful", "clicked")},
    "item_id": 0,
    "beside.Sidecar.undo.click": Made(lambda: sidecar().useful(new_search(), 0)),
    "service.Space.folder": place(),
    "service.Space.learning": False,
    "service.Space.learner": "gmml",
    "service.Space.listen.listener": lambda seq: None,
    "service.Client.request.method": "GET",
    "service.Client.request.path": "/v1/collections",
    "plotting.cluster_means.labels": np.c_[Y, Y[::-1]],
    "plotting.cluster_means.image_shape": (2, 2),
    "plotting.clusterings.labels": np.c_[Y, Y[::-1]],
    "plotting.curves.series": {"a": ([1, 2], [3, 4])},
    "plotting.curves.xlabel": "x",
    "plotting.curves.ylabel": "y",
    "plotting.distance_field.center": X[0, :2],
    "plotting.distance_field.metric": gm.Mahalanobis.euclidean(2),
    "plotting.distance_field.X": X[:, :2],
    "plotting.embedding.Z": X[:, :2],
    "plotting.gains.report": [ROW],
    "plotting.images.rows": [[X[0], X[1]], [X[2], X[3]]],
    "plotting.images.image_shape": (2, 2),
    "plotting.margins.constraints": PAIRS,
    "plotting.scores.results": {"a": [0.5, 0.7]},
    "plotting.shares.explanation": {"a": 1.0, "b": 2.0},
    "plotting.stream.history": HISTORY,
    "dask.fit.client": None,
    "dask.fit.learner": Made(gm.RCA),
    "dask.transform.client": None,
    "dask.ShardedIndex.client": None,
    "dask.ShardedIndex.kind": gm.ExactIndex,
    "dask.ShardedIndex.n_shards": 2,
    "dask.ShardedIndex.open.client": None,
    "dask.ShardedIndex.open.folder": Made(lambda: sharded()),
    "coordinates.Angles.center": np.zeros(D),
    "coordinates.Angles.factor": np.eye(D),
    "coordinates.Subspace.basis": np.eye(D)[:, :2],
    "coordinates.KernelSpace.features": gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X),
    "coordinates.BesideFeatures.features": gm.KernelFeatures(gm.Linear(), rank=3).fit(X),
    "coordinates.orthonormal.basis": np.eye(D)[:, :2],
    "coordinates.Plain.d": D,
    "coordinates.UnitRows.d": D,
    "owner": "Owner",
    "export.check.target": "npz",
    "export.check.path": Made(lambda: exported("npz", ".npz")),
    "export.to_qdrant.X": X,
    "export.to_pgvector.X": X,
    "export.fill.index": Made(lambda: gm.ExactIndex(METRIC)),
    "export.fill.blocks": [(np.arange(N), X)],
    "compat.metric_learn.Constraints.partial_labels": Y,
    "compat.metric_learn.RCA_Supervised.n_chunks": 6,
    "compat.metric_learn.SCML.output_iter": 5,
    "compat.metric_learn.SCML_Supervised.output_iter": 5,
    "compat.metric_learn.SDML.balance_param": 1e-5,
    "compat.metric_learn.SDML_Supervised.balance_param": 1e-5,
    "pairs_valid": TUPLES["ITML"][0],
    "y_valid": TUPLES["ITML"][1],
    "quadruplets": TUPLES["LSML"][0],
    "triplets": TUPLES["SCML"][0],
    "chunks": TUPLES["RCA"][1],
    **{f"compat.metric_learn.{name}.pairs": TUPLES["ITML"][0] for name in ("ITML", "MMC", "SDML")},
    **{f"compat.metric_learn.{name}.y": TUPLES["ITML"][1] for name in ("ITML", "MMC", "SDML")},
    "n_constraints": 10,
    "export.from_faiss.path": Made(lambda: exported("faiss", ".faiss")),
    "export.from_parquet.path": Made(lambda: exported("parquet", ".parquet")),
    "export.from_qdrant.path": Made(lambda: exported("qdrant", ".qdrant")),
    "export.from_hnswlib.path": Made(lambda: exported("hnswlib", ".hnsw")) if find_spec("hnswlib") else place(),
    "export.from_lancedb.path": Made(lambda: exported("lancedb", "")) if find_spec("lancedb") else place(),
    "export.from_pgvector.path": place(),
    "export.from_hnswlib.dim": D,
    **{
        f"export.to_{name}.path": place(ending)
        for name, ending in {
            "chroma": "",
            "duckdb": ".duckdb",
            "elasticsearch": ".ndjson",
            "lancedb": "",
            "milvus": ".db",
            "npz": ".npz",
            "onnx": ".onnx",
            "opensearch": ".ndjson",
            "parquet": ".parquet",
            "pgvector": ".sql",
            "qdrant": "",
            "sentence_transformers": "",
            "sklearn": ".pkl",
            "torch": ".pt",
            "usearch": ".usearch",
            "weaviate": ".ndjson",
        }.items()
    },
}
"""Good values by callable, as in ``callables.OWN``."""


@functools.cache
def sharded() -> Path:
    """The folder of an index in shards."""
    ShardedIndex(None, METRIC, gm.ExactIndex, n_shards=2).add(X).save(FOLDER / "shards")
    return FOLDER / "shards"
