"""Every public callable with one good call, found by walking the public modules.

A call is a function of keyword arguments with a value for each. Values come from the name of the argument; where a name
means something else somewhere, ``OWN`` says what. Whatever has no good call fails the guard in ``test_callables``.
"""

import copy
import functools
import inspect
import os
import pathlib
import pkgutil
import sys
import tempfile
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import gramian as gm
from gramian import _registry
from gramian.beside import Sidecar
from gramian.constraints import Constraints
from gramian.coordinates import Coordinates, LinearProbabilities, Plain
from gramian.dask import ShardedIndex
from gramian.kernels import Kernel
from gramian.learners.base import Learner
from gramian.learners.tuples import TupleMixin
from gramian.metrics import Metric
from gramian.search import Index
from gramian.service import Client, Space
from tests.attack import outside
from tests.attack.outside import METRIC, PAIRS, D, Made, N, X, Y

ADJACENCY = np.asarray(gm.manifold.NeighborGraph(5)(X).todense(), dtype=float)
FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "metric.gram")
gm.save(METRIC, FILE)
TABLE = pathlib.Path(FOLDER) / "table.csv"
TABLE.write_text("a,b\n1,2\n3,4\n")

NOT_WALKED = {
    "linalg": "takes arrays that were checked",
    "neighbors": "takes arrays that were checked",
    "lower_bounds": "takes arrays that were checked",
    "cli": "test_command_line asks it",
}
"""Public modules that are not walked, and why."""
AROUND = ("plotting", "export", "dask", "service", "compat.metric_learn", "coordinates", "beside")
"""Modules whose names say where they are from: their words mean other things elsewhere."""
NO_CALL = {
    "Terms": "made by constraints",
    "Metric": "made by its words",
    "answer": "of a question that was checked",
    "Labels": "made at the door",
    "Mixed": "the sum of constraints",
    "Problem": "made by learners, of arrays that were checked",
    "Rows": "made by learners",
    "Stacked": "made by learners",
    "Result": "words of solvers",
    "ended": "asked by solvers",
    "Solution": "made by solvers",
    "rows_of": "of constraints that were checked",
    "PivotedCholesky": "what a function returns",
    "Dataset": "what a function returns",
    "RankResult": "what a function returns",
    "RectangularResult": "what a function returns",
    "Match": "what a function returns",
    "Selection": "what a function returns",
    "export.Report": "what a function returns",
    "beside.Answer": "what a search returns",
    "beside.Hit": "what an engine returns",
    "beside.Qdrant": "of a database, which tests/beside/test_engines.py brings",
    "beside.Postgres": "of a database, which tests/beside/test_engines.py brings",
    "beside.Chroma": "of a database, which tests/beside/test_engines.py brings",
    "coordinates.Rest": "made by learners",
    "coordinates.ForestProbabilities": "what a function returns",
    "coordinates.HeldProbabilities": "what a function returns",
    "coordinates.LinearProbabilities": "what a function returns",
    "coordinates.KernelProbabilities": "made by a fit",
    "coordinates.Hellinger": "made by a fit",
    "coordinates.probabilities": "of a classifier that was checked",
    "dask.ClusterError": "an error",
    "ByGeodesics": "made by a fit",
    "AlongGraph": "made by a fit",
    "GraphMetric": "made by a fit",
    "Atom": "what an oracle returns",
    "LowRank": "what a method returns",
    "InfeasibleError": "an error",
    "PersistError": "an error",
    "replacing": "a context",
    "Stored": "a mixin",
    "LegoRule": "a rule behind a learner",
    "PolaRule": "a rule behind a learner",
    "OnlineITMLRule": "a rule behind a learner",
    "VonNeumannRule": "a rule behind a learner",
    "Measurements": "made of checked matrices",
    "Weighted": "made by align",
    "Column": "made by a table",
    "Table": "what a function returns",
    "TableError": "an error",
    "largest_drop": "of the points of a clustering",
    "parting": "of the points of a clustering",
    "loss_bound": "of the numbers of a learner",
    "solve_rectangular": "tests/rankmin asks it",
    "Burg": "settings of a method",
    "Projection": "settings of a method",
    "Game": "settings of a method",
    "Descent": "settings of a method",
}
"""Names without a call of their own, and why."""
INSIDE = {
    *("accept", "as_logdet", "blocks", "check", "cost", "coordinates_of", "embed", "bound", "learn", "members"),
    *("of", "pair_sqdist_of", "placed", "plain", "solve", "sqdist_of", "terms", "transform_of", "values", "sizes"),
    "view_of",
    *(
        "filled",
        "softened",
        "scaled",
        "apart",
        "moments",
        "centered",
        "means",
        "check_trivial",
        "upkeep",
        "listed_sqdist",
    ),
    *("start", "starts", "squared", "counts", "link", "with_bounds", "weighted", "matrix", "loss_bound"),
}
"""Methods for the package itself: they take what was checked."""
PLUMBING = {name for name in dir(BaseEstimator) if not name.startswith("__")} | {
    *("get_feature_names_out", "set_output", "set_score_request", "set_fit_request", "set_transform_request"),
    *("set_predict_request", "set_partial_fit_request", "save", "inverse_transform", "fit_transform"),
}
"""Methods of scikit-learn, and those that write."""


