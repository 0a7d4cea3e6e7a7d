"""Run ``python docs/pictures.py [NAME ...]``: draw the pictures of the guide into docs/images/guide."""

import os
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import gramian as gm

FOLDER = Path(__file__).resolve().parent / "images" / "guide"
BLUE, ORANGE, GRAY = "tab:blue", "tab:orange", "0.6"


def panels(n, width=3.2, height=3.0):
    """A row of n plots without ticks."""
    figure, axes = plt.subplots(1, n, figsize=(n * width, height), layout="constrained", squeeze=False)
    for ax in axes[0]:
        ax.set(xticks=[], yticks=[])
    return figure, axes[0]


def metrics():
    """The points one unit away from two centers: circles at first, ellipses under a learned metric."""
    data = gm.datasets.stretched(200, 2, condition=30, random_state=0)
    X, y = data.X, data.y
    learned = gm.RCA().fit(X, y).metric_
    circle = np.array([np.cos(t := np.linspace(0, 2 * np.pi, 200)), np.sin(t)]).T
    _, axes = panels(2, 3.6)
    for ax, metric, name in zip(axes, (gm.Mahalanobis.euclidean(2), learned), ("Euclidean", "learned")):
        ax.scatter(*X.T, c=np.where(y == 0, BLUE, ORANGE), s=10)
        shape = circle / np.sqrt(metric.pair_sqdist(circle, 0 * circle))[:, None]
        shape *= np.ptp(X, axis=0).min() / 3 / np.sqrt(np.prod(np.abs(shape).max(axis=0)))
        for center in (X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)):
            ax.plot(*(center + shape).T, color="black")
        ax.set(aspect="equal", title=f"one unit away: {name}")


def learners():
    """The ten nearest points of the query that gains most, before and after learning."""
    data = gm.datasets.stretched(300, 3, condition=100, random_state=0)
    sides = {"before": gm.Mahalanobis.euclidean(2), "after LMNN": gm.LMNN().fit(data.X, data.y).metric_}
    found = {name: gm.ExactIndex(side).add(data.X).query(data.X, k=11)[0][:, 1:] for name, side in sides.items()}
    right = {name: (data.y[ids] == data.y[:, None]).sum(axis=1) for name, ids in found.items()}
    query = int(np.argmax(right["after LMNN"] - right["before"]))
    _, axes = panels(2, 3.6)
    for ax, (name, ids) in zip(axes, found.items()):
        ax.scatter(*data.X.T, c=data.y, cmap="tab10", vmax=9, s=8, alpha=0.4)
        near = data.X[ids[query]]
        ax.scatter(*near.T, c=data.y[ids[query]], cmap="tab10", vmin=0, vmax=9, s=45, edgecolors="black")
        ax.scatter(*data.X[query], marker="*", s=200, c=f"C{data.y[query]}", edgecolors="black", zorder=3)
        x, y = data.X[query]
        reach = 1.3 * max(np.abs(data.X[ids[query]] - data.X[query]).max() for ids in found.values())
        ax.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))
        ax.set_title(f"{name}: {right[name][query]} of 10 are of its class")


def data():
    """The synthetic problems."""
    made = {name: getattr(gm.datasets, name)(random_state=0) for name in ("stretched", "xor", "rings", "moons")}
    _, axes = panels(len(made), 2.4, 2.6)
    for ax, (name, problem) in zip(axes, made.items()):
        ax.scatter(*problem.X[:, :2].T, c=problem.y, cmap="tab10", vmax=9, s=6)
        ax.set(title=name)


def constraints():
    """Pairs, a triplet and groups as lines between points."""
    X = np.array([[0.1, 0.2], [0.3, 0.75], [0.75, 0.85], [0.9, 0.3], [0.55, 0.4], [0.35, 0.1]])
    _, axes = panels(3, 2.8, 2.8)
    for ax, name in zip(axes, ("Pairs", "Triplets", "Chunklets")):
        ax.scatter(*X.T, s=60, color="black", zorder=3)
        ax.set(title=name, xlim=(-0.1, 1.1), ylim=(-0.1, 1.1))
    for a, b, similar in ((0, 5, True), (2, 1, True), (4, 2, False), (3, 4, False)):
        axes[0].plot(*X[[a, b]].T, color=BLUE if similar else ORANGE, ls="-" if similar else "--", lw=2)
    axes[0].set_xlabel("blue: similar, orange: dissimilar")
    axes[1].plot(*X[[4, 5]].T, color=BLUE, lw=2)
    axes[1].plot(*X[[4, 1]].T, color=ORANGE, ls="--", lw=2)
    for at, word in ((4, "   anchor"), (5, "   near"), (1, "   far")):
        axes[1].annotate(word, X[at], va="center")
    axes[1].set_xlabel("nearer to one than to the other")
    axes[2].scatter(*X.T, s=300, c=[BLUE, ORANGE, ORANGE, GRAY, GRAY, BLUE], alpha=0.5)
    axes[2].set_xlabel("groups; gray is in none")


