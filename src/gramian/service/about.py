"""What a space keeps of a collection beside its events: names of features, pictures, and an encoder."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gramian.metrics import Mahalanobis
from gramian.persist import replacing
from gramian.service.files import make_folder
from gramian.service.learning import Background
from gramian.service.snapshot import Collection

FOLDERS = ("about", "pictures")
"""Folders of a space that hold it; they travel with a backup."""
MOST_GROUPS = 12


def write(folder: Path, name: str, features: list[str], encoder: Mapping[str, np.ndarray] | None = None) -> None:
    """Keep a name for each feature (equal names are a group), and the arrays of an encoder with its ``kind``."""
    place = folder / "about"
    make_folder(place)
    if encoder is not None:
        with replacing(place / f"{name}.npz", "Space") as beside:
            np.savez(beside, allow_pickle=False, **encoder)
    with replacing(place / f"{name}.json", "Space") as beside:
        beside.write_text(json.dumps({"features": features}), encoding="utf-8")


@lru_cache(maxsize=8)
def features(folder: Path, name: str) -> tuple[str, ...]:
    """Names of the features; empty when nobody named them."""
    path = folder / "about" / f"{name}.json"
    return tuple(json.loads(path.read_text(encoding="utf-8"))["features"]) if path.is_file() else ()


@lru_cache(maxsize=8)
def encoder(folder: Path, name: str) -> dict[str, np.ndarray] | None:
    """Arrays of the encoder of a collection, None without one."""
    path = folder / "about" / f"{name}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def pictures(folder: Path) -> dict[str, Path]:
    """Pictures that a space itself holds, by name."""
    place = folder / "pictures"
    return {path.name: path for path in sorted(place.iterdir()) if path.is_file()} if place.is_dir() else {}


def why(folder: Path, view: Collection, metric: Mahalanobis, ids: tuple[int, int]) -> dict[str, Any]:
    """What each group of features adds to the squared distance of two items, and how much it usually adds.

    ``usual`` is the mean over random pairs, so a group far below it is what makes the two alike.
    """
    a, b = view.points(ids)
    names = features(folder, view.name)
    if len(names) != view.n_features:
        names = tuple(f"feature {j + 1}" for j in range(view.n_features))
    usual = (metric.matrix * Background.of(view).scatter).sum(axis=1)  # E[v_j (Mv)_j] over random pairs
    shares = metric.explain(a, b)
    groups: dict[str, list[float]] = {}
    for group, share, mean in zip(names, shares, usual):
        row = groups.setdefault(group, [0.0, 0.0])
        row[0] += float(share)
        row[1] += float(mean)
    rows = [(group, sums[0], sums[1]) for group, sums in groups.items()]
    rows.sort(key=lambda row: -abs(row[2]))
    if len(rows) > MOST_GROUPS:
        rest = rows[MOST_GROUPS - 1 :]
        others = (f"{len(rest)} others", sum(row[1] for row in rest), sum(row[2] for row in rest))
        rows = [*rows[: MOST_GROUPS - 1], others]
    listed = [{"name": name, "share": share, "usual": mean} for name, share, mean in rows]
    return {"sqdist": float(shares.sum()), "groups": listed}
