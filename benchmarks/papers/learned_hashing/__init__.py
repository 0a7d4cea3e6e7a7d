"""Jain 2009, chapter 4: hash functions that carry a learned metric."""

from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian.search import knn_classify


def error(index: Any, y: np.ndarray, Q: Any, y_query: np.ndarray, k: int) -> float:
    """k-NN classification error."""
    return float(np.mean(knn_classify(index, y, Q, k=k) != y_query))


def share(index: Any, Q: Any, k: int) -> float:
    """Mean share of the database that a query compares."""
    return float(index.compared(Q, k).mean() / len(index))


def speedup(index: Any, exact: gm.ExactIndex, Q: Any, k: int, together: bool = False) -> float:
    """CPU time of the linear scan over that of the hashed search, keys included, one query at a time or together."""
    m = Q.shape[0] if hasattr(Q, "shape") else len(Q)
    some = [Q] if together else [Q[i : i + 1] for i in range(min(30, m))]
    slow = harness.cpu_time(lambda: [exact.query(q, k) for q in some], repeats=9)
    return slow / harness.cpu_time(lambda: [index.query(q, k) for q in some], repeats=9)


def picture(name: str, panels: list[tuple[str, str, str, dict[str, tuple[list, list]]]]) -> None:
    """Panels side by side: (title, x label, y label, {curve: (x, y)}); dashed lines for a constant."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from benchmarks.report import PICTURES

    figure, axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 3.6), squeeze=False)
    for axis, (title, x_label, y_label, curves) in zip(axes[0], panels):
        for label, (x, y) in curves.items():
            flat = "linear" in label
            color = "C1" if "learned" in label else "C0"
            axis.plot(x, y, color=color, linestyle="--" if flat else "-", marker=None if flat else "o", label=label)
        if "bits" in x_label or x_label == "k":
            axis.set_xscale("log", base=2 if "bits" in x_label else 10)
        axis.set(title=title, xlabel=x_label, ylabel=y_label)
        axis.legend(fontsize=8)
    figure.tight_layout()
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / f"{name}.png", dpi=110)
    plt.close(figure)