def distance_of_any(a, b):
    """A distance that never fails, so that what fails is ours."""
    try:
        return float(np.nan_to_num(np.linalg.norm(np.asarray(a, dtype=float) - np.asarray(b, dtype=float))))
    except (TypeError, ValueError):
        return float(str(a) != str(b))


GOOD: dict[str, Any] = {
    "A": ADJACENCY,
    "M": np.eye(D),
    "Q": X,
    "X": X,
    "Y": X,
    "components": np.eye(D),
    "d": 3,
    "distance": distance_of_any,
    "found": Y,
    "function": lambda a, b: float(np.dot(a, b)),
    "ids": None,
    "k": 3,
    "kernel": gm.Gaussian(2.0),
    "kernels": [gm.Gaussian(1.0), gm.Linear()],
    "left": PAIRS.left,
    "m": 5,
    "matrix": np.eye(3),
    "metric": METRIC,
    "n": 40,
    "n_features": D,
    "obj": METRIC,
    "path": FILE,
    "r": 1.5,
    "relevant": [[True, False], [True, True]],
    "right": PAIRS.right,
    "similar": PAIRS.similar,
    "truth": Y,
    "u": X[0],
    "v": X[1],
    "y": Y,
    "random_state": 0,
    "max_iter": 5,
    "n_init": 2,
    "callback": None,
}
"""A good value for each name of an argument that has no default, or one that keeps calls short."""
GIVEN = ("random_state", "max_iter", "n_init", "y")
"""Arguments that are given though they have a default."""
FIRST = ("Mahalanobis", "Gaussian", "ExactIndex", "ITML")
"""Classes of which inherited methods are asked."""
OWN: dict[str, Any] = {
    "view.points": X,
    **outside.OWN,
    "anchor": np.array([0, 1]),
    "near": np.array([3, 4]),
    "far": np.array([1, 2]),
    "Bhattacharyya.classifier": LinearProbabilities(np.eye(2, D), np.zeros(2), np.arange(2)),
    "Chunklets.ids": np.where(np.arange(N) < 12, np.arange(N) // 2, -1),
    "Feedback.query": 0,
    "Feedback.liked": [1, 2],
    "Kernelized.learner": gm.RCA(),
    "Kernelized.rank": 5,
    "TupleClassifier.learner": gm.ITML(),
    "TupleClassifier.fit.X": X[np.stack([PAIRS.left, PAIRS.right], axis=1)],
    "TupleClassifier.decision_function.X": X[np.stack([PAIRS.left, PAIRS.right], axis=1)],
    "TupleClassifier.predict.X": X[np.stack([PAIRS.left, PAIRS.right], axis=1)],
    "TupleClassifier.score.X": X[np.stack([PAIRS.left, PAIRS.right], axis=1)],
    "TupleClassifier.fit.y": np.where(PAIRS.similar, 1, -1),
    "TupleClassifier.score.y": np.where(PAIRS.similar, 1, -1),
    "Hinge.weight": 1.0,
    "Metric.coordinates": Plain(D),
    "Metric.components": np.eye(D),
    "KernelMetric.features": gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X),
    "KernelMetric.core": np.eye(5),
    "LinearFrobenius.linear": np.eye(D),
    "LinearLogDet.linear": np.eye(D),
    "OnlineHashIndex.learner": gm.LEGO(),
    "Chunklets.from_pairs.pairs": PAIRS,
    "Pairs.from_targets.Y": X[:, 0],
    "Triplets.from_targets.Y": X[:, 0],
    "Pairs.from_tuples.pairs": X[np.stack([PAIRS.left, PAIRS.right], axis=1)],
    "Triplets.from_tuples.tuples": np.stack([X, X + 1, X + 2], axis=1),
    "Quadruplets.from_tuples.tuples": np.stack([X, X + 1, X + 2, X + 3], axis=1),
    "Precomputed.matrix": np.eye(N),
    "Probabilities.point": np.array([0, 1]),
    "Probabilities.target": np.array([0, 1]),
    "Probabilities.codes": Y,
    "ProximityDistribution.n_words": 3,
    "Spectral.f": lambda x: x * np.log(x) - x,
    "Spectral.derivative": np.log,
    "Convex.loss": lambda v: v**2 / 2,
    "Convex.derivative": lambda v: v,
    "SubsetDistance.distance": gm.Gaussian(2.0),
    "SubspaceMahalanobis.basis": np.eye(D)[:, :2],
    "SubspaceMahalanobis.core": np.eye(2),
    "Quadruplets.near_left": [0, 1],
    "Quadruplets.near_right": [3, 4],
    "Quadruplets.far_left": [0, 1],
    "Quadruplets.far_right": [4, 5],
    "BallGraph.radius": 3.0,
    "ByWeights.n_neighbors": 3,
    "load.name": "iris",
    "recall_at_k.found": [[0, 1], [2, 3]],
    "recall_at_k.true": [[0, 1], [2, 4]],
    "recall_at_k.k": 2,
    "precision_at_k.k": 2,
    "relevance.ids": [[0, 1], [2, 3]],
    "relevance.index_ids": np.arange(N),
    "relevance.y_query": [0, 1],
    "knn_classify.index": gm.ExactIndex(METRIC).add(X),
    "knn_proba.index": gm.ExactIndex(METRIC).add(X),
    "knn_regress.index": gm.ExactIndex(METRIC).add(X),
    "stretched.d": 3,
    "two_views.d": 3,
    "two_views.n_clusters": 2,
    "select_clusterings.n_clusters": (2, 2),
    "select_subset.K": X @ X.T + np.eye(N),
    "redundancy.found": np.c_[Y, Y[::-1]],
    "table.found": np.c_[Y, Y[::-1]],
    "table.truth": np.c_[Y, Y[::-1]],
    "match.found": np.c_[Y, Y[::-1]],
    "match.truth": np.c_[Y, Y[::-1]],
    "largest_drop.values": [3.0, 2.0, 0.5],
    "parting.labels": Y,
    "solve_rectangular.A": [np.ones((2, 3)), np.eye(2, 3)],
    "solve_rectangular.b": [1.0, 0.5],
    "solve.A": [np.eye(3), np.ones((3, 3))],
    "solve.b": [1.0, 0.5],
    "learn_one.target": 1.0,
    "learn_similarity.target": 1.0,
    "learn_comparison.anchor": X[0],
    "learn_comparison.near": X[1],
    "learn_comparison.far": X[2],
    "feedback.query": X[0],
    "feedback.liked": X[1:3],
    "feedback.disliked": X[3:4],
    "remove.ids": [1, 2],
    "explain.q": X[0],
    "explain.item": 3,
    "explain.x": X[0],
    "explain.y": X[1],
    "predict_proba.X": X,
    "query_batches.batches": [X[:2], X[2:4]],
    "violation.metric": METRIC,
    "pairs.metric": METRIC,
    "scaled_gaussians.n_features": D,
    "loss_bound.learner": gm.LEGO().fit(X, Y),
    "loss_bound.metric": METRIC,
    "euclidean.d": D,
    "with_names.feature_names": [f"column {j}" for j in range(D)],
    "read.path": TABLE,
    "read_columns.path": TABLE,
    "Ellipsoid.P": np.eye(3),
    "pairs": X[np.stack([PAIRS.left, PAIRS.right], axis=1)][:20],
    "calibrate_threshold.y": np.where(PAIRS.similar, 1, -1)[:20],
    "threshold": 1.0,
    "comparator": METRIC,
    "lam": np.ones(1),
    "describe.path": FILE,
    "load.path": FILE,
    "save.path": os.path.join(FOLDER, "again.gram"),
    "save.obj": METRIC,
    "service.Client.export.path": os.path.join(FOLDER, "version.gram"),
    "service.Client.search.text": "one",
    "service.Client.search.version": "active",
}
"""Good values of one callable: ``Class.argument``, ``Class.method.argument``, ``function.argument``."""
SHARED = {"service.Space": outside.space, "service.Client": outside.client, "beside.Sidecar": outside.sidecar}
"""What is opened once for all calls, and not copied."""
NOT_ASKED = {
    "beside.Sidecar.search": "hands what it cannot use to the database, as tests/beside/test_failures.py has it",
    "service.Client.encode": "asks for an encoder",
    "service.Client.events": "a stream without an end",
    "SubsetDistance.add": "needs a distance, which tests/approximation/test_subset.py brings",
    "service.Space.submit": "takes a change of the package",
    "service.Space.transact": "takes a change of the package",
    "service.Space.attend": "takes a piece of work of the package",
    "service.Space.encode": "needs an encoder, which tests/service/test_models.py brings",
    "service.Space.use_encoder": "needs an encoder, which tests/service/test_models.py brings",
    "dask.ShardedIndex.add_parts": "takes parts that were read",
}
"""Methods that are not asked, and why."""


