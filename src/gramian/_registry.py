"""The table of contents: public names and kinds of stored values, each with the module that holds it.

A table of strings at the bottom of the tree. Names become objects on first use, so neither ``import gramian``
nor a file that is read imports more than it needs.
"""

from importlib import import_module
from typing import Any

CONTENTS: dict[str, tuple[str, ...]] = {
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
        "Bhattacharyya",
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
        "Contrastive",
        "AutoMetric",
        "QueryAdapter",
        "ModelBridge",
        "Posteriors",
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
        "OnlineVonNeumann",
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
MODULES = (*CONTENTS, "linalg", "datasets", "plotting", "compat", "dask", "service", "beside")
BASES = {"Metric": "metrics", "Kernel": "kernels", "Learner": "learners"}
"""What annotations and classes of one's own are written with."""
INNER = {
    *("KernelHashIndex", "GraphMetric", "select_subset", "to_faiss", "to_hnswlib", "Bhattacharyya", "Hamming"),
    *("PyramidMatch", "ProximityDistribution", "Correspondence", "TangentDistance", "RankMinimizer"),
    *CONTENTS["divergences"],
    *CONTENTS["solvers"],
    *CONTENTS["clustering"],
    *("approximation", "beside", "constraints", "features", "learners", "metrics", "online", "persist"),
}
"""Names that a star does not import: they are at home in their modules, and found here too."""
STORED: dict[str, str] = {
    **dict.fromkeys(("Sum", "Product", "Scaled", "Constant"), "kernels.combinations"),
    "Weighted": "kernels.combinations",
    **dict.fromkeys(("Plain", "Subspace", "UnitRows", "Angles", "KernelSpace", "BesideFeatures"), "coordinates"),
    **dict.fromkeys(
        ("Hellinger", "LinearProbabilities", "ForestProbabilities", "KernelProbabilities", "HeldProbabilities"),
        "coordinates",
    ),
    "Metric": "metrics",
    "Mixed": "constraints.base",
    "GraphSpace": "manifold.metric",
    "TwoSided": "learners.two_sided",
    "WrongPairs": "learners.wrong_pairs",
    **dict.fromkeys(("NeighborGraph", "BallGraph", "GaussianGraph"), "manifold.graph"),
    **dict.fromkeys(("AlongGraph", "ByWeights", "ByGeodesics"), "manifold.extension"),
}
"""Kinds of values that files may hold beside the public ones."""

HOME: dict[str, str] = {name: module for module, names in CONTENTS.items() for name in names}


def find(name: str) -> Any:
    """The public object or module of a name; None when there is none."""
    home = HOME.get(name) or BASES.get(name)
    if home is not None:
        return getattr(import_module(f"gramian.{home}"), name)
    return import_module(f"gramian.{name}") if name in MODULES else None


def stored_class(kind: str) -> Any:
    """The class of a stored kind of value; None when there is none."""
    if kind in STORED:
        return getattr(import_module(f"gramian.{STORED[kind]}"), kind)
    cls = find(kind) if kind in HOME else None
    return cls if hasattr(cls, "_from_state") else None
