"""Beside the database that is there: learn how to turn queries from what people found useful, and leave the rest alone.

See ``docs/guide/beside.md``.
"""

from gramian.beside import langchain as langchain
from gramian.beside import llama_index as llama_index
from gramian.beside.chroma import Chroma
from gramian.beside.engine import Engine, Hit
from gramian.beside.postgres import Postgres
from gramian.beside.qdrant import Qdrant
from gramian.beside.sidecar import Answer, Sidecar

__all__ = ["Answer", "Chroma", "Engine", "Hit", "Postgres", "Qdrant", "Sidecar"]