@dataclass(frozen=True)
class Call:
    """A function with good values for its arguments; ``owner`` is the instance of a method."""

    name: str
    function: Any
    values: dict[str, Any]
    owner: Any = None

    def fresh(self) -> tuple[Any, dict[str, Any]]:
        """A copy of the owner, and copies of the arguments."""
        owner = self.owner
        if not isinstance(owner, Space | Client | Sidecar):
            owner = copy.copy(owner) if isinstance(owner, ShardedIndex) else copy.deepcopy(owner)
        return owner, {name: _copied(value) for name, value in self.values.items()}

    def run(self, owner: Any, values: dict[str, Any]) -> Any:
        """Call, and for estimators fit, so that what a constructor only stored is looked at."""
        if owner is not None:
            return _consumed(getattr(owner, self.function)(**values))
        made = _consumed(self.function(**values))
        return made.fit(*_training(self.name)) if isinstance(made, BaseEstimator) else made

    @property
    def asked(self) -> list[str]:
        """The arguments that a caller gives; what the package says about itself is right."""
        ours = ("owner", "name", "min_points") if self.name.startswith("coordinates.") else ()
        return [name for name in self.values if name not in ours]

    @property
    def borrows(self) -> bool:
        """Whether its sentences are those of another package."""
        return self.name.startswith("compat.")


