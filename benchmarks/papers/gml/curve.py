"""Figure 6.3 of Jain (2009) as a curve: errors by the number of labels, with the maximal-alignment kernel."""

import warnings

import numpy as np

from benchmarks.harness import ROOT, remembered
from benchmarks.papers.gml import semi_supervised
from benchmarks.papers.gml.rivals import maximal_alignment_factor
from benchmarks.papers.gml.semi_supervised import errors, hide, kernel_svm, text, usps
from gramian.manifold import NeighborGraph, graph_basis

TITLE = "G-ML, Figure 6.3: errors by the number of labels"
NOTES = """
Holds in part: G-ML has the lowest error in 5 of 20 places, is within 0.01 of the lowest in 11 and at most 0.034 from
it; the order-constrained kernel is as good, and supervised kernels are behind until labels are many. The protocol of
Figures 6.3 and 6.4 (the section above) at five numbers of labels, 5 splits, on 2,000 digits in place of 4,000, with one
rival more: the maximal-alignment kernel, α ≥ 0 without order on the 200 smoothest eigenvectors, SVM with C = 1. "Best
supervised" is the best of RBF, linear and quadratic kernels, found afterwards, which favors it. Errors with standard
errors over splits. Rivals are tuned as the section above says: once for all sets, on other splits, where γ of G-ML is
chosen in each split.
"""
SPLITS = 5
SHOWN = ("G-ML", "diffusion kernel", "order-constrained kernel", "maximal-alignment kernel", "label spreading")
SUPERVISED = ("RBF kernel", "linear kernel", "quadratic kernel")
FEW, MANY = (10, 30, 50, 70, 90), (50, 100, 150, 200, 250)


def tasks(quick):
    """Name, points, labels, numbers of labeled points."""
    yield "baseball-hockey", *text("basehock"), FEW
    if quick:
        return
    yield "pc-mac", *text("pcmac"), FEW
    X, y = usps(2000)
    yield "odd-even", X, y % 2, FEW
    yield "ten digits", X, y, MANY


def one_split(A, basis, X, y, labels):
    """Errors of all methods on the unlabeled points."""
    found = errors(A, basis, X, y, labels)
    hidden = labels < 0
    aligned = kernel_svm(maximal_alignment_factor(basis, labels), labels)
    found["maximal-alignment kernel"] = float(np.mean(aligned[hidden] != y[hidden]))
    found["G-ML"] = found.pop("path")[-1]
    return found


def measured(quick):
    """{(set, labels): {method: errors (splits,)}}."""
    found = {}
    for name, X, y, counts in tasks(quick):
        A = NeighborGraph(10)(X)
        basis = graph_basis(A, 200)
        for count in counts[1:2] if quick else counts:
            parts = []
            for seed in range(1 if quick else SPLITS):
                labels = hide(y, count, seed)
                key = (__file__, semi_supervised.__file__, name, count, seed, len(y))
                parts.append(remembered("gml_curve", key, lambda: one_split(A, basis, X, y, labels)))  # noqa: B023
            found[name, count] = {method: np.array([part[method] for part in parts]) for method in parts[0]}
    return found


def run(quick=False):
    """Errors at each number of labels, and the picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measured(quick)
    rows = []
    for (name, count), part in found.items():
        best = min(SUPERVISED, key=lambda method: part[method].mean())
        shown = {method: part[method] for method in SHOWN} | {f"best supervised ({best})": part[best]}
        rows += [_row(f"{name}, {count} labels", method, values) for method, values in shown.items()]
    if not quick:
        draw(found)
    return rows


def draw(found):
    """One panel for each set."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in found))
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    for axis, name in zip(figure.subplots(1, len(names)), names):
        cases = {count: part for (set_, count), part in found.items() if set_ == name}
        for method in (*SHOWN, *SUPERVISED):
            means = [part[method].mean() for part in cases.values()]
            style = "o-" if method == "G-ML" else "s--" if method in SHOWN else "^:"
            axis.plot(list(cases), means, style, ms=4, lw=2 if method == "G-ML" else 1.1, label=method)
        axis.set(title=name, xlabel="labels", ylim=(0, None))
    figure.axes[0].set_ylabel("error")
    figure.axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.savefig(ROOT / "docs" / "results" / "gml_curve.png", dpi=100)


def _row(case, method, values):
    note = f"± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return {"table": "Figure 6.3", "case": case, "method": method, "ours": values.mean(), "paper": None, "note": note}
