"""Handwritten digits of scikit-learn, for when nothing else can be had."""

import struct
import zlib
from collections.abc import Callable

import numpy as np

from gramian.service.sources import Source

SCALE = 8
NOTICE = "Optical recognition of handwritten digits, E. Alpaydin and C. Kaynak, UCI repository; by scikit-learn."
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def make(step: Callable[[int, int], None]) -> Source:
    """1,797 digits of 8 × 8 pixels; features are named by the part of the picture they are in."""
    from sklearn.datasets import load_digits

    data = load_digits()
    pictures, meta = {}, []
    for i, (image, digit) in enumerate(zip(data.images, data.target.tolist())):
        name = f"digit-{i:04}.png"
        pictures[name] = png(np.kron(255 - 255 * image / 16, np.ones((SCALE, SCALE))))
        meta.append({"name": f"{WORDS[digit]}, no. {i}", "digit": digit, "image": name})
        step(i + 1, len(data.images))
    rows, columns = ("top", "upper", "lower", "bottom"), ("left", "middle left", "middle right", "right")
    features = [f"{rows[j // 16]} {columns[j % 8 // 2]}" for j in range(64)]
    origin = f"{len(meta):,} handwritten digits of scikit-learn."
    return Source(data.data / 16, meta, features, None, pictures, origin, NOTICE)


def png(pixels: np.ndarray) -> bytes:
    """A gray picture (h, w), values 0 to 255, as a PNG file."""
    height, width = pixels.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), pixels.astype(np.uint8)])
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
