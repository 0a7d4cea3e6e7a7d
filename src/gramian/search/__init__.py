"""Nearest neighbors under a learned metric: exact and hashed."""

from gramian.search import evaluation
from gramian.search.exact_index import ExactIndex
from gramian.search.hash_index import HashIndex
from gramian.search.index import Index
from gramian.search.online_hash_index import OnlineHashIndex
from gramian.search.prediction import knn_classify, knn_proba, knn_regress

KernelHashIndex = HashIndex
"""One index for every metric; the name of the one for kernel metrics stays."""

__all__ = [
    "ExactIndex",
    "HashIndex",
    "Index",
    "KernelHashIndex",
    "OnlineHashIndex",
    "evaluation",
    "knn_classify",
    "knn_proba",
    "knn_regress",
]
