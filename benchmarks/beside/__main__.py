"""``python -m benchmarks.beside {overhead,gains} [--engine NAME] [--rows N]``: into the CSV files of ``results``.

Run it where the engines are, as ``make exports`` installs them. Rows of the same engine are replaced.
"""

import argparse
import csv
import os
from pathlib import Path

from benchmarks.beside import study
from benchmarks.beside.engines import ENGINES

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.beside", description=__doc__)
    parser.add_argument("what", choices=("overhead", "gains"))
    parser.add_argument("--engine", action="append", choices=list(ENGINES))
    parser.add_argument("--rows", type=int, default=100_000)
    asked = parser.parse_args()
    for name in asked.engine or ENGINES:
        rows = study.overhead(name, asked.rows) if asked.what == "overhead" else [study.gains(name)]
        record(RESULTS / f"{asked.what}.csv", name, [row | {"load": round(os.getloadavg()[0], 1)} for row in rows])
        print(*rows, sep="\n", flush=True)


def record(path: Path, engine: str, rows: list[dict]) -> None:
    """Keep rows in the place of those of the same engine."""
    path.parent.mkdir(exist_ok=True)
    before = []
    if path.is_file():
        with open(path, newline="") as stream:
            before = [row for row in csv.DictReader(stream) if row["engine"] != engine]
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*before, *rows])


if __name__ == "__main__":
    main()
