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
    "faiss": Target("faiss", "to_faiss", ".faiss", "indexes.HeldFaiss"),
    "hnswlib": Target("hnswlib", "to_hnswlib", ".hnsw", "indexes.HeldHnswlib"),
    "usearch": Target("usearch", "to_usearch", ".usearch", "indexes.HeldUsearch"),
    "pgvector": Target("pgvector", "to_pgvector", ".sql", "postgres.HeldPgvector", True, True),
    "qdrant": Target("qdrant", "to_qdrant", "-qdrant", "qdrant.HeldQdrant", True, True),
    "lancedb": Target("lancedb", "to_lancedb", "-lancedb", "databases.HeldLancedb", True),
    "milvus": Target("milvus", "to_milvus", ".db", "databases.HeldMilvus", True),
    "duckdb": Target("duckdb", "to_duckdb", ".duckdb", "databases.HeldDuckdb", True, True),
    "parquet": Target("parquet", "to_parquet", ".parquet", "files.HeldParquet", False, True),
    "elasticsearch": Target("elasticsearch", "to_elasticsearch", ".ndjson", "files.HeldBulk", True, True),
    "opensearch": Target("elasticsearch", "to_opensearch", ".ndjson", "files.HeldBulk", True),
    "weaviate": Target("weaviate", "to_weaviate", ".ndjson", "files.HeldBulk", True),
}
"""Every target by the name that the command line knows."""