def _consumed(result: Any) -> Any:
    """What came back, iterators run to their end, pictures and spaces closed."""
    if isinstance(result, Space | Sidecar):
        result.close()
    if isinstance(result, Future):
        return result.result()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    return list(result) if inspect.isgenerator(result) else result


def _copied(value: Any) -> Any:
    if isinstance(value, Made):
        return value.function()
    return copy.deepcopy(value) if isinstance(value, np.ndarray | list | dict) else value


def _training(name: str) -> tuple:
    if name == "TupleClassifier":
        return OWN["TupleClassifier.fit.X"].copy(), OWN["TupleClassifier.fit.y"].copy()
    home, _, last = name.rpartition(".")
    if home == "compat.metric_learn" and last in outside.TUPLES:
        return tuple(given.copy() for given in outside.TUPLES[last])
    return X.copy(), Y.copy()


def modules() -> list[str]:
    """The public modules of the package that say what is public in them."""
    found = [module.name for module in pkgutil.iter_modules(gm.__path__) if not module.name.startswith("_")]
    found = [name if name != "compat" else "compat.metric_learn" for name in found if name not in NOT_WALKED]
    return sorted(found, key=lambda name: name in AROUND)


def names() -> dict[str, Any]:
    """Public functions and classes by name, each once."""
    found = {name: getattr(gm, name) for name in _registry.HOME}
    for module in modules():
        home = import_module(f"gramian.{module}")
        for name in getattr(home, "__all__", ()):
            value = getattr(home, name)
            if name in found and found[name] is value:
                continue
            found[f"{module}.{name}" if module in AROUND or name in found else name] = value
    for module in ("search.evaluation", "datasets"):
        home = import_module(f"gramian.{module}")
        for name, value in vars(home).items():
            if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith(home.__name__):
                found.setdefault(f"{module.split('.')[-1]}.{name}", value)
    return {name: value for name, value in found.items() if callable(value) and name not in NO_CALL}


