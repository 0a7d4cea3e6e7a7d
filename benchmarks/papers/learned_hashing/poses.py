"""Drawn articulated people with known joints: the stand-in for the rendered poses of Jain 2009, §4.3.2."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage, sparse

SIZE = 48
HEIGHT = 170.0
"""Centimeters from foot to crown of a person that stands."""
LIMBS = ("torso", "head", "arm", "forearm", "arm", "forearm", "thigh", "shin", "thigh", "shin")
LENGTHS = {"torso": 52.0, "head": 26.0, "arm": 30.0, "forearm": 28.0, "thigh": 44.0, "shin": 44.0}
WIDTHS = {"torso": 13.0, "head": 9.0, "arm": 5.0, "forearm": 4.0, "thigh": 7.0, "shin": 5.0}
PARENTS = (None, 0, 0, 2, 0, 4, None, 6, None, 8)
"""The limb whose end a limb begins at; None: the hip."""
RANGES = (
    (-25, 25),
    (-30, 30),
    (-170, 170),
    (-130, 10),
    (-170, 170),
    (-10, 130),
    (-80, 80),
    (0, 110),
    (-80, 80),
    (0, 110),
)
"""Degrees against the parent, which hangs or stands."""
CELLS = (6, 12, 24)
DIRECTIONS = 4


@dataclass
class People:
    """Histograms of edges X (n, d), joints in centimeters around the hip (n, 20), and the images."""

    X: sparse.csr_array
    joints: np.ndarray
    images: np.ndarray


def drawn(n: int, seed: int = 0) -> People:
    """n people in poses between two of 30 key poses, with their own clothes, size, place and background."""
    rng = np.random.default_rng(seed)
    low, high = np.array(RANGES, dtype=float).T
    keys = rng.uniform(low, high, (30, len(LIMBS)))
    first, second = rng.integers(0, 30, (2, n))
    t = rng.uniform(0, 1, (n, 1))
    angles = (1 - t) * keys[first] + t * keys[second] + rng.normal(0, 4, (n, len(LIMBS)))
    start, end = skeleton(np.deg2rad(np.clip(angles, low, high)))
    images = np.concatenate([render(start[i : i + 500], end[i : i + 500], rng) for i in range(0, n, 500)])
    histograms = [edges(images[i : i + 500]) for i in range(0, n, 500)]
    return People(sparse.csr_array(sparse.vstack(histograms)), end.reshape(n, -1), images)


def skeleton(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends (n, limbs, 2) of all limbs, in centimeters around the hip; y points down."""
    n = len(angles)
    start, end = np.zeros((n, len(LIMBS), 2)), np.zeros((n, len(LIMBS), 2))
    heading = np.zeros((n, len(LIMBS)))
    for limb, (name, parent) in enumerate(zip(LIMBS, PARENTS)):
        up = name in ("torso", "head")
        base = 0.0 if parent is None or (parent == 0 and not up) else heading[:, parent]
        heading[:, limb] = base + angles[:, limb]
        start[:, limb] = 0.0 if parent is None else end[:, parent]
        sign = -1.0 if up else 1.0
        step = np.stack([np.sin(heading[:, limb]), sign * np.cos(heading[:, limb])], axis=-1)
        end[:, limb] = start[:, limb] + LENGTHS[name] * step
    return start, end


def render(start: np.ndarray, end: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gray images (n, SIZE, SIZE): capsules on a smooth background, with noise."""
    n = len(start)
    scale = SIZE / HEIGHT / 1.45 * rng.uniform(0.95, 1.05, (n, 1, 1))
    place = SIZE / 2 + rng.uniform(-1, 1, (n, 1, 2)) - [0, 2]
    a, b = start * scale + place, end * scale + place
    coarse = rng.uniform(0.4, 0.6, (n, 4, 4)).astype(np.float32)
    image = ndimage.zoom(coarse, (1, SIZE / 4, SIZE / 4), order=1)
    dark = rng.uniform(size=(n, len(LIMBS))) < 0.5
    shade = np.where(dark, 0.0, 0.75) + rng.uniform(0, 0.25, (n, len(LIMBS)))
    shade = shade.astype(np.float32)
    shade[:, [4, 5]] = shade[:, [2, 3]]  # sleeves and trouser legs are alike
    shade[:, [8, 9]] = shade[:, [6, 7]]
    width = np.array([WIDTHS[name] for name in LIMBS]) * scale[:, 0] * rng.uniform(0.8, 1.25, (n, 1))
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float32)
    for limb in range(len(LIMBS)):
        along = (b - a)[:, limb].astype(np.float32)
        px = x - a[:, limb, 0, None, None].astype(np.float32)
        py = y - a[:, limb, 1, None, None].astype(np.float32)
        length = (along**2).sum(axis=1)[:, None, None]
        t = np.clip((px * along[:, 0, None, None] + py * along[:, 1, None, None]) / length, 0, 1)
        distance = np.hypot(px - t * along[:, 0, None, None], py - t * along[:, 1, None, None])
        inside = np.clip(width[:, limb, None, None].astype(np.float32) / 2 - distance + 0.5, 0, 1)
        image = image * (1 - inside) + inside * shade[:, limb, None, None]
    return (image + rng.normal(0, 0.02, image.shape)).astype(np.float32)


def edges(images: np.ndarray) -> sparse.csr_array:
    """Histograms of edge directions over grids of several scales, blocks side by side, as sparse rows of length one."""
    smooth = ndimage.gaussian_filter(images, (0, 0.7, 0.7))
    gy, gx = np.gradient(smooth, axis=(1, 2))
    size = np.hypot(gx, gy)
    size[size < 0.06] = 0
    bins = ((np.arctan2(gy, gx) % np.pi) / np.pi * DIRECTIONS).astype(int) % DIRECTIONS
    planes = np.stack([np.where(bins == d, size, 0) for d in range(DIRECTIONS)], axis=1)
    parts = []
    for cells in CELLS:
        side = SIZE // cells
        blocks = planes.reshape(len(images), DIRECTIONS, cells, side, cells, side).sum(axis=(3, 5))
        flat = blocks.reshape(len(images), -1)
        parts.append(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-6))
    return sparse.csr_array(np.hstack(parts).astype(np.float32))


def pose_error(joints: np.ndarray, queries: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Mean distance in centimeters between the joints of each query and those of its neighbors (queries,)."""
    found = joints[ids].reshape(*ids.shape, -1, 2)
    own = queries.reshape(len(queries), 1, -1, 2)
    return np.linalg.norm(found - own, axis=3).mean(axis=(1, 2))
