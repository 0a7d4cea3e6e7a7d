"""A learned metric inside faiss or hnswlib, whose files then work without this package."""

from typing import Any

import numpy as np

from gramian import _checks
from gramian.metrics import KernelMetric, Mahalanobis, Metric, SubspaceMahalanobis


def to_faiss(metric: Metric, X: Any, kind: str = "flat", ids: Any = None, **options: Any) -> Any:
    """A faiss index of X whose squared L2 distance is d²_M(x, y) = |Lx − Ly|².

    For a Mahalanobis metric the linear map x ↦ L(x − μ) is part of the index (``IndexPreTransform``), so that it takes
    raw queries, and saves and loads in plain faiss. For a KernelMetric with α = 0 the index holds the coordinates of
    X and takes ``metric.transform(queries)``. faiss computes in float32; centering on the mean μ of X keeps its digits.

    Parameters
    ----------
    metric : Mahalanobis, or KernelMetric or SubspaceMahalanobis with alpha = 0
    X : array (n, d)
    kind : {"flat", "ivf", "hnsw", "lsh"} or a faiss factory string
        Exact scan, inverted file (√n lists), HNSW graph, or bits with a flat re-ranking.
    ids : int64 (n,), optional
        Ids to return instead of 0 … n − 1.
    **options
        ``n_links`` (HNSW, 32), ``ef_construction`` (HNSW, 200), ``n_lists`` and ``n_probe`` (inverted file, √n and
        √n_lists), ``n_bits`` (LSH, 256), ``factor`` (LSH, candidates per neighbor, 50).

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(50, 3)).astype("float32")
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> index = gm.to_faiss(metric, X)  # doctest: +SKIP
    >>> sqdist, ids = index.search(X[:2], 1)  # doctest: +SKIP
    """
    faiss = _faiss()
    L, X = _linear(metric, X, "to_faiss")
    own = isinstance(metric, Mahalanobis)
    center = X.mean(axis=0) if own else np.zeros(X.shape[1])
    Z = _single((X - center) @ L.T)
    index = _faiss_index(faiss, kind, Z.shape[1], len(Z), options)
    index.train(Z)
    if ids is not None:
        index = faiss.IndexIDMap2(index)
        index.add_with_ids(Z, _ids(ids, len(Z), "to_faiss"))
    else:
        index.add(Z)
    return faiss.IndexPreTransform(_transform(faiss, L, center), index) if own else index


def _transform(faiss: Any, L: np.ndarray, center: np.ndarray) -> Any:
    linear = faiss.LinearTransform(L.shape[1], L.shape[0], True)
    faiss.copy_array_to_vector(_single(L).ravel(), linear.A)
    faiss.copy_array_to_vector(_single(-L @ center), linear.b)
    linear.is_trained = True
    return linear


def _faiss_index(faiss: Any, kind: str, d: int, n: int, options: dict[str, Any]) -> Any:
    take = {"n_links": 32, "ef_construction": 200, "n_bits": 256, "factor": 50, "n_lists": None, "n_probe": None}
    unknown = set(options) - set(take)
    if unknown:
        raise TypeError(f"to_faiss: unknown option {sorted(unknown)[0]!r}; the options are {', '.join(take)}.")
    take |= options
    if not isinstance(kind, str):
        raise TypeError(f"to_faiss: kind must be a string, got {_checks.shown(kind)}.")
    if kind == "flat":
        return faiss.IndexFlatL2(d)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(d, take["n_links"])
        index.hnsw.efConstruction = take["ef_construction"]
        return index
    if kind == "ivf":
        lists = take["n_lists"] or max(1, int(np.sqrt(n)))
        index = faiss.index_factory(d, f"IVF{lists},Flat")
        index.nprobe = take["n_probe"] or max(1, int(np.sqrt(lists)))
        return index
    if kind == "lsh":
        index = faiss.IndexRefineFlat(faiss.IndexLSH(d, take["n_bits"]))
        index.k_factor = take["factor"]
        return index
    try:
        return faiss.index_factory(d, kind)
    except RuntimeError as error:
        raise ValueError(
            f"to_faiss: kind must be 'flat', 'ivf', 'hnsw', 'lsh' or a factory string of faiss, got {kind!r}."
        ) from error


def to_hnswlib(
    metric: Metric, X: Any, ids: Any = None, *, n_links: int = 16, ef_construction: int = 200, random_state: int = 0
) -> Any:
    """An hnswlib index of Lx whose squared L2 distance is d²_M; query it with ``metric.transform(points)``.

    hnswlib holds no linear map, so queries must be transformed first; a metric without an isometry of finite
    dimension (α > 0 outside of a basis) is refused.

    Parameters
    ----------
    metric : Mahalanobis, or KernelMetric or SubspaceMahalanobis with alpha = 0
    X : array (n, d)
    ids : int64 (n,), optional
    n_links, ef_construction, random_state
        M, ef_construction and the seed of hnswlib.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> index = gm.to_hnswlib(metric, X)  # doctest: +SKIP
    >>> ids, sqdist = index.knn_query(metric.transform(X[:2]), 1)  # doctest: +SKIP
    """
    try:
        import hnswlib
    except ImportError as error:
        raise ImportError("to_hnswlib needs hnswlib: pip install 'gramian[hnswlib]'.") from error
    L, X = _linear(metric, X, "to_hnswlib")
    Z = _single(X @ L.T)
    index = hnswlib.Index(space="l2", dim=Z.shape[1])
    index.init_index(max(len(Z), 1), M=n_links, ef_construction=ef_construction, random_seed=random_state)
    index.add_items(Z, None if ids is None else _ids(ids, len(Z), "to_hnswlib"), num_threads=1)
    return index


def _ids(ids: Any, n: int, owner: str) -> np.ndarray:
    found = _checks.indices(ids, owner, "ids")
    if len(found) != n:
        raise ValueError(f"{owner}: ids must have one entry per point ({n}), got {len(found)}.")
    return np.ascontiguousarray(found, dtype=np.int64)


def _linear(metric: Metric, X: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """A matrix L and points on which the metric is |Lx − Ly|²."""
    if isinstance(metric, Mahalanobis):
        X = _checks.points(X, owner, n_features=metric.n_features, allow_sparse=False)
        return metric.components, X.astype(np.float64, copy=False)
    if isinstance(metric, KernelMetric | SubspaceMahalanobis) and metric.alpha == 0:
        Z = metric.transform(X)
        return np.eye(Z.shape[1]), Z
    raise TypeError(
        f"{owner}: metric must be a Mahalanobis, or a KernelMetric or SubspaceMahalanobis with alpha=0, got "
        f"{type(metric).__name__}; search it with KernelHashIndex."
    )


def _single(A: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(A, dtype=np.float32)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ImportError("to_faiss needs faiss: pip install 'gramian[faiss]'.") from error
    return faiss
