"""Take it with you: a learned metric inside the models, indexes and databases that people already run.

``to_TARGET(metric, …)`` writes one target, ``from_SOURCE(…)`` reads vectors of another tool as blocks, :func:`check`
asks a written export 100 queries, and ``gramian export`` does it from the command line. All of them come from one
table, :data:`TARGETS`.
"""

from gramian.export.base import TARGETS
from gramian.export.check import Report, check
from gramian.export.chroma import Chroma
from gramian.export.duckdb import Duckdb
from gramian.export.faiss import Faiss
from gramian.export.functions import from_function, to_function
from gramian.export.hnsw import Hnswlib, Usearch
from gramian.export.json import Json
from gramian.export.jsonl import Elasticsearch, Opensearch, Weaviate
from gramian.export.lancedb import Lancedb
from gramian.export.milvus import Milvus
from gramian.export.npz import Npz
from gramian.export.onnx import Onnx
from gramian.export.parquet import Parquet
from gramian.export.pgvector import Pgvector
from gramian.export.points import fill
from gramian.export.qdrant import Qdrant
from gramian.export.sklearn import Sklearn
from gramian.export.torch import SentenceTransformers, Torch

MODELS = (Onnx, Torch, SentenceTransformers, Sklearn, Npz, Json)
INDEXES = (Faiss, Hnswlib, Usearch)
TABLES = (Pgvector, Qdrant, Lancedb, Milvus, Chroma, Duckdb, Parquet, Elasticsearch, Opensearch, Weaviate)
TARGETS.update({kind.name: kind() for kind in (*MODELS, *INDEXES, *TABLES)})

to_onnx, to_torch, to_sentence_transformers, to_sklearn, to_npz, to_json = (
    to_function(TARGETS[kind.name]) for kind in MODELS
)
to_faiss, to_hnswlib, to_usearch = (to_function(TARGETS[kind.name]) for kind in INDEXES)
(
    to_pgvector,
    to_qdrant,
    to_lancedb,
    to_milvus,
    to_chroma,
    to_duckdb,
    to_parquet,
    to_elasticsearch,
    to_opensearch,
    to_weaviate,
) = (to_function(TARGETS[kind.name]) for kind in TABLES)
from_faiss, from_hnswlib, from_pgvector, from_qdrant, from_lancedb, from_parquet = (
    from_function(TARGETS[name]) for name in ("faiss", "hnswlib", "pgvector", "qdrant", "lancedb", "parquet")
)

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
    "to_chroma",
    "to_duckdb",
    "to_elasticsearch",
    "to_faiss",
    "to_hnswlib",
    "to_json",
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
