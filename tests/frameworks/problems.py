"""Texts, an embedding that hashes words, and a collection of them in Qdrant."""

import zlib

import numpy as np

TEXTS = [f"{verb} a {noun}" for verb in ("undo", "push", "merge") for noun in ("commit", "branch", "tag")]
WIDTH = 16


def embed(text):
    """The sum of a random vector for each word."""
    words = text.lower().split()
    return np.sum([np.random.default_rng(zlib.crc32(w.encode())).normal(size=WIDTH) for w in words], axis=0).tolist()


def collection():
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection("docs", vectors_config=models.VectorParams(size=WIDTH, distance=models.Distance.COSINE))
    payload = [{"page_content": text, "metadata": {"words": len(text.split())}} for text in TEXTS]
    client.upload_collection("docs", np.array([embed(t) for t in TEXTS]), payload=payload, ids=range(len(TEXTS)))
    return client