def solvers():
    """Divergences of the number m from the prior 1, in closed form."""
    m = np.linspace(0.02, 4, 300)
    lines = {"LogDet": m - np.log(m) - 1, "von Neumann": m * np.log(m) - m + 1, "Frobenius": (m - 1) ** 2 / 2}
    ax = plt.subplots(figsize=(5, 3), layout="constrained")[1]
    for (name, values), style in zip(lines.items(), ("-", "--", ":")):
        ax.plot(m, values, style, label=name, lw=2)
    ax.set(xlabel="eigenvalue of M (that of the prior is 1)", ylabel="divergence", ylim=(0, 3))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


def box(ax, x, y, text):
    """Words in a rounded frame."""
    frame = {
        "boxstyle": "round,pad=0.4",
        "fc": "#e8f0fa" if "gm." in text or text == "metric" else "white",
        "ec": "0.4",
    }
    return ax.text(x, y, text, ha="center", va="center", bbox=frame, fontsize=9, zorder=3).get_bbox_patch()


def boxes(width, height, words, arrows):
    """A diagram: name → (x, y, text), and arrows (from, to, word)."""
    figure, ax = plt.subplots(figsize=(width, height))
    figure.subplots_adjust(0, 0, 1, 1)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.axis("off")
    frames = {name: box(ax, *word) for name, word in words.items()}
    for start, end, word in arrows:
        a, b = np.array(words[start][:2]), np.array(words[end][:2])
        line = {"arrowstyle": "-|>", "color": "0.4", "patchA": frames[start], "patchB": frames[end]}
        ax.annotate("", b, a, arrowprops=line)
        if word:
            ax.text(*(a + b) / 2, word, ha="center", va="center", fontsize=8, backgroundcolor="white")


def index():
    """Which learner when, as a tree."""
    words = {
        "know": (0.5, 0.93, "What do you know of similarity?"),
        "unsure": (0.1, 0.6, "gm.AutoMetric\n(anything;\nwhen unsure)"),
        "labels": (0.3, 0.6, "labels"),
        "pairs": (0.5, 0.6, "pairs"),
        "triplets": (0.68, 0.6, "triplets"),
        "groups": (0.83, 0.6, "groups"),
        "clicks": (0.95, 0.6, "clicks"),
        "lmnn": (0.21, 0.2, "gm.LMNN, gm.NCA\nneighbors"),
        "rca": (0.39, 0.2, "gm.RCA, gm.GMML\nmilliseconds"),
        "itml": (0.55, 0.2, "gm.ITML, gm.GMML"),
        "lsml": (0.71, 0.2, "gm.LSML, gm.SCML"),
        "plda": (0.84, 0.2, "gm.RCA\ngm.PLDA"),
        "lego": (0.95, 0.2, "gm.LEGO\nserve"),
    }
    arrows = [("know", name, "") for name in ("unsure", "labels", "pairs", "triplets", "groups", "clicks")]
    arrows += [("labels", "lmnn", "classify"), ("labels", "rca", "fast"), ("pairs", "itml", "")]
    arrows += [("triplets", "lsml", ""), ("groups", "plda", ""), ("clicks", "lego", "")]
    boxes(10, 3.4, words, arrows)


def export():
    """One file of coordinates, many engines."""
    words = {"metric": (0.12, 0.5, "metric"), "map": (0.42, 0.5, "x ↦ Lx\none matrix")}
    places = ("a step of a model:\nONNX, torch, scikit-learn", "an index:\nfaiss, hnswlib, usearch",
              "a database:\npgvector, Qdrant, Milvus")  # fmt: skip
    words |= {f"place{i}": (0.82, 0.85 - 0.35 * i, place) for i, place in enumerate(places)}
    arrows = [("metric", "map", "transform"), *(("map", f"place{i}", "") for i in range(3))]
    boxes(7, 2.8, words, arrows)


def beside():
    """What stands between a program and its database, and what comes of it."""
    words = {
        "program": (0.1, 0.75, "your program"),
        "sidecar": (0.42, 0.75, "gm.beside"),
        "database": (0.82, 0.75, "your database:\ndocuments and index\nas they are"),
        "space": (0.3, 0.2, "a folder:\nwhat was useful"),
        "map": (0.62, 0.2, "q ↦ q'\non trial, then used"),
    }
    arrows = [
        ("program", "sidecar", "query,\nuseful"),
        ("sidecar", "database", "q, and on trial q'"),
        ("sidecar", "space", ""),
    ]
    boxes(8, 2.6, words, [*arrows, ("space", "map", "learn"), ("map", "sidecar", "")])


def blocks():
    """Fits over blocks: statistics add up."""
    words = {f"block{i}": (0.12, 0.85 - 0.35 * i, f"block {i + 1} of rows") for i in range(3)}
    words |= {"sum": (0.52, 0.5, "sums of\nstatistics"), "metric": (0.85, 0.5, "metric")}
    boxes(7, 2.6, words, [*((f"block{i}", "sum", "") for i in range(3)), ("sum", "metric", "solve")])


