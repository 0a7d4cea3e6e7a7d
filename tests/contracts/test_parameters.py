"""No constructor parameter is ignored: another value changes what is learned, or the table says why it cannot."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian.learners.base import Blended, Iterative

N, D = 36, 4
Y = np.arange(N) % 3
X = np.random.default_rng(0).normal(size=(N, D)) * [1.0, 2.0, 0.5, 1.0] + 1.5 * np.eye(3, D)[Y]
FEATURES = gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X)
ONLINE = ("LEGO", "OnlineITML", "OnlinePOLA", "OnlineVonNeumann")
CLUSTERINGS = ("ConvolutionalEM", "CooperativeVQ", "DecorrelatedKMeans", "MultipleCauseVQ")
DETERMINISTIC = ("Contrastive", "DNE", "LFDA", "LMNN", "MCML", "NCA", "PLDA", "RCA")
"""Learners that draw only what they hold out to find their anchor."""
METRIC = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 3.0, 4.0]))

ESTIMATORS = {
    name: value
    for name in gm._registry.HOME
    if inspect.isclass(value := getattr(gm, name)) and issubclass(value, BaseEstimator)
}
USUAL = {"random_state": 0, "n_init": 2, "n_neighbors": 3, "max_iter": 6, "anchor": 0, "n_clusters": (2, 2)}
"""Settings of all estimators that have them."""
START = {
    "AutoMetric": {"candidates": ("RCA", "ITML")},
    "SubsetDistance": {"distance": gm.Gaussian(2.0), "m": 4},
    "TupleClassifier": {"learner": gm.ITML(random_state=0, anchor=0), "points": X},
    "KernelFeatures": {"kernel": gm.Gaussian(2.0), "rank": 5, "basis": "uniform"},
    "Kernelized": {"learner": gm.ITML(anchor=0, n_pairs=20), "kernel": gm.Gaussian(2.0), "rank": 6},
    "LowRankKernel": {"kernel": gm.Gaussian(2.0), "rank": 4},
    "TDL": {"n_components": 2, "lam": 0.5},
    "GeometryAwareKernel": {"gamma": 1.0},
}
"""Settings of one estimator."""

OTHER = {
    "alpha": 0.25,
    "anchor": 0.6,
    "assignment": "soft",
    "balance": 0.3,
    "bases": np.eye(D),
    "basis": "all",
    "batch_size": 8,
    "beta": 0.5,
    "between": 0.6,
    "bounds": (0.5, 9.0),
    "budget_s": 0.0,
    "candidates": ("RCA",),
    "class_weight": {0: 3.0},
    "classes": "closed",
    "center": True,
    "chunklet_size": 3,
    "combination": np.linspace(-1, 1, 2 * N).reshape(N, 2),
    "comparator": METRIC,
    "coordinates": "symmetric",
    "cost_neighbors": 2,
    "covariance": "diagonal",
    "criterion": "l1",
    "cv": 2,
    "diagonal": True,
    "distance": gm.Gaussian(5.0),
    "divergence": gm.Frobenius(),
    "embedding": "plain",
    "eta": 0.05,
    "family": "inductive",
    "gamma": 20.0,
    "g": "origin",
    "graph": gm.manifold.NeighborGraph(5, scale=1.0),
    "hinge": False,
    "init": "random",
    "kernel": gm.Gaussian(0.7),
    "lam": 5.0,
    "learner": gm.MMC(anchor=0),
    "m": 6,
    "margin": 0.5,
    "max_points": 20,
    "max_iter": 1,
    "members": X[:4] + 0.1,
    "method": "burg",
    "min_rate": 0.9,
    "n_bases": 3,
    "n_basis": 9,
    "n_chunklets": 4,
    "n_clusters": (3, 2),
    "n_components": 1,
    "n_far": 2,
    "n_init": 8,
    "n_near": 1,
    "n_neighbors": 5,
    "n_pairs": 9,
    "n_pretrain": 7,
    "n_quadruplets": 5,
    "n_votes": 5,
    "normalization": "trace",
    "normalize": False,
    "normalized": True,
    "penalty": 0.3,
    "percentiles": (20, 60),
    "points": X * [1.0, 2.0, 3.0, 4.0],
    "prior": np.diag([4.0, 3.0, 2.0, 1.0]),
    "projection": "span",
    "push": 9.0,
    "random_state": 7,
    "rank": 2,
    "reg": 0.5,
    "reselect": 2,
    "scoring": "precision@3",
    "selection": "greedy",
    "setting": "transductive",
    "slack": 0.1,
    "slack_loss": "quadratic",
    "smoothness": 0.5,
    "sparsity": 0.4,
    "strategy": "f_beta",
    "subspace": "landmarks",
    "t": 0.2,
    "threshold": 3.0,
    "temperature": 0.5,
    "tol": 0.5,
    "variant": "as_printed",
    "weight": 2.0,
    "within": 0.9,
}
"""Another value of each parameter."""
OTHER_OF = {
    **{f"{name}.init": np.c_[Y % 2, Y == 2].astype(int) for name in CLUSTERINGS},
    **{f"{name}.center": False for name in CLUSTERINGS},
    **{f"{name}.features": FEATURES for name in (*ONLINE, "TDL")},
    **{f"{name}.solver": "bregman" for name in ("Framework", "ITML")},
    "Posteriors.classifier": "logistic",
    "POLA.solver": gm.DualAscent(max_iter=1),
    "TupleClassifier.strategy": "max_tpr",
    "GeometryAwareKernel.solver": gm.BregmanProjections(max_iter=2),
    "Kernelized.features": gm.KernelFeatures(gm.Gaussian(1.0), rank=4),
    "LowRankKernel.features": gm.KernelFeatures(gm.Gaussian(2.0), rank=5),
    "TDL.penalty": "normalized",
    "TDL.cost": (Y[:, None] != Y) * -1.0,
    "TDL.basis": "uniform",
}
"""Another value for one estimator."""

GIVEN = {
    "prior": {"anchor": 0.5},
    "subspace": {"rank": 2},
    "slack_loss": {"slack": 1.0},
    "n_init": {"n_init": 1, "n_clusters": (3, 3), "random_state": 1},
    **{("ConvolutionalEM", name): {"init": np.c_[Y // 2, Y % 2]} for name in ("max_iter", "tol")},
    **{(name, "alpha"): {"features": FEATURES} for name in ONLINE},
    **{(name, "random_state"): {"anchor": "auto"} for name in DETERMINISTIC},
    ("KernelFeatures", "combination"): {"rank": None, "basis": "all"},
    ("KernelFeatures", "tol"): {"rank": None, "basis": "cholesky"},
    ("OnlinePOLA", "n_pretrain"): {"eta": "auto"},
    ("MLKR", "random_state"): {"init": "random"},
    ("RCA", "chunklet_size"): {"n_chunklets": 4},
    ("SDML", "max_iter"): {"tol": 1e-12, "sparsity": 0.1, "anchor": 0},
    **{("SubsetDistance", name): {"distance": METRIC, "m": 3} for name in ("projection", "g")},
    **{("TDL", name): {"penalty": gm.Gaussian(2.0)} for name in ("smoothness", "features")},
    ("TDL", "basis"): {"penalty": gm.Gaussian(2.0), "rank": 5},
    ("TDL", "random_state"): {"lam": "auto", "anchor": "auto"},
    ("TupleClassifier", "strategy"): {"min_rate": 0.9},
    ("TupleClassifier", "min_rate"): {"strategy": "max_tpr", "min_rate": 0.1},
    ("TupleClassifier", "beta"): {"strategy": "f_beta"},
}
"""What must be set for a parameter to have a meaning."""


def in_closed_form(cls):
    """Whether a learner goes in no steps, so that only the folds of its anchor are drawn."""
    return issubclass(cls, Blended) and not issubclass(cls, Iterative)


LANCZOS = "of the Lanczos iteration, which takes more than 1,000 points"
FOLDS = "all points are held out three times over, so that few draws of the folds change the weight of the prior"
REASONS = {
    **{(name, key): LANCZOS for name in ("TDL", "LaplacianEigenmaps") for key in ("tol", "max_iter")},
    ("LaplacianEigenmaps", "random_state"): LANCZOS,
    ("Posteriors", "cv"): "parts of fit_transform alone",
    **{(name, "random_state"): FOLDS for name, cls in ESTIMATORS.items() if in_closed_form(cls)},
}
"""Parameters that change nothing here, and why."""


MISSING = object()
USUALLY = {}
"""What is learned from settings that several cases start from."""


def settings(name, parameter):
    """What an estimator starts from when one parameter is looked at."""
    known = inspect.signature(ESTIMATORS[name]).parameters
    usual = {key: value for key, value in USUAL.items() if key in known}
    given = GIVEN.get((name, parameter), GIVEN.get(parameter, {}))
    return usual | START.get(name, {}) | {key: value for key, value in given.items() if key in known}


def learned(name, options):
    """All that a fit leaves behind, and what is found with it, as bytes."""
    model = ESTIMATORS[name](**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        if name == "TupleClassifier":
            rng = np.random.default_rng(1)
            pairs = rng.integers(N, size=(60, 2))
            model.fit(
                pairs if options.get("points") is not None else X[pairs],
                np.where(Y[pairs[:, 0]] == Y[pairs[:, 1]], 1, -1),
            )
        else:
            model.fit(X, np.where(np.arange(N) % 4, Y, -1) if name in ("TDL", "GeometryAwareKernel") else Y)
    found = {key: value for key, value in vars(model).items() if key.endswith("_") and not key.startswith("_")}
    if name == "TupleClassifier":
        found["learner_"] = model.learner_.metric_, model.learner_.threshold_
    for method in ("transform", "predict"):
        if hasattr(model, method):
            found[method] = getattr(model, method)(X) if name != "TupleClassifier" else None
    return pickle.dumps({key: state(value) for key, value in found.items()})


def state(value):
    """Plain data of a value of the package."""
    if isinstance(value, tuple | list):
        return [state(item) for item in value]
    return {key: state(item) for key, item in value._state().items()} if hasattr(value, "_state") else repr(value)


CASES = [
    (name, parameter)
    for name, cls in ESTIMATORS.items()
    for parameter in inspect.signature(cls).parameters
    if parameter not in ("verbose", "callback")  # the contracts of learners and clusterings watch these
]


@pytest.mark.parametrize("name, parameter", CASES)
def test_another_value_changes_something_or_is_explained(name, parameter):
    start = settings(name, parameter)
    key = f"{name}.{parameter}"
    other = OTHER_OF.get(key, OTHER.get(parameter, MISSING))
    if other is MISSING:  # a new setting that is a number needs no line above
        other = 10 * inspect.signature(ESTIMATORS[name]).parameters[parameter].default
    if (name, repr(start)) not in USUALLY:
        USUALLY[name, repr(start)] = learned(name, start)
    changed = USUALLY[name, repr(start)] != learned(name, start | {parameter: other})
    reason = REASONS.get((name, parameter), REASONS.get(parameter))
    assert changed or reason, f"{name} ignores {parameter}"
