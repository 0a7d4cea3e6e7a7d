"""Encoders of texts that people bring: a sentence-transformers model, an ONNX folder, or a function of their own.

Each is a function from a list of texts to vectors (n, d). A space keeps the name and the width of the one that a
collection is asked with; the model itself stays where it is.
"""

import json
import pkgutil
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate
from gramian.service.errors import SpaceError

FUNCTION = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*")
LONGEST = 512
"""Tokens of a text that a model reads, where its tokenizer names no limit."""
BATCH = 64
"""Texts of one pass."""
KEY = "encoder "
"""How the key begins under which a space keeps the name and width of a collection's encoder."""
Encode = Callable[[Sequence[str]], Any]


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """A function from texts to vectors of one width, under the name by which it was found."""

    name: str
    function: Encode
    width: int
    lock: Any = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def load(cls, name: str) -> "TextEncoder":
        """By the name of a function, a folder with an ONNX model and its tokenizer, or a sentence-transformers model.

        Examples
        --------
        >>> from gramian.service.models import TextEncoder
        >>> import sys, types
        >>> sys.modules["lengths"] = types.ModuleType("lengths")
        >>> sys.modules["lengths"].encode = lambda texts: [[len(text), text.count("a")] for text in texts]
        >>> TextEncoder.load("lengths:encode").encode(["a banana"]).tolist()
        [[8.0, 4.0]]
        """
        if FUNCTION.fullmatch(name):
            function = _named(name)
        elif any(Path(name).glob("*.onnx")) or any(Path(name).glob("onnx/*.onnx")):
            function = _onnx(Path(name))
        else:
            function = _sentences(name)
        return cls(name, function, _vectors(function, name, ["width"]).shape[1])

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, width) of texts."""
        with self.lock:
            parts = [
                _vectors(self.function, self.name, list(texts[start : start + BATCH]))
                for start in range(0, len(texts), BATCH)
            ]
        X = np.concatenate(parts) if parts else np.zeros((0, self.width))
        if X.shape[1] != self.width:
            raise SpaceError(f"Space: encoder {self.name!r} must give {self.width} numbers a text, got {X.shape[1]}.")
        return X


def _vectors(function: Encode, name: str, texts: list[str]) -> np.ndarray:
    X = _validate.points(np.asarray(function(texts)), "Space", allow_sparse=False, name=f"what encoder {name!r} gives")
    if len(X) != len(texts):
        raise SpaceError(f"Space: encoder {name!r} must give a row for each of {len(texts)} texts, got {len(X)}.")
    return X


def _named(name: str) -> Encode:
    try:
        function = pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise SpaceError(f"serve: --encoder {name!r} names no function ({error}).") from error
    if not callable(function):
        raise SpaceError(f"serve: --encoder {name!r} must be a function of a list of texts, got {function!r:.60}.")
    return function


def _sentences(name: str) -> Encode:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise SpaceError(
            f"serve: --encoder {name!r} is no folder with an .onnx file and no module:function; as a model of "
            "sentence-transformers it needs pip install sentence-transformers."
        ) from error
    try:
        return SentenceTransformer(name).encode
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SpaceError(f"serve: --encoder {name!r} is no model of sentence-transformers ({reason}).") from error


def _onnx(folder: Path) -> Encode:
    """One vector a text from those of its tokens, as the files of sentence-transformers say: the mean without them."""
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SpaceError(
            f"serve: --encoder {str(folder)!r} needs onnxruntime and tokenizers; pip install onnxruntime tokenizers."
        ) from error
    named = folder / "tokenizer.json"
    if not named.is_file():
        raise SpaceError(f"serve: --encoder {str(folder)!r} must hold tokenizer.json beside its .onnx file.")
    tokenizer = Tokenizer.from_file(str(named))
    tokenizer.enable_truncation(_setting(folder / "tokenizer_config.json", "model_max_length", LONGEST))
    tokenizer.enable_padding()
    files = sorted(
        [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")], key=lambda path: (path.name != "model.onnx", path)
    )
    session = onnxruntime.InferenceSession(str(files[0]), providers=["CPUExecutionProvider"])
    inputs = [one.name for one in session.get_inputs()]
    first = _setting(folder / "1_Pooling" / "config.json", "pooling_mode_cls_token", False)
    modules = folder / "modules.json"
    unit = modules.is_file() and ".Normalize" in modules.read_text(encoding="utf-8")

    def encode(texts: Sequence[str]) -> np.ndarray:
        read = tokenizer.encode_batch(list(texts))
        kinds = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        fed = {
            name: np.array([getattr(one, kinds[name]) for one in read], np.int64) for name in inputs if name in kinds
        }
        Z = np.asarray(session.run(None, fed)[0], float)  # (n, d), or (n, tokens, d)
        if Z.ndim == 3:
            mask = np.array([one.attention_mask for one in read], float)[:, :, None]
            Z = Z[:, 0] if first else (Z * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1.0)
        return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12) if unit else Z

    return encode


def _setting(path: Path, name: str, default: Any) -> Any:
    """One number of a JSON file, where it is there and says something."""
    if not path.is_file():
        return default
    value = json.loads(path.read_text(encoding="utf-8")).get(name, default)
    return value if isinstance(value, bool) or (isinstance(value, int) and value <= 1 << 16) else default


def stored(db: Any, collection: str) -> dict[str, Any] | None:
    """Name and width of the encoder that a collection is asked with, None when it has none."""
    row = db.execute("SELECT value FROM space WHERE key = ?", (KEY + collection,)).fetchone()
    return None if row is None else json.loads(row["value"])


def check(view: Any, encoder: TextEncoder, known: dict[str, Any] | None) -> None:
    """Raise unless an encoder is the one of a collection, and as wide."""
    if encoder.width != view.n_features:
        raise SpaceError(
            f"serve: --encoder {encoder.name!r} gives {encoder.width} numbers a text, but the vectors of {view.name!r} "
            f"have {view.n_features}; name the encoder that made them."
        )
    if known is not None and known["name"] != encoder.name:
        raise SpaceError(
            f"serve: --encoder must be {known['name']!r}, by which texts of {view.name!r} were made, got "
            f"{encoder.name!r}; two models of one width do not understand each other."
        )
