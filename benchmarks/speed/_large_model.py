"""What a query costs at sizes that were not measured: a model of cells, its constants, and a simulation beside it."""

from typing import Any

import numpy as np
from scipy.optimize import nnls

import gramian as gm
from benchmarks.speed._large_methods import Points
from benchmarks.speed._search_methods import metrics
from gramian.search.cell_candidates import cell_scores, for_list
from gramian.search.hash_search import HashSearch

D, BITS, K = 64, 256, 10
SIZES = (10**5, 10**6, 10**7, 10**8, 10**9)
PAGE = 4096
KEPT = BITS / 8 + 8 + 4
"""Bytes an item beside its point: code, length, cell; a point in single precision has 4 D."""


def visits(points: Points) -> dict[str, list[float]]:
    """Cells that each query visits, and the sizes of visited cells in units of the mean size."""
    index = gm.HashIndex(metrics(points.X.shape[1])[0], random_state=0).add(points.X)
    search = HashSearch(index, index._items, points.Q, None)
    scores = cell_scores(search.candidates, search.asked, slice(0, len(points.Q)))
    visited = scores <= for_list(search.candidates.reach, K) * np.sqrt(points.nearest[:, -1:])  # (m, L)
    sizes = np.bincount(index._items["cells"], minlength=scores.shape[1]) / (len(points.X) / scores.shape[1])
    some = np.random.default_rng(0).permutation(np.flatnonzero(visited.ravel()))[:3000] % scores.shape[1]
    return {"cells": visited.sum(axis=1).tolist(), "sizes": sizes[some].tolist()}


def simulated(drawn: dict[str, list[float]], n: int, count: int = 20_000) -> np.ndarray:
    """Items in the cells of some queries of n points in √n cells, cells drawn from a measured distribution."""
    rng = np.random.default_rng(0)
    cells = rng.choice(drawn["cells"], count).astype(int)
    sizes = rng.choice(drawn["sizes"], cells.sum()) * n**0.5
    return np.add.reduceat(sizes, np.concatenate([[0], np.cumsum(cells)[:-1]]))


def terms(n: float, cells: float, items: float, compared: float) -> list[float]:
    """What the time of a query is made of: centers, visited cells, codes, comparisons."""
    return [n**0.5, cells, items, compared]


def modeled(rows: list[dict[str, Any]], drawn: dict[int, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """Rows of the model: constants of the time by nonnegative least squares of the settings that were measured."""
    measured = [row for row in rows if row["method"].startswith("HashIndex") and "cells_read" in row and size(row)]
    A = np.array([terms(size(row), row["cells_read"], row["items_read"], row["compared"]) for row in measured])
    y = np.array([row["cpu_s"] for row in measured])
    constants = nnls(A / y[:, None], np.ones(len(y)))[0]  # relative errors
    off = np.abs(A @ constants / y - 1).max()
    told = "{:.1f} ns a center, {:.0f} a cell, {:.2f} a code, {:.0f} a comparison".format(*1e9 * constants)
    told += f"; within {off:.0%}"
    own = {size(row): row for row in measured if row["method"] == "HashIndex"}
    low, high = min(own), max(own)
    power = np.log(own[high]["compared"] / own[low]["compared"]) / np.log(high / low)
    made = []
    for n in SIZES:
        items = simulated(drawn[high], n)
        cells, mean = float(np.mean(drawn[high]["cells"])), float(items.mean())
        compared = own[high]["compared"] * (n / high) ** power
        read = 8 * 3 * D * n**0.5 + mean * (BITS / 8) + compared * 4 * D
        found = {
            "case": f"model, n = {n:,}",
            "method": "HashIndex",
            "cpu_s": float(terms(n, cells, mean, compared) @ constants),
        }
        found |= {"cells_read": cells, "items_read": mean, "compared": compared, "bytes_per_item": KEPT + 4 * D}
        found |= {
            "bytes_read": read,
            "pages_read": cells + mean * BITS / 8 / PAGE + compared,
            "memory_gb": n * KEPT / 1e9,
        }
        found |= {"items_99": float(np.quantile(items, 0.99)), "setting": told}
        if n in own:
            found |= {"measured_s": own[n]["cpu_s"], "measured_items": own[n]["items_read"]}
        made.append(found)
    check = simulated(drawn[low], high)
    found = {"case": f"simulation of {high:,} from {low:,}", "method": "HashIndex", "items_read": float(check.mean())}
    return [*made, found | {"items_99": float(np.quantile(check, 0.99)), "measured_items": own[high]["items_read"]}]


def size(row: dict[str, Any]) -> int:
    """Number of points of a measured row of patches; 0 for others."""
    case = str(row["case"])
    return int(case.split()[1].replace(",", "")) if case.startswith("patches ") and "disk" not in case else 0


def draw(rows: list[dict[str, Any]], path: Any) -> None:
    """Time and memory of a query against the number of points, model and measurement."""
    from gramian.plotting import canvas

    made = [row for row in rows if str(row["case"]).startswith("model")]
    n = [int(row["case"].split("= ")[1].replace(",", "")) for row in made]
    figure = canvas.figure(10, 4)
    time, memory = figure.subplots(1, 2)
    time.plot(n, [1e3 * row["cpu_s"] for row in made], label="model of HashIndex", color=canvas.COLORS[0])
    for place, name in enumerate(("HashIndex", "HashIndex, cells=None", "faiss IVFFlat", "ExactIndex")):
        found = [(size(row), 1e3 * row["cpu_s"]) for row in rows if row["method"] == name and size(row)]
        time.plot(
            *zip(*found), canvas.MARKERS[place], linestyle="", label=f"{name}, measured", color=canvas.COLORS[place]
        )
    memory.plot(n, [row["memory_gb"] for row in made], color=canvas.COLORS[0], label="in memory, GB")
    memory.plot(n, [row["bytes_read"] / 1e6 for row in made], color=canvas.COLORS[1], label="read by a query, MB")
    for ax, label in ((time, "CPU ms a query, one thread"), (memory, "gigabytes; megabytes")):
        ax.set_xscale("log"), ax.set_yscale("log")
        ax.set_xlabel("points of 64 features")
        ax.set_ylabel(label)
        ax.legend(frameon=False, fontsize=8)
        canvas.open_frame(ax)
    figure.savefig(path, dpi=110)