def good_value(key: str, name: str, parameter: inspect.Parameter) -> Any:
    """What a good call gives for an argument."""
    home, _, last = key.rpartition(".")
    for owner in (key, home, last):
        if f"{owner}.{name}" in OWN:
            return OWN[f"{owner}.{name}"]
    if name in GOOD and (parameter.default is parameter.empty or name in GIVEN):
        return GOOD[name]
    if parameter.default is not parameter.empty:
        return parameter.default
    if name in OWN:
        return OWN[name]
    raise LookupError(f"say what a good {name} of {key} is")


def arguments(key: str, function: Any, skip: int = 0) -> dict[str, Any]:
    """Good values of all arguments of a callable."""
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: good_value(key, p.name, p) for p in parameters if p.kind not in variable}


@functools.cache
def prepared(name: str) -> Any:
    """An instance to ask, fitted or filled."""
    if name in SHARED:
        return SHARED[name]()
    cls = names()[name]
    made = cls(**{key: _copied(value) for key, value in arguments(name, cls).items()})
    if isinstance(made, BaseEstimator):
        made.fit(*_training(name))
    elif isinstance(made, Index | ShardedIndex):
        made.add(X)
    return made


def is_hook(cls: type, key: str, value: Any) -> bool:
    """Whether a method of a learner is asked by its base alone: all but fits and answers."""
    ours = getattr(value, "__module__", "").startswith(("gramian.learners", "gramian.rankmin"))
    return issubclass(cls, Learner) and ours and key not in {"fit", "transform", *vars(TupleMixin)}


def methods(name: str, cls: type) -> dict[str, Any]:
    """Public methods that take arguments, as attributes of the class."""
    asked = BaseEstimator | Index | Metric | Kernel | Constraints | ShardedIndex | Space | Client | Sidecar
    if issubclass(cls, Coordinates):
        return {"check": cls.check}
    if not issubclass(cls, asked) and name != "RankMinimizer":
        return {}
    found = {}
    for key in dir(cls):
        value = inspect.getattr_static(cls, key)
        special = key == "__call__" and issubclass(cls, Kernel | Metric)
        inside = key in INSIDE - {"solve"} and not issubclass(cls, Space | Client | Sidecar)
        if (key.startswith("_") and not special) or inside or (key in PLUMBING):
            continue
        if f"{name}.{key}" in NOT_ASKED:
            continue
        if (key == "solve" and name != "RankMinimizer") or is_hook(cls, key, value):
            continue
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(plain) and len(inspect.signature(plain).parameters) > (
            not isinstance(value, staticmethod)
        ):
            found[key] = value
    return found


@functools.cache
def calls() -> dict[str, Call]:
    """All good calls by name; a method that many classes inherit is asked of one of them, ``fit`` of each."""
    found: dict[str, Call] = {}
    known = set()
    for name, value in sorted(names().items(), key=lambda item: (item[0] not in FIRST, item[0])):
        if inspect.isclass(value) and inspect.isabstract(value):
            continue
        found[name] = Call(name, value, arguments(name, value))
        if inspect.isclass(value):
            for key, method in methods(name, value).items():
                if key != "fit" and getattr(method, "__func__", method) in known:
                    continue
                known.add(getattr(method, "__func__", method))
                values = arguments(
                    f"{name}.{key}",
                    getattr(value, key),
                    skip=0 if isinstance(method, classmethod | staticmethod) else 1,
                )
                found[f"{name}.{key}"] = Call(f"{name}.{key}", key, values, prepared(name))
    return found
