"""Fig. 5.3 of Jain 2009: telling matching patches from others."""

import warnings

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

import gramian as gm
from benchmarks import harness, report
from benchmarks.papers.online.patches import faces, matching_pairs
from benchmarks.papers.online.streams import percentiles

TITLE = "Matching patches after online learning (Jain 2009, Fig. 5.3)"
NOTES = """
The Photo Tourism patches are not available. The stand-in cuts 16 × 16 patches from face images (CMU faces), views of
each textured scene point with random scale, rotation and shift, contrast normalized; 50,000 training pairs, half
matching, come from ten people, 100,000 test pairs from the ten others. All learners work on 64 principal coordinates
(the thesis: kernel space, linear kernel). Matching pairs ask for at most the 5th percentile of the squared distances,
others for at least the 95th. η is chosen on the first 1,000 pairs. Offline ITML sees 10,000 of the pairs. The figure
prints no numbers.
"""


def metrics(train, quick):
    """Learned metrics by name, and CPU seconds of LEGO and POLA on the same pairs at a fixed η."""
    rng = np.random.default_rng(1)
    left, right, match = matching_pairs(train, 2000 if quick else 50_000, rng)
    X = train.Z.astype(np.float64)
    pairs = gm.Pairs(left, right, match, bounds=percentiles(X, rng))
    found = {"Euclidean": gm.Mahalanobis.euclidean(X.shape[1])}
    for name, cls in (("LEGO", gm.LEGO), ("POLA", gm.OnlinePOLA), ("ITML-Online", gm.OnlineITML)):
        learner = cls(eta="auto").partial_fit(X, pairs)
        found[name] = learner.metric_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found["offline ITML"] = gm.ITML(max_iter=50, anchor=0).fit(X, pairs[:10_000]).metric_
    eta = gm.LEGO().partial_fit(X, pairs[:1000]).eta_
    seconds = [
        harness.cpu_time(lambda cls=cls: cls(eta=eta).partial_fit(X, pairs[:5000])) for cls in (gm.LEGO, gm.OnlinePOLA)
    ]
    return found, seconds[1] / seconds[0]


def run(quick=False):
    """Area under the ROC curve, recall at 95% precision, and the speed statement of the text."""
    train, test = faces(*((500, 500) if quick else (4000, 4000)))
    found, ratio = metrics(train, quick)
    left, right, match = matching_pairs(test, 5000 if quick else 100_000, np.random.default_rng(2))
    rows, curves = [], {}
    for name, metric in found.items():
        score = -metric.pair_sqdist(test.Z[left], test.Z[right])
        curves[name] = roc_curve(match, score)[:2]
        precision, recall, _ = precision_recall_curve(match, score)
        at = float(recall[precision >= 0.95].max(initial=0))
        note = f"recall {at:.3f} at 95% precision"
        rows.append({"case": "area under ROC", "method": name, "ours": roc_auc_score(match, score), "note": note})
    rows.append({"case": "speed", "method": "CPU of POLA / CPU of LEGO", "ours": ratio, "paper": 1.42, "note": ""})
    if not quick:
        draw(curves)
    return [{"table": "Fig. 5.3", "paper": None, **row, "ours": round(float(row["ours"]), 4)} for row in rows]


def draw(curves):
    """ROC curves."""
    from matplotlib import pyplot as plt

    colors = {"Euclidean": "#8d99ae", "POLA": "#e9c46a", "ITML-Online": "#f4a261", "LEGO": "#2a9d8f"}
    figure, ax = plt.subplots(figsize=(4.8, 4), layout="constrained")
    for name, (false, true) in curves.items():
        style = "--" if name == "offline ITML" else "-"
        ax.plot(false, true, style, color=colors.get(name, "#264653"), label=name, linewidth=1.4)
    ax.set(xlim=(0, 0.5), ylim=(0.4, 1), xlabel="false positive rate", ylabel="true positive rate")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(report.PICTURES / "online_roc.png", dpi=120)
    plt.close(figure)
