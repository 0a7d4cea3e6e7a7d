"""What a demonstration consists of, and groups of features put together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


class Unavailable(RuntimeError):
    """A source cannot be had here; the message says why in one sentence."""


@dataclass(frozen=True)
class Made:
    """Vectors and meta, names of the features, pictures, how to encode other things, and what is owed to whom."""

    X: np.ndarray
    meta: list[dict[str, Any]]
    features: list[str]
    origin: str
    notice: str
    pictures: Mapping[str, Path | bytes] = field(default_factory=dict)
    encoder: Mapping[str, np.ndarray] | None = None


def leading(F: np.ndarray, rank: int) -> np.ndarray:
    """The leading principal directions of F, (d, rank)."""
    centered = F - F.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T.astype(float) @ centered)
    return vectors[:, ::-1][:, :rank]
