"""gramian: learn distances and kernels from side information, and search with them fast.

This file is the table of contents. Every public name is imported on first use.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_CONTENTS: dict[str, tuple[str, ...]] = {
    "metrics": (
        "Mahalanobis",
        "SubspaceMahalanobis",
        "KernelMetric",
    ),
    "kernels": (
        "Linear",
        "Polynomial",
        "Gaussian",
        "Laplacian",
        "Cosine",
        "ChiSquared",
        "Intersection",
        "DistanceKernel",
        "Hamming",
        "FunctionKernel",
        "Precomputed",
        "PyramidMatch",
        "ProximityDistribution",
        "Correspondence",
        "TangentDistance",
        "align",
    ),
    "features": (
        "KernelFeatures",
        "pivoted_cholesky",
    ),
    "approximation": (
        "SubsetDistance",
        "select_subset",
    ),
    "constraints": (
        "Pairs",
        "Triplets",
        "Quadruplets",
        "Similarities",
        "RelativeSimilarities",
        "Probabilities",
        "Chunklets",
        "Feedback",
    ),
    "divergences": (
        "LogDet",
        "VonNeumann",
        "Frobenius",
        "LinearFrobenius",
        "LinearLogDet",
        "Spectral",
    ),
    "solvers": (
        "BregmanProjections",
        "DualAscent",
    ),
    "learners": (
        "Framework",
        "ITML",
        "MMC",
        "RCA",
        "POLA",
        "GMML",
        "Kernelized",
        "LMNN",
        "NCA",
        "MCML",
        "DNE",
        "PLDA",
        "AutoMetric",
        "Covariance",
        "LFDA",
        "MLKR",
        "LSML",
        "SDML",
        "SCML",
        "TupleClassifier",
    ),
    "manifold": (
        "TDL",
        "GeometryAwareKernel",
        "LaplacianEigenmaps",
        "GraphMetric",
    ),
    "online": (
        "LEGO",
        "OnlinePOLA",
        "OnlineITML",
    ),
    "rankmin": (
        "RankMinimizer",
        "LowRankKernel",
    ),
    "clustering": (
        "DecorrelatedKMeans",
        "ConvolutionalEM",
        "CooperativeVQ",
        "MultipleCauseVQ",
    ),
    "search": (
        "ExactIndex",
        "HashIndex",
        "KernelHashIndex",
        "OnlineHashIndex",
    ),
    "export": (
        "to_faiss",
        "to_hnswlib",
    ),
    "persist": (
        "save",
        "load",
    ),
}
_MODULES = (*_CONTENTS, "linalg", "datasets", "plotting", "compat", "dask", "service")
_STORED = {
    **dict.fromkeys(("Sum", "Product", "Scaled", "Constant"), "kernels.base"),
    "Weighted": "kernels.weighted",
    **dict.fromkeys(("Plain", "Subspace", "UnitRows", "KernelSpace"), "coordinates"),
    "Metric": "metrics",
    "Mixed": "constraints.mixed",
    "GraphSpace": "manifold.metric",
    **dict.fromkeys(("NeighborGraph", "BallGraph", "GaussianGraph"), "manifold.graph"),
    **dict.fromkeys(("AlongGraph", "ByWeights", "ByGeodesics"), "manifold.extension"),
}
"""Kinds of values that files may hold beside the public ones."""

_HOME = {name: module for module, names in _CONTENTS.items() for name in names}
__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _stored_class(kind: str) -> Any:
    """Return the class of a stored kind of value, None when there is none."""
    if kind in _STORED:
        return getattr(import_module(f"{__name__}.{_STORED[kind]}"), kind)
    cls = __getattr__(kind) if kind in _HOME else None
    return cls if hasattr(cls, "_from_state") else None


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
