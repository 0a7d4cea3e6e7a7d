"""Image patches with jitter: the stand-in for the Photo Tourism patches of Jain 2009, §5.3."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from benchmarks import harness
from benchmarks.papers.online.streams import principal

SIZE, VIEWS = 16, 11


@dataclass
class Patches:
    """Coordinates Z (n, r) of patches, and the scene point of each."""

    Z: np.ndarray
    point: np.ndarray


def cut(images, n_points, rng):
    """VIEWS jittered patches of each scene point, scale ±20%, rotation ±20°, shift ±1.5 pixels, unit contrast.

    As interest points, the textured third of random places is taken.
    """
    image, row, column = (np.repeat(part, VIEWS) for part in textured(images, n_points, rng))
    m = len(image)
    angle, scale = np.deg2rad(rng.uniform(-20, 20, m)), rng.uniform(0.8, 1.2, m)
    grid = np.arange(SIZE) - (SIZE - 1) / 2
    dy, dx = (g.ravel() for g in np.meshgrid(grid, grid, indexing="ij"))
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    y = (row + rng.uniform(-1.5, 1.5, m))[:, None] + cos[:, None] * dy - sin[:, None] * dx
    x = (column + rng.uniform(-1.5, 1.5, m))[:, None] + sin[:, None] * dy + cos[:, None] * dx
    where = np.stack([np.broadcast_to(image[:, None], y.shape), y, x]).reshape(3, -1)
    patches = ndimage.map_coordinates(images.astype(np.float32), where, order=1, mode="nearest").reshape(m, -1)
    patches -= patches.mean(axis=1, keepdims=True)
    return patches / patches.std(axis=1, keepdims=True), np.repeat(np.arange(n_points), VIEWS)


def textured(images, n_points, rng):
    """Images, rows and columns of places with the largest gray-level deviation around them."""
    n, height, width = images.shape
    image = rng.integers(0, n, 3 * n_points)
    row, column = (rng.uniform(14, limit - 14, 3 * n_points) for limit in (height, width))
    at = image, row.astype(int), column.astype(int)
    smooth = [ndimage.uniform_filter(f, (0, SIZE, SIZE)) for f in (images.astype(float), images.astype(float) ** 2)]
    keep = np.argsort(-(smooth[1][at] - smooth[0][at] ** 2))[:n_points]
    return image[keep], row[keep], column[keep]


def faces(n_train, n_test, r=64, seed=0):
    """Training patches of ten people and test patches of the ten others, in r principal coordinates of the former."""
    data = harness.load("cmu_faces")
    shape = tuple(int(s) for s in data.image_shape)
    images, person = np.asarray(data.X).reshape(-1, *shape), np.asarray(data.y_person)
    rng = np.random.default_rng(seed)
    (A, a), (B, b) = (cut(images[side], m, rng) for side, m in ((person < 10, n_train), (person >= 10, n_test)))
    embed = principal(A[:20_000].astype(np.float64), r)
    spread = embed(A[:20_000].astype(np.float64)).std()
    return [Patches((embed(P) / spread).astype(np.float32), p) for P, p in ((A, a), (B, b))]


def matching_pairs(patches, count, rng):
    """Half matching, half non-matching pairs in random order: (left, right, match)."""
    n_points = patches.point[-1] + 1
    half = count // 2
    start = rng.integers(0, n_points, half) * VIEWS
    first = rng.integers(0, VIEWS, half)
    second = (first + rng.integers(1, VIEWS, half)) % VIEWS
    left = np.concatenate([start + first, rng.integers(0, len(patches.point), half)])
    right = np.concatenate([start + second, rng.integers(0, len(patches.point), half)])
    order = rng.permutation(2 * half)
    left, right = left[order], right[order]
    return left, right, patches.point[left] == patches.point[right]
