"""The kernelized columns of Tables 1-3 with the kernel that does best on the test points: what no choice can exceed."""

import warnings
from functools import partial

import numpy as np

from benchmarks import harness
from benchmarks.papers.kpca_trick import protocol
from benchmarks.papers.kpca_trick.protocol import LEARNERS, SETS, accuracy, candidates, problem, split
from benchmarks.papers.kpca_trick.tables import ORDER, PAPER, error

TITLE = "The best kernel by test accuracy (Chatpatanasiri et al. 2010, Tables 1–3)"
SPLITS = 6
NOTES = f"""\
The kernelized learners of the tables, each with the one of the candidate kernels (the linear one not among them) that
has the best accuracy on the *test* points of the split: an upper bound for every way to choose one kernel per split,
not a result. {SPLITS} other splits (seeds below 100), with at most 1,500 test points. The note has the plain learner
on the same splits, and how far ahead of it the best kernel is, with the standard error of the paired difference."""


def best_scores(name: str, data, seed: int) -> dict[str, tuple[float, float]]:
    """For each learner the accuracy without a kernel, and the best one with a kernel."""
    X, y, test, truth, _ = split(name, data, seed)
    test, truth = test[:1500], truth[:1500]
    scores: dict[str, list] = {m: [] for m in LEARNERS}
    for kernel in candidates(name, X):
        A, B, learners = problem(kernel, X, y, test)
        for m, learner in learners.items():
            scores[m].append(accuracy(learner, A, y, B, truth))
    return {m: (values[0], max(values[1:])) for m, values in scores.items()}


def kept_scores(name: str, data, seed: int) -> dict:
    """The same, kept for the next run."""
    part = partial(best_scores, name, data, seed)
    return harness.remembered("kpca_trick", (protocol.__file__, "best kernel", name, seed), part)


def run(quick: bool = False) -> list[dict]:
    """A row per set and learner, then the mean absolute difference for each learner."""
    rows, gaps = [], {m: [] for m in LEARNERS}
    for name in ORDER[5:6] if quick else ORDER:
        data = harness.load(SETS[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            splits = [kept_scores(name, data, seed) for seed in range(1 if quick else SPLITS)]
        for m in LEARNERS:
            plain, best = np.array([scores[m] for scores in splits]).T
            gain, paper = best - plain, PAPER[f"K{m}"][ORDER.index(name)]
            note = f"{m} {plain.mean():.3f}; gain {gain.mean():+.3f} ± {error(gain):.3f}"
            rows.append(_row(name, f"K{m}", round(float(best.mean()), 4), paper, note))
            gaps[m].append(abs(best.mean() - paper))
    for m, values in gaps.items():
        rows.append(_row("mean absolute difference", f"K{m}", round(float(np.mean(values)), 4), None, ""))
    return rows


def _row(case, method, ours, paper, note) -> dict:
    return {"table": "Best kernel", "case": case, "method": method, "ours": ours, "paper": paper, "note": note}