def arrays():
    """Arrays stay where they are."""
    words = {"cpu": (0.12, 0.8, "NumPy array"), "gpu": (0.12, 0.2, "tensor on a GPU"), "work": (0.5, 0.5, "metric")}
    words |= {"cpu out": (0.88, 0.8, "NumPy array"), "gpu out": (0.88, 0.2, "tensor on that GPU")}
    boxes(7, 2.2, words, [("cpu", "work", ""), ("gpu", "work", ""), ("work", "cpu out", ""), ("work", "gpu out", "")])


def files():
    """A value, its file and its reader."""
    words = {
        "value": (0.15, 0.5, "metric, index"),
        "file": (0.5, 0.5, "one .gram file:\narrays and a\ntext header"),
    }
    words |= {"again": (0.85, 0.5, "the same value,\nor mapped from disk")}
    boxes(7, 1.8, words, [("value", "file", "save"), ("file", "again", "load")])


def command_line():
    """From a table to coordinates without Python."""
    words = {
        "table": (0.1, 0.5, "table.csv"),
        "fit": (0.37, 0.82, "metric.gram"),
        "scores": (0.37, 0.18, "scores, picture"),
    }
    words |= {"coordinates": (0.8, 0.82, "coordinates.csv")}
    arrows = [("table", "fit", "fit"), ("table", "scores", "evaluate"), ("fit", "coordinates", "transform")]
    boxes(7, 2.0, words, arrows)


def benchmarks():
    """How a measured page is made."""
    words = {
        "code": (0.12, 0.5, "script of\nbenchmarks/"),
        "rows": (0.5, 0.5, "CSV with\nevery run"),
        "page": (0.88, 0.5, "page and\npictures"),
    }
    boxes(7, 1.6, words, [("code", "rows", "run"), ("rows", "page", "render")])


def gains():
    """What each candidate of AutoMetric gains on wine."""
    X, y = gm.datasets.load("wine", return_X_y=True)
    gm.plotting.gains(gm.AutoMetric(random_state=0).fit(X, y).report_)


def queries():
    """What each candidate of QueryAdapter gains on 1,000 descriptions of Debian's packages (GRAMIAN_DATA)."""
    stored = np.load(Path(os.environ["GRAMIAN_DATA"]) / "debian_minilm.npz")
    rows = np.random.default_rng(0).permutation(len(stored["Q"]))[:1000]
    gm.plotting.gains(gm.QueryAdapter("both", random_state=0).fit(stored["Q"][rows], stored["D"][rows]).report_)


def judged(learner, relative, bounds, query, near, far, shown):
    """Teach what was clicked: relative to the list, or with the same two bounds for all."""
    if relative:
        learner.feedback(query, near, far, shown=shown)
        return
    for points, kind, target in ((near, "at_most", bounds[0]), (far, "at_least", bounds[1])):
        for point in points:
            learner.learn_one(query, point, target=target, kind=kind)


def precisions(X, y, relative, seed, marks):
    """Share of right ones among the ten nearest of unseen points, after ``marks`` judged lists of ten."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    held, base = order[:500], order[500:]
    learner, metric, found = gm.LEGO(), gm.Mahalanobis.euclidean(X.shape[1]), []
    bounds = np.percentile(metric.sqdist(X[base[:300]])[np.triu_indices(300, 1)], (5, 95))
    for count in range(max(marks) + 1):
        index = gm.ExactIndex(metric).add(X[base])
        if count in marks:
            ids, _ = index.query(X[held], k=10)
            found.append((y[base][ids] == y[held][:, None]).mean())
        query = rng.choice(base)
        ids, _ = index.query(X[[query]], k=11)
        shown = base[ids[0, 1:]]
        right = y[shown] == y[query]
        judged(learner, relative, bounds, X[query], X[shown[right]], X[shown[~right]], X[shown])
        metric = learner.metric_
    return found


def clicks():
    """Judged lists against precision on digits, five draws: targets relative to the list, and percentiles."""
    X, y = gm.datasets.load("digits", return_X_y=True)
    marks = (0, 5, 10, 20, 50, 100, 200)
    ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")[1]
    for relative, name, color in ((True, "feedback: relative to the list", BLUE), (False, "percentiles", ORANGE)):
        found = np.array([precisions(X, y, relative, seed, marks) for seed in range(5)])
        error = found.std(axis=0, ddof=1) / len(found) ** 0.5
        ax.errorbar(marks, found.mean(axis=0), error, marker="o", color=color, label=name, capsize=3)
        print(name, found.mean(axis=0).round(3).tolist(), error.round(3).tolist())
    ax.set(xlabel="lists of ten that were judged", ylabel="right ones among the ten nearest")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


PICTURES = (
    metrics,
    learners,
    data,
    constraints,
    solvers,
    index,
    export,
    beside,
    blocks,
    arrays,
    files,
    command_line,
    benchmarks,
    gains,
    queries,
    clicks,
)

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        if len(sys.argv) == 1 or picture.__name__ in sys.argv[1:]:
            picture()
            plt.gcf().savefig(FOLDER / f"{picture.__name__}.png", dpi=100, bbox_inches="tight", pad_inches=0.1)
            plt.close("all")
            print(picture.__name__, flush=True)
