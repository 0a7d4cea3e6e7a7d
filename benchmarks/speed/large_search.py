"""Search beyond 100,000 points: cells beside inverted files and graphs, sorted orders and buckets, and what is read.

``python -m benchmarks.speed.large_search [PIECE…]`` measures some pieces, for a run in several sittings.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness, report
from benchmarks.speed import _large_methods as methods
from benchmarks.speed import _large_model
from benchmarks.speed._large_methods import Points
from benchmarks.speed._patches import patches

TITLE = "Search beyond 100,000 points"
NOTES = """
k = 10, float32, one thread, CPU time. *patches* are 8 × 8 pixels of the images of the data sets here (MNIST, USPS,
COIL-20, five sets of faces): every patch of an image that spans at least 8 gray levels, each once, a quarter of each
kind as far as it goes, in one order that is drawn. 300 queries in one call, 100 of ten million. *recall* counts a
neighbor that is no farther than the true tenth one. A method has the first of a list of settings that reaches 0.99, the
last one if none does. *set-up* is the time of the first `add` or build, *new metric* that until the same points answer
under diag(0.5 … 2): ours measures centers and codes again, others transform the points and build again (graphs: the
time of the first build). *condition 10⁴* is a diagonal metric of that condition, which the index took with
`with_metric`. *on disk*: the points stay in their file. *reads* are what a query touches: cells, items in them (of
which a tile of 64 is left out by its lengths), and points compared. *few points* are sets below 100,000, where "auto"
makes no cells and has the same answers; its ratio is over `cells=None`. *forced* are cells where "auto" makes none: on
embeddings of 10,000 to 20,000 points, real ones at hand. *exact, cells* bounds what `ExactIndex` could leave out: the
share of the items that |q − μ| − |x − μ|, and the plane between two centers, cannot rule out at the true tenth
distance. *orders*: 32 sorted orders and as many tables of buckets, ε = 1.5, k = 1, ratio over the search with cells (a
scan below 100,000 points); *within* is the share of queries whose neighbor is at most 1 + ε times as far as the true
one, *farther* the mean of that quotient; *add* the CPU time of adding one point. *model* and *simulation* are told in
[Search to a billion points](../guide/search-billion.md). usearch, graphs of a million points and ten million points
take too long for this record: `python -m benchmarks.speed.large_search` measures them by name. Missed of what we aim
for: hnswlib is ahead at 100,000 points, where its build takes 19 times as long; set-up of a million was to be 5 s.
The machine was busy with other work, which lengthens CPU times of all methods.
The rows of a million points for `HashIndex`, IVFFlat and IVF-RaBitQ were taken over from the printed log of their run;
the CPU total of this section counts 45 seconds for each in place of what they took.
"""
SIZES = (100_000, 1_000_000)
LARGEST = 10_000_000


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of all pieces; the quick form has 20,000 patches."""
    if quick:
        made = Points(*patches(20_000, 50))
        return [row for _, measure in pieces(20_000, quick=True) for row in measure(made)]
    rows = [row for name in PIECES if name not in APART for row in piece(name)]
    rows += _large_model.modeled(rows, {n: piece(f"{n} visits") for n in SIZES})
    _large_model.draw(rows, report.PICTURES / "search_billion.png")
    return rows


def pieces(n: int, quick: bool = False) -> list[tuple[str, Callable[[Points], list[dict[str, Any]]]]]:
    """What is measured at a size: name → rows."""
    case = f"patches {n:,} × 64"
    if n == LARGEST:
        case = f"patches on disk {n:,} × 64"
        return [("HashIndex", lambda points: methods.cells(points, case, repeat=1)), ("orders", methods.sublinear)]
    found = [("HashIndex", lambda points: methods.cells(points, case)), ("orders", methods.sublinear)]
    found += [("HashIndex, cells=None", lambda points: methods.plain(points, case))]
    found += [("exact", lambda points: methods.exact(points, case))]
    for name in methods.rivals(64, n):
        found.append((name, lambda points, name=name: methods.rival(points, case, name)))
    return found if not quick else [part for part in found if part[0] not in methods.GRAPHS]


def large(n: int, name: str) -> list[dict[str, Any]]:
    """One method at one size."""
    return dict(pieces(n))[name](Points(*patches(n, 100 if n == LARGEST else 300), mapped=n == LARGEST))


PIECES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    f"{n} {name}": lambda n=n, name=name: large(n, name) for n in (*SIZES, LARGEST) for name, _ in pieces(n)
} | {"few": methods.few, "forced": methods.forced, "orders 10000": lambda: methods.sublinear(Points(*patches(10_000)))}

APART = {name for name in PIECES if name.startswith(str(LARGEST)) or name in ("1000000 hnswlib", "100000 usearch")}
"""Pieces that take long, or ten gigabytes: measured where they are named."""
PIECES |= {f"{n} visits": lambda n=n: _large_model.visits(Points(*patches(n))) for n in SIZES}
APART |= {f"{n} visits" for n in SIZES}


def piece(name: str) -> Any:
    """Rows of one piece, measured once, so that a run may be made of several."""
    files = [Path(__file__).with_name(f"_{part}.py") for part in ("large_methods", "patches")]
    return harness.remembered("large_search", (name, *files), PIECES[name])


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(PIECES)
    for name in wanted:
        print(name, piece(name), flush=True)
