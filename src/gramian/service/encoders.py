"""From a text or a picture that somebody brings to a vector beside those of a collection.

An encoder is a dict of arrays that a space keeps beside its events (:mod:`gramian.service.sources`). Features come in
groups, each centered and scaled to mean squared norm one; a group that the thing has nothing to say about stays at its
mean, zero.
"""

import io
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gramian.service.errors import SpaceError

SIDE = 64
BINS = 4
CELLS = 4
TURNS = 4
LOOKS = ("color",) * BINS**3 + ("shape",) * (CELLS * CELLS * TURNS)
"""Names of the features of pictures."""
MOST_PIXELS = 40_000_000
Arrays = dict[str, np.ndarray]


def kinds(arrays: Arrays | None) -> list[str]:
    """What can be encoded here: ``text``, ``image``."""
    if arrays is None:
        return []
    texts = ["text"] if "words" in arrays and words() is not None else []
    return texts + (["image"] if "color_mean" in arrays and pillow_or_none() is not None else [])


def text(arrays: Arrays, content: str) -> np.ndarray:
    """The vector of a text."""
    name = unit_rows(embedded([content]) @ arrays["words"] - arrays["words_mean"], "norm" in arrays)[0]
    rest = np.zeros(int(arrays["width"]) - len(name))
    return np.concatenate([rest, name / float(arrays["words_scale"])])


def image(arrays: Arrays, content: bytes) -> np.ndarray:
    """The vector of a picture."""
    pixels = read_picture(content)
    color = (colors(pixels) - arrays["color_mean"]) / float(arrays["color_scale"])
    shape = (shapes(pixels) - arrays["shape_mean"]) / float(arrays["shape_scale"])
    return np.concatenate([color, shape, np.zeros(int(arrays["width"]) - len(color) - len(shape))])


def scaled(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """A group centered and scaled to mean squared norm one, with its mean and scale."""
    mean = F.mean(axis=0)
    scale = float(np.sqrt(((F - mean) ** 2).sum(axis=1).mean())) or 1.0
    return (F - mean) / scale, mean, scale


def looks(pictures: Iterable[np.ndarray]) -> tuple[np.ndarray, Arrays]:
    """Color and shape features of many pictures, and the encoder of others beside them."""
    rows = [(colors(pixels), shapes(pixels)) for pixels in pictures]
    color, color_mean, color_scale = scaled(np.array([row[0] for row in rows]))
    shape, shape_mean, shape_scale = scaled(np.array([row[1] for row in rows]))
    X = np.hstack([color, shape])
    arrays: dict[str, Any] = {"color_mean": color_mean, "color_scale": color_scale}
    arrays |= {"shape_mean": shape_mean, "shape_scale": shape_scale, "width": X.shape[1]}
    return X, {key: np.asarray(value) for key, value in arrays.items()}


def read_picture(content: bytes) -> np.ndarray:
    """Red, green, blue and opacity in [0, 1], (SIDE, SIDE, 4)."""
    pillow = pillow_or_none()
    if pillow is None:
        raise ImportError("pictures need Pillow: pip install 'gramian[demo]'.")
    try:
        with pillow.open(io.BytesIO(content)) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise SpaceError(f"Space: a picture must have at most {MOST_PIXELS:,} pixels.")
            small = opened.convert("RGBA").resize((SIDE, SIDE), pillow.Resampling.BOX)
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise SpaceError("Space: the image is not a picture that can be read.") from error
    return np.asarray(small, float) / 255


def colors(pixels: np.ndarray) -> np.ndarray:
    """Square roots of a histogram of colors, BINS to each side of the cube, weighted by opacity."""
    levels = np.minimum((pixels[..., :3] * BINS).astype(int), BINS - 1)
    codes = (levels[..., 0] * BINS + levels[..., 1]) * BINS + levels[..., 2]
    counts = np.bincount(codes.ravel(), weights=pixels[..., 3].ravel(), minlength=BINS**3)
    return np.sqrt(counts / max(counts.sum(), 1e-9))


def shapes(pixels: np.ndarray) -> np.ndarray:
    """Strength of edges by place (CELLS × CELLS) and direction (TURNS), as square roots of shares."""
    gray = pixels[..., :3].mean(axis=2) * pixels[..., 3] + (1 - pixels[..., 3])
    down, right = np.gradient(gray)
    turn = np.minimum((np.arctan2(down, right) % np.pi) / np.pi * TURNS, TURNS - 1e-9).astype(int)
    place = np.arange(SIDE) * CELLS // SIDE
    codes = (place[:, None] * CELLS + place[None, :]) * TURNS + turn
    strength = np.hypot(down, right)
    counts = np.bincount(codes.ravel(), weights=strength.ravel(), minlength=CELLS * CELLS * TURNS)
    return np.sqrt(counts / max(counts.sum(), 1e-9))


def unit_rows(Z: np.ndarray, wanted: bool = True) -> np.ndarray:
    """Rows of length one."""
    return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12) if wanted else Z


def embedded(texts: list[str]) -> np.ndarray:
    """Mean vectors of the words of texts, (n, 256), by the static word vectors of wordllama."""
    tables = words()
    if tables is None:
        raise ImportError("texts need word vectors: pip install 'gramian[demo]'.")
    tokenizer, table = tables
    out = np.zeros((len(texts), table.shape[1]), np.float32)
    for i, encoding in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
        if encoding.ids:
            out[i] = table[encoding.ids].mean(axis=0)
    return unit_rows(out)


@lru_cache(maxsize=1)
def words() -> tuple[Any, np.ndarray] | None:
    """Tokenizer and table of wordllama, read from the files of its wheel without a download; None without it."""
    from importlib.util import find_spec

    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        return None
    place = Path(spec.submodule_search_locations[0])
    weights = place / "weights" / "l2_supercat_256.safetensors"
    tokenizer = next(place.glob("tokenizer*/l2_supercat_tokenizer_config.json"), None)
    if tokenizer is None or not weights.is_file():
        return None
    table = next(iter(load_file(weights).values()))
    return Tokenizer.from_file(str(tokenizer)), np.asarray(table, np.float32)


def pillow_or_none() -> Any:
    """The package that reads images, None where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image
