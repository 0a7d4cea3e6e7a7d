"""Real points in any number up to ten million: patches of 8 × 8 pixels of images that are at hand.

Every patch of an image, at each place, that is not blank (whose values span 8 gray levels of 256), each once. The
images are MNIST's digits, those of USPS, objects (COIL-20) and faces (ORL, Yale B, PIE, UMIST, CMU). Each of these
kinds gives a quarter of the points, or all that it has; MNIST, which has most, gives the rest.
"""

from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks import harness

SIDE = 8
BLANK = 8
"""A patch that spans fewer gray levels is left out."""
KINDS = {
    "usps": ("usps",),
    "objects": ("coil20_32x32",),
    "faces": ("orl_faces_32x32", "yaleb_cropped_32x32", "pie10p_faces", "umist_faces", "cmu_faces"),
    "digits": ("mnist",),
}
_IMAGES = 500


def patches(n: int, m: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 64), of a file that is mapped, and queries (m, 64): float32 gray levels, drawn once."""
    path = Path(harness.ROOT / "benchmarks" / ".cache" / f"patches-{n + m}.npy")
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        with path.with_suffix(".part").open("wb") as stream:
            np.save(stream, drawn(n + m))
        path.with_suffix(".part").rename(path)
    pool = np.load(path, mmap_mode="r")
    return pool[m:], np.array(pool[:m])


def drawn(n: int) -> np.ndarray:
    """n patches of all kinds, float32 (n, 64)."""
    rng, parts, left = np.random.default_rng(0), [], n
    for place, names in enumerate(KINDS.values()):
        share = -(-left // (len(KINDS) - place))  # of those that later kinds have to give
        some = np.concatenate([distinct(name, rng, 2 * share) for name in names])
        parts.append(some[rng.permutation(len(some))[:share]])
        left -= len(parts[-1])
    if left > 0:
        raise ValueError(f"patches: n must be at most {n - left:,}, got {n:,}.")
    return np.concatenate(parts)[rng.permutation(n)].astype(np.float32)


def distinct(name: str, rng: np.random.Generator, most: int) -> np.ndarray:
    """Patches of a set of images, uint8, each once; at most so many, which come from images drawn at random."""
    images, blocks, count = gray(name), [], 0
    order = rng.permutation(len(images))
    for start in range(0, len(order), _IMAGES):
        some = images[order[start : start + _IMAGES]]
        rows = sliding_window_view(some, (SIDE, SIDE), axis=(1, 2)).reshape(-1, SIDE * SIDE)
        rows = rows[rows.max(axis=1) - rows.min(axis=1) >= BLANK]
        blocks.append(rows)
        count += len(rows)
        if count >= most:
            break
    rows = np.ascontiguousarray(np.concatenate(blocks))
    factors = np.random.default_rng(1).integers(1, 2**63, size=SIDE, dtype=np.uint64) | np.uint64(1)
    names = (rows.view(np.uint64) * factors).sum(axis=1, dtype=np.uint64)  # equal for equal patches, hardly for others
    return rows[np.unique(names, return_index=True)[1]]


def gray(name: str) -> np.ndarray:
    """Images of a set as gray levels from 0 to 255, uint8 (count, height, width)."""
    data = harness.load(name)
    X = np.asarray(data.X, float)
    low, high = X.min(), X.max()
    height, width = (int(side) for side in np.ravel(data.image_shape))
    return np.rint(255 * (X - low) / (high - low)).astype(np.uint8).reshape(-1, height, width)
