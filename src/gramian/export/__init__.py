"""Take it with you: a learned metric inside the models, indexes and databases that people already run.

``to_TARGET(metric, …)`` writes one target, ``from_SOURCE(…)`` reads vectors of another tool as blocks, :func:`check`
asks a written export 100 queries, and ``gramian export`` does it from the command line.
"""

from gramian.export.comparison import Report, check
from gramian.export.duckdb import to_duckdb
from gramian.export.elasticsearch import to_elasticsearch, to_opensearch
from gramian.export.faiss import from_faiss, to_faiss
from gramian.export.hnswlib import from_hnswlib, to_hnswlib
from gramian.export.lancedb import from_lancedb, to_lancedb
from gramian.export.milvus import to_milvus
from gramian.export.npz import to_npz
from gramian.export.onnx import to_onnx
from gramian.export.parquet import from_parquet, to_parquet
from gramian.export.pgvector import from_pgvector, to_pgvector
from gramian.export.qdrant import from_qdrant, to_qdrant
from gramian.export.sentence_transformers import to_sentence_transformers
from gramian.export.sklearn import to_sklearn
from gramian.export.sources import fill
from gramian.export.targets import TARGETS
from gramian.export.torch import to_torch
from gramian.export.usearch import to_usearch
from gramian.export.weaviate import to_weaviate

__all__ = [
    "TARGETS",
    "Report",
    "check",
    "fill",
    "from_faiss",
    "from_hnswlib",
    "from_lancedb",
    "from_parquet",
    "from_pgvector",
    "from_qdrant",
    "to_duckdb",
    "to_elasticsearch",
    "to_faiss",
    "to_hnswlib",
    "to_lancedb",
    "to_milvus",
    "to_npz",
    "to_onnx",
    "to_opensearch",
    "to_parquet",
    "to_pgvector",
    "to_qdrant",
    "to_sentence_transformers",
    "to_sklearn",
    "to_torch",
    "to_usearch",
    "to_weaviate",
]
