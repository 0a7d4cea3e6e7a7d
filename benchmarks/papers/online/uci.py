"""Fig. 5.1 of Jain 2009: online learners on small data sets."""

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

import gramian as gm
from benchmarks import harness, report
from benchmarks.papers.online.streams import balanced_pairs, knn_error, standardize

TITLE = "Online learners on UCI sets (Jain 2009, Fig. 5.1)"
NOTES = """
That LEGO is the best of the online learners is not reproduced: it is level with POLA within the error of ten splits
on most sets, as the notes show (the paired difference LEGO − POLA, with its standard error, stands beside POLA). 4-NN
error, mean over 5 runs of 2-fold cross-validation, columns standardized on the training half. Each online learner
sees 10,000 random pairs of the training half, half of one class; the target is the 5th percentile of the squared
distances for pairs of one class and the 95th for the others, as in the thesis. η is chosen on the first 1,000 pairs
for all three online learners (the thesis does so for LEGO and POLA). "bounds" rows read the targets as bounds
(squared hinge) instead of equalities. The figure prints no numbers, so the paper column is empty; its statement is
that LEGO is best of the online learners and near the offline one. The thesis does not say which soybean set or which
scaling it used: this is the large set. On raw columns the online learners stay near the Euclidean error on wine
(0.31), whose largest column hides the others; offline ITML reaches 0.10 there. The last row compares CPU seconds at a
fixed η.
"""
NAMES = ("wine", "ionosphere", "balance_scale", "iris", "soybean_large")
N_PAIRS = 10_000


def learners():
    """The online rows of the figure."""
    online = {"LEGO": gm.LEGO, "POLA": gm.OnlinePOLA, "ITML-Online": gm.OnlineITML}
    equal = {name: cls(eta="auto", hinge=False) for name, cls in online.items()}
    return equal | {"LEGO, bounds": gm.LEGO(), "ITML-Online, bounds": gm.OnlineITML()}


def split_errors(X, y, train, test, seed):
    """Errors of all methods on one split."""
    X, rng = standardize(X, train), np.random.default_rng(seed)
    near, far = (X[train], y[train]), (X[test], y[test])
    pairs = balanced_pairs(*near, N_PAIRS, rng)
    metrics = {"Euclidean": None}
    metrics |= {name: learner.partial_fit(X[train], pairs).metric_ for name, learner in learners().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metrics["offline ITML"] = gm.ITML(random_state=seed, anchor=0).fit(*near).metric_
    return {name: knn_error(metric, near, far, 4) for name, metric in metrics.items()}


def errors(name, n_runs):
    """Errors of each method on all splits of a set."""
    data = harness.load(name)
    X, y = np.asarray(data.X, float), np.asarray(data.y)
    found = [
        split_errors(X, y, train, test, run)
        for run in range(n_runs)
        for train, test in StratifiedKFold(2, shuffle=True, random_state=run).split(X, y)
    ]
    return {method: np.array([f[method] for f in found]) for method in found[0]}


def told(values, lego=None):
    """Standard error of a mean, and of the paired difference LEGO less the method."""
    note = f"± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"
    if lego is None:
        return note
    ahead = lego - values
    return note + f"; LEGO {ahead.mean():+.4f} ± {ahead.std(ddof=1) / np.sqrt(len(ahead)):.4f}"


def step_ratio(name):
    """CPU seconds of POLA over those of LEGO on the same pairs."""
    data = harness.load(name)
    X, y = standardize(np.asarray(data.X, float), slice(None)), np.asarray(data.y)
    pairs = balanced_pairs(X, y, 3000, np.random.default_rng(0))
    seconds = [
        harness.cpu_time(lambda cls=cls, eta=eta: cls(eta=eta, hinge=False).partial_fit(X, pairs))
        for cls, eta in ((gm.LEGO, 1e-3), (gm.OnlinePOLA, np.inf))
    ]
    return seconds[1] / seconds[0]


def run(quick=False):
    """Rows of the figure, and the speed statement of its text."""
    rows, table = [], {}
    for name in NAMES[:2] if quick else NAMES:
        table[name] = errors(name, 1 if quick else 5)
        for method, values in table[name].items():
            note = told(values, None if method == "LEGO" else table[name]["LEGO"])
            case = {"table": "Fig. 5.1, 4-NN error", "case": name, "method": method}
            rows.append(case | {"ours": round(float(values.mean()), 4), "paper": None, "note": note})
    ratio = np.exp(np.mean([np.log(step_ratio(name)) for name in table]))
    rows.append(
        {
            "table": "Speed (text of §5.3)",
            "case": "all sets",
            "method": "CPU of POLA / CPU of LEGO",
            "ours": round(float(ratio), 1),
            "paper": 16.6,
            "note": "geometric mean over the sets; one eigenvector by Lanczos here, not all of them",
        }
    )
    if not quick:
        draw(table)
    return rows


def draw(table):
    """Bars of error."""
    from matplotlib import pyplot as plt

    methods = ["Euclidean", "POLA", "ITML-Online", "LEGO", "offline ITML"]
    colors = ["#8d99ae", "#e9c46a", "#f4a261", "#2a9d8f", "#264653"]
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    for i, (method, color) in enumerate(zip(methods, colors)):
        at = np.arange(len(table)) + (i - 2) * 0.16
        means = [table[name][method].mean() for name in table]
        errors = [table[name][method].std(ddof=1) / np.sqrt(len(table[name][method])) for name in table]
        ax.bar(at, means, 0.15, yerr=errors, color=color, label=method, error_kw={"lw": 0.8})
    ax.set_xticks(range(len(table)), [name.replace("_", " ") for name in table])
    ax.set_ylabel("4-NN error")
    ax.legend(frameon=False, ncols=5, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(report.PICTURES / "online_uci.png", dpi=120)
    plt.close(figure)
