"""Mean token vectors of texts with the weights in the wheel of wordllama; run in its own environment."""

from importlib.util import find_spec
from pathlib import Path


def main(arrays):
    """Vectors (n, 256) of ``arrays["texts"]``."""
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    package = Path(find_spec("wordllama").origin).parent
    tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    (weights,) = load_file(package / "weights" / "l2_supercat_256.safetensors").values()
    weights = weights.astype(np.float32)
    texts = arrays["texts"].tolist()
    vectors = np.zeros((len(texts), weights.shape[1]), np.float32)
    for start in range(0, len(texts), 256):
        for i, encoded in enumerate(tokenizer.encode_batch(texts[start : start + 256], add_special_tokens=False)):
            if encoded.ids:
                vectors[start + i] = weights[np.minimum(encoded.ids, len(weights) - 1)].mean(axis=0)
    return vectors.round(6)
