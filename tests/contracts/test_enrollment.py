"""Every public class is under a contract: that of its kind, or one of its own where it is alone of its kind."""

import inspect
import pathlib

import pytest
from sklearn.base import BaseEstimator

import gramian as gm
from gramian.clustering.base import Clusterings
from gramian.constraints import Constraints
from gramian.divergences import Divergence
from gramian.kernels import Kernel
from gramian.learners.base import Learner
from gramian.manifold.eigenmaps import GraphEmbedding
from gramian.metrics import Metric
from gramian.online.learner import OnlineLearner
from gramian.search import Index
from gramian.solvers import Solver
from tests.contracts import test_distances, test_hard_inputs, test_parameters

TESTS = pathlib.Path(__file__).parents[1]
KINDS = {
    Clusterings: "contracts/test_clusterers.py",
    Constraints: "contracts/test_constraints.py",
    Divergence: "contracts/test_divergences.py",
    GraphEmbedding: "contracts/test_geometry.py",
    Index: "contracts/test_index.py",
    Kernel: "contracts/test_kernels.py",
    Metric: "contracts/test_metrics.py",
    Learner: "contracts/test_learners.py",
    OnlineLearner: "contracts/test_online.py",
    Solver: "contracts/test_solvers.py",
}
"""Contracts that walk the public names for a base class."""
ALONE = {
    **dict.fromkeys(test_distances.OBJECTS, "contracts/test_distances.py"),
    "Feedback": "constraints/test_feedback.py",
    "KernelFeatures": "contracts/test_features.py",
    "ModelBridge": "learners/test_model_bridge.py",
    "QueryAdapter": "learners/test_query_adapter.py",
    "RankMinimizer": "rankmin/test_minimizer.py",
    "SubsetDistance": "approximation/test_subset.py",
    "TupleClassifier": "learners/test_tuples.py",
}
"""Classes without such a base, and where their promises are tested."""
CLASSES = {name: value for name in gm._registry.HOME if inspect.isclass(value := getattr(gm, name))}


@pytest.mark.parametrize("name", CLASSES)
def test_a_public_class_is_under_a_contract(name):
    contracts = [path for base, path in KINDS.items() if issubclass(CLASSES[name], base)]
    contracts += [ALONE[name]] if name in ALONE else []
    assert contracts, f"{name} is under no contract: give it a base of a kind, or a contract of its own"
    for path in contracts:
        text = (TESTS / path).read_text()
        assert name in text or "gm._registry.HOME" in text, f"{path} does not know {name}"


def test_nothing_is_listed_that_has_a_contract_already_or_is_gone():
    bases = tuple(KINDS)
    assert not [name for name in ALONE if name not in CLASSES or issubclass(CLASSES[name], bases)]


def test_every_estimator_meets_hard_inputs_and_ignores_no_parameter():
    estimators = {name for name, cls in CLASSES.items() if issubclass(cls, BaseEstimator)}
    assert estimators == set(test_parameters.ESTIMATORS)
    assert estimators - {"SubsetDistance"} == set(test_hard_inputs.ESTIMATORS)  # its distance is for objects
