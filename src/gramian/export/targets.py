"""The targets by name: where their code is, what they take, and how their output is called."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One target: its module and function, whether it takes points, and the end of the name of its output.

    ``held`` names the class that opens a written export for the check; ``forms`` says whether q′ = Mq is a form of it,
    ``table`` whether it has a table or collection with a name.
    """

    module: str
    function: str
    suffix: str
    held: str = ""
    table: bool = False
    forms: bool = False

    @property
    def takes_data(self) -> bool:
        """Whether it stores points, and not the map alone."""
        return bool(self.held)


TARGETS = {
    "onnx": Target("onnx", "to_onnx", ".onnx"),
    "torch": Target("torch", "to_torch", ".pt"),
    "sentence-transformers": Target("sentence_transformers", "to_sentence_transformers", "-dense"),
    "sklearn": Target("sklearn", "to_sklearn", ".pkl"),
    "npz": Target("npz", "to_npz", ".npz"),
    "faiss": Target("faiss", "to_faiss", ".faiss", "faiss.HeldFaiss"),
    "hnswlib": Target("hnswlib", "to_hnswlib", ".hnsw", "hnswlib.HeldHnswlib"),
    "usearch": Target("usearch", "to_usearch", ".usearch", "usearch.HeldUsearch"),
    "pgvector": Target("pgvector", "to_pgvector", ".sql", "pgvector.HeldPgvector", True, True),
    "qdrant": Target("qdrant", "to_qdrant", "-qdrant", "qdrant.HeldQdrant", True, True),
    "lancedb": Target("lancedb", "to_lancedb", "-lancedb", "lancedb.HeldLancedb", True),
    "milvus": Target("milvus", "to_milvus", ".db", "milvus.HeldMilvus", True),
    "duckdb": Target("duckdb", "to_duckdb", ".duckdb", "duckdb.HeldDuckdb", True, True),
    "parquet": Target("parquet", "to_parquet", ".parquet", "parquet.HeldParquet", False, True),
    "elasticsearch": Target("elasticsearch", "to_elasticsearch", ".ndjson", "bulk.HeldBulk", True, True),
    "opensearch": Target("elasticsearch", "to_opensearch", ".ndjson", "bulk.HeldBulk", True),
    "weaviate": Target("weaviate", "to_weaviate", ".ndjson", "bulk.HeldBulk", True),
}
"""Every target by the name that the command line knows."""
