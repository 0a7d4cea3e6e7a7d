"""§5.1 of Chatpatanasiri et al. (2010): what the choice of a kernel costs, by alignment and by cross-validation."""

import time
import warnings

import numpy as np

from benchmarks import harness
from benchmarks.papers.kpca_trick.protocol import SETS, candidates, cross_validated, family, split
from gramian.kernels import align

TITLE = "The cost of choosing a kernel (Chatpatanasiri et al. 2010, §5.1)"
NOTES = """\
The paper says that for each set the overhead of cross-validation is several hours and that of alignment about
minutes. Here, on the first split of the tables with the same candidates: CPU seconds of cross-validation, for all
three learners together, and of `align`, once for all three; the ratio is that of the two. Cross-validation leaves out
kernels that the training points cannot tell from the one before, which the paper does not say it did."""
NAMES = ("BALANCE", "GLASS", "IRIS", "PIMA", "YEAST", "M-USPS")


def seconds(name: str, seed: int = 100) -> tuple[float, float]:
    """CPU seconds of cross-validation and of alignment on one split."""
    X, y, _, _, rng = split(name, harness.load(SETS[name]), seed)
    kernels = candidates(name, X)
    base = family(name, X.shape[1])
    align(base, X[:50], y[:50], center=True, warn=False)  # imports and caches are not the method's
    start = time.process_time()
    cross_validated(kernels, X, y, rng)
    middle = time.process_time()
    align(base, X, y, center=True, warn=False)
    return middle - start, time.process_time() - middle


def run(quick: bool = False) -> list[dict]:
    """Seconds and ratios for each set."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES[2:3] if quick else NAMES:
            slow, fast = seconds(name)
            case = {"table": "CPU seconds, cross-validation over alignment", "case": name, "paper": None}
            note = f"cross-validation {slow:.2f} s, alignment {fast:.3f} s"
            rows.append(case | {"method": "ratio", "ours": round(slow / fast, 1), "note": note})
    ratios = np.log([row["ours"] for row in rows])
    mean = round(float(np.exp(ratios.mean())), 1)
    note = "hours against minutes in the paper"
    return [*rows, rows[0] | {"case": "geometric mean", "ours": mean, "note": note}]
