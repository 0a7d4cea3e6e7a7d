"""The cells of Tables 1-3 that differ most from ours, and what moves them: one thing changed at a time."""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.papers.kpca_trick.protocol import (
    LEARNERS,
    SETS,
    accuracy,
    candidates,
    coordinates,
    penalized,
    split,
)
from benchmarks.papers.kpca_trick.tables import ORDER, PAPER
from gramian.kernels import align, polynomials, scaled_gaussians

TITLE = "What moves a cell (Chatpatanasiri et al. 2010, Tables 1–3)"
SPLITS = 10
NOTES = f"""\
The protocol of the tables with one thing changed at a time, on {SPLITS} other splits (seeds below 100), with at most
1,500 test points. *Width* is the σ of one Gaussian kernel of the family, for all splits. *Directions* are the rows of
L, of which the tables keep all (NCA) or those of negative eigenvalue (DNE); NCA with fewer starts from the principal
ones. A *normal start* of NCA is a matrix of standard normal numbers instead of the identity. *Near kernels* are those
of the family that cross-validation looks at, under which most training points have a neighbor."""
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def learned(learner, X, y, test, truth) -> float:
    """On the points themselves, or on given coordinates; a function makes the learner from them."""
    return accuracy(learner(X, y) if callable(learner) else learner, X, y, test, truth)


def aligned(learner, X, y, test, truth, center=True, near=False, family=scaled_gaussians) -> float:
    """On the coordinates of the aligned kernel."""
    kernels = candidates("", X)[1:] if near else family(X.shape[1])
    A, B = coordinates(align(kernels, X, y, center=center, warn=False), X, test)
    return learned(learner, A, y, B, truth)


def at_width(learner, width, X, y, test, truth) -> float:
    """On the coordinates of one kernel of the family."""
    A, B = coordinates(scaled_gaussians(X.shape[1], [width])[0], X, test)
    return learned(learner, A, y, B, truth)


def normal_start(X: np.ndarray, y: np.ndarray) -> gm.NCA:
    """NCA from a matrix of standard normal numbers."""
    d = X.shape[1]
    return gm.NCA(init=np.random.default_rng(0).standard_normal((d, d)), max_iter=100, anchor=0)


NCA, PULL, TABLE = LEARNERS["NCA"], LEARNERS["LMNN"], "as in the table"
FEW = {f"{r} directions": gm.NCA(r, max_iter=100, anchor=0) for r in (2, 3)}
CHANGES: dict[tuple[str, str], dict[str, Callable]] = {
    **{
        (name, "NCA"): {
            TABLE: partial(learned, NCA),
            **{change: partial(learned, learner) for change, learner in FEW.items()},
            "normal start": partial(learned, normal_start),
        }
        for name in ("GLASS", "IONOS", "M-USPS")
    },
    ("GLASS", "KNCA"): {
        **{f"width {w}": partial(at_width, penalized, w) for w in (0.25, 0.5, 1.0, 5.0)},
        "width 0.5, no penalty": partial(at_width, NCA, 0.5),
    },
    **{
        (name, "AKNCA"): {
            TABLE: partial(aligned, penalized),
            "no penalty": partial(aligned, NCA),
            "no penalty, 3 directions": partial(aligned, FEW["3 directions"]),
            "kernels not centered": partial(aligned, penalized, center=False),
            "no penalty, not centered": partial(aligned, NCA, center=False),
            "no penalty, not centered, normal start": partial(aligned, normal_start, center=False),
        }
        for name in ("PIMA", "YEAST")
    },
    ("MUSK2", "LMNN"): {
        'reg="pull", as in the table': partial(learned, PULL),
        "reg=0": partial(learned, gm.LMNN(tol=2e-2, max_iter=200, anchor=0)),
    },
    **{
        ("MUSK2", f"AK{m}"): {
            TABLE: partial(aligned, learner),
            "kernels not centered": partial(aligned, learner, center=False),
        }
        for m, learner in (("NCA", penalized), ("LMNN", PULL))
    },
    ("M-USPS", "AKLMNN"): {
        "30 steps, as in the table": partial(aligned, PULL, family=polynomials),
        "100 steps": partial(aligned, gm.LMNN(reg="pull", tol=2e-2, max_iter=100, anchor=0), family=polynomials),
        "degrees 1–4": partial(aligned, PULL, family=partial(polynomials, degrees=(1, 2, 3, 4))),
        "degrees 1–3": partial(aligned, PULL, family=partial(polynomials, degrees=(1, 2, 3))),
    },
    ("IRIS", "KDNE"): {
        **{f"width {w}": partial(at_width, gm.DNE(anchor=0), w) for w in (0.25, 0.5, 1.0, 2.5)},
        **{f"width 1.0, {r} directions": partial(at_width, gm.DNE(n_components=r, anchor=0), 1.0) for r in (2, 3)},
    },
    ("BALANCE", "KDNE"): {
        **{f"width {w}": partial(at_width, gm.DNE(anchor=0), w) for w in (0.5, 1.0, 2.5)},
        "width 1.0, k = 3": partial(at_width, gm.DNE(3, anchor=0), 1.0),
        "width 1.0, k = 3, 3 directions": partial(at_width, gm.DNE(3, n_components=3, anchor=0), 1.0),
        "width 1.0, k = 3, 1 direction": partial(at_width, gm.DNE(3, n_components=1, anchor=0), 1.0),
    },
    ("GLASS", "AKDNE"): {
        TABLE: partial(aligned, gm.DNE(anchor=0)),
        "k = 3": partial(aligned, gm.DNE(3, anchor=0)),
        "near kernels": partial(aligned, gm.DNE(anchor=0), near=True),
        "near kernels, k = 3": partial(aligned, gm.DNE(3, anchor=0), near=True),
    },
    ("MUSK2", "AKDNE"): {
        TABLE: partial(aligned, gm.DNE(anchor=0)),
        "kernels not centered": partial(aligned, gm.DNE(anchor=0), center=False),
        "kernels not centered, k = 3": partial(aligned, gm.DNE(3, anchor=0), center=False),
        "near kernels, not centered": partial(aligned, gm.DNE(anchor=0), center=False, near=True),
    },
}


def drawn(name: str, data, seed: int) -> Data:
    """A split with at most 1,500 test points."""
    X, y, test, truth, _ = split(name, data, seed)
    return X, y, test[:1500], truth[:1500]


def run(quick: bool = False) -> list[dict]:
    """A row per change; the quick form has one split of the first cells."""
    rows = []
    for (name, method), changes in list(CHANGES.items())[: 2 if quick else None]:
        data, paper = harness.load(SETS[name]), PAPER[method][ORDER.index(name)]
        draws = [drawn(name, data, seed) for seed in range(1 if quick else SPLITS)]
        for change, score in changes.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = np.array([score(*draw) for draw in draws])
            row = {
                "table": f"{method} on {name}",
                "case": change,
                "method": method,
                "ours": round(float(values.mean()), 4),
            }
            rows.append(row | {"paper": paper, "note": f"± {values.std():.3f}"})
            print(rows[-1], flush=True)
    return rows
