"""Tables 1-3 of Chatpatanasiri et al. (2010): 1-NN accuracy of NCA, LMNN and DNE, plain, kernelized and aligned."""

from functools import partial

import numpy as np

from benchmarks import harness
from benchmarks.papers.kpca_trick import protocol
from benchmarks.papers.kpca_trick.protocol import LEARNERS, SETS

TITLE = "Kernelized learners on ten data sets (Chatpatanasiri et al. 2010, Tables 1–3)"
SPLITS = 40
NOTES = f"""\
Accuracies are 0.018 from the print on average, but wins are not as many: kernel forms are strictly ahead of the plain
learner on 18 of 30 sets (paper 28), aligned ones on 19 (paper 24), also because the linear kernel is a candidate. 1-NN
test accuracy, mean over {SPLITS} random splits with 200 training points (100 for GLASS and IRIS), the same for
all methods. KNCA, KLMNN and KDNE take a kernel by cross-validation on the training points (three folds, five with 100
points), the AK forms the kernel of `align`, from the family of §5.1: 21 scaled Gaussian kernels, for M-USPS
polynomials of degrees 1–5. Alignment centers the kernels, as §3 assumes of the feature space. Cross-validation looks
at the linear kernel, under which a learner is the plain one, then at the family from wide to narrow, without kernels
too narrow for most training points to have a neighbor (k ≥ 0.1) and those with the Gram matrix of the one before, up
to centering and scale (99.9%); it takes the first that is behind the best by at most half the standard error of their
paired difference. NCA in kernel coordinates has the penalty of Theorem 3, a tenth of the mean eigenvalue of the
scatter of near neighbors of one class, and 15 steps; LMNN has the penalty `reg="pull"` and 30 steps, k = 3; DNE has k
= 1. Features are standardized by the training points (not for M-USPS). The paper says none of this; it was settled on
other splits of these sets (seeds below 100), after an earlier protocol had been run on these forty (the document's
page says which). BREAST is one of two Wisconsin sets, the paper does not say which: both are reported, the original
one against the printed number. Win/draw/lose is counted at the two printed digits, as in the paper; the second count,
ours, calls a mean paired difference within two standard errors a draw. Splits are kept in `benchmarks/.parts` as they
are done, so that the command can be stopped and run again; the CPU seconds are those of all splits."""

ORDER = [name for name in SETS if "wdbc" not in name]
PAPER = {
    "NCA": (0.89, 0.95, 0.61, 0.83, 0.96, 0.87, 0.68, 0.82, 0.47, 0.88),
    "KNCA": (0.92, 0.97, 0.69, 0.94, 0.96, 0.90, 0.71, 0.84, 0.50, 0.91),
    "AKNCA": (0.92, 0.96, 0.66, 0.92, 0.95, 0.88, 0.67, 0.84, 0.49, 0.91),
    "LMNN": (0.84, 0.95, 0.63, 0.88, 0.95, 0.80, 0.68, 0.81, 0.47, 0.93),
    "KLMNN": (0.87, 0.97, 0.69, 0.95, 0.96, 0.93, 0.71, 0.85, 0.48, 0.94),
    "AKLMNN": (0.88, 0.97, 0.66, 0.94, 0.95, 0.88, 0.72, 0.84, 0.54, 0.95),
    "DNE": (0.79, 0.96, 0.65, 0.87, 0.95, 0.89, 0.67, 0.84, 0.40, 0.94),
    "KDNE": (0.90, 0.97, 0.70, 0.95, 0.97, 0.91, 0.69, 0.85, 0.48, 0.94),
    "AKDNE": (0.83, 0.96, 0.67, 0.95, 0.96, 0.89, 0.70, 0.85, 0.47, 0.94),
}
WINS = {
    "KNCA": "9/1/0",
    "AKNCA": "8/0/2",
    "KLMNN": "10/0/0",
    "AKLMNN": "9/1/0",
    "KDNE": "9/1/0",
    "AKDNE": "7/3/0",
}


def all_scores(names: list[str], splits: int) -> dict[str, dict[str, np.ndarray]]:
    """Accuracies by set and method, (splits,) each; done split by split over all sets, each kept for the next run."""
    sets = {name: harness.load(SETS[name]) for name in names}
    done: dict[str, list] = {name: [] for name in names}
    for seed in range(100, 100 + splits):
        for name, data in sets.items():
            part = partial(protocol.split_scores, name, data, seed)
            done[name].append(harness.remembered("kpca_trick", (protocol.__file__, name, seed), part))
        print(f"split {seed - 99} of {splits}", flush=True)
    return {name: {m: np.array([part[m] for part in parts]) for m in PAPER} for name, parts in done.items()}


def record(wins: np.ndarray) -> str:
    """Win/draw/lose as the paper writes it."""
    return f"{(wins > 0).sum()}/{(wins == 0).sum()}/{(wins < 0).sum()}"


def error(gain: np.ndarray) -> float:
    """Standard error of the mean of paired differences."""
    return float(gain.std() / np.sqrt(len(gain)))


def significant(gain: np.ndarray) -> float:
    """Mean of paired differences, zero when it is within two standard errors of zero."""
    return float(gain.mean()) if abs(gain.mean()) > 2 * error(gain) else 0.0


def summary(table: str, base: str, means: dict) -> list[dict]:
    """Rows of one table, with the win/draw/lose rows at its end."""
    rows, listed = [], [name for name in means if name in ORDER]
    for name in means:
        for method in (base, f"K{base}", f"AK{base}"):
            values, gain = means[name][method], means[name][method] - means[name][base]
            paper = PAPER[method][ORDER.index(name)] if name in ORDER else None
            note = f"± {values.std():.3f}"
            if method != base:
                note += f"; gain {gain.mean():+.4f} ± {error(gain):.4f}"
            rows.append(_row(table, name, method, round(float(values.mean()), 4), paper, note))
    for method in (f"K{base}", f"AK{base}"):
        printed = [round(means[n][method].mean(), 2) - round(means[n][base].mean(), 2) for n in listed]
        clear = [significant(means[n][method] - means[n][base]) for n in listed]
        note = f"{record(np.round(printed, 2))}; paper {WINS[method]}; by paired differences {record(np.array(clear))}"
        rows.append(_row(table, "win/draw/lose", method, None, None, note))
    return rows


def run(quick: bool = False) -> list[dict]:
    """Rows for every data set and method, then the win/draw/lose rows."""
    means = all_scores(["BALANCE", "IRIS"] if quick else list(SETS), 1 if quick else SPLITS)
    rows = [row for number, base in enumerate(LEARNERS, 1) for row in summary(f"Table {number}", base, means)]
    gaps = [abs(row["ours"] - row["paper"]) for row in rows if row["paper"] is not None]
    note = f"largest {max(gaps):.3f}; {sum(gap > 0.04 for gap in gaps)} of {len(gaps)} cells above 0.04"
    return [*rows, _row("Tables 1–3", "mean absolute difference", "all", round(float(np.mean(gaps)), 4), None, note)]


def _row(table, case, method, ours, paper, note) -> dict:
    return {"table": table, "case": case, "method": method, "ours": ours, "paper": paper, "note": note}
