"""The suite on other machines: kernels of OpenBLAS, numpy and numba, one and two threads, oldest and newest versions.

``python tools/machines.py`` runs all of it, a row after the other, each with nothing compiled before, and prints a
table. Each row is kept as soon as it ends; the same command goes on where it was stopped, and runs again what failed or
was of other code. Names of rows choose some: ``python tools/machines.py haswell "zen, 3.13"``. ``--computing`` runs the
parts that compute; ``--checks`` runs these on the kernels that the machine itself does not take; ``--write`` puts
what is kept on the page "How it is built".
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, MARKS = ROOT / "docs" / "built.md", ("<!-- machines -->", "<!-- end of machines -->")
COMPUTING = (
    *("_jit", "arrays", "linalg", "lower_bounds", "neighbors", "approximation", "clustering", "constraints"),
    *("coordinates", "divergences", "features", "kernels", "learners", "manifold", "metrics", "online", "rankmin"),
    *("search", "solvers"),
    *("attack/indexes", "contracts/divergences", "contracts/index", "contracts/kernels", "contracts/metrics"),
    *("contracts/truth", "dask/fit"),
)
"""Rooms of tests, and files of some, with tolerances; the doctests come with them."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PYTHON = "{}.{}".format(*sys.version_info)


@dataclass(frozen=True)
class Processor:
    """What a processor has: the kernels of OpenBLAS, the target of numba, and the levels that numpy chooses from.

    Levels are those of the psABI: 2 has SSE4.2, 3 has AVX2 and FMA, 4 has AVX-512.
    """

    openblas: str
    numba: str
    level: int

    def environment(self, python: str) -> dict[str, str]:
        """What tells the libraries of a Python to do as on this processor."""
        have = "__cpu_dispatch__ as d, __cpu_features__ as f"
        ask = f"from numpy._core._multiarray_umath import {have}; print(*[n for n in d if f.get(n)])"
        names = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
        later = {4: (), 3: AVX512, 2: AVX2}[self.level]
        return {
            "OPENBLAS_CORETYPE": self.openblas,
            "NUMBA_CPU_NAME": self.numba,
            "NUMBA_CPU_FEATURES": "",
            "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in names if name.startswith(later)) if later else "",
        }


PROCESSORS = {
    "nehalem": Processor("Nehalem", "nehalem", 2),
    "haswell": Processor("Haswell", "haswell", 3),
    "zen": Processor("Zen", "znver2", 3),
    "skylakex": Processor("SkylakeX", "skylake-avx512", 4),
}
AVX512 = ("AVX512", "X86_V4")
AVX2 = (*AVX512, "AVX2", "FMA3", "F16C", "AVX", "X86_V3")


@dataclass(frozen=True)
class Row:
    """One run: a processor, threads, and the Python and versions of libraries."""

    processor: str
    threads: int = 1
    python: str = "3.11"
    oldest: bool = False

    @property
    def name(self) -> str:
        """As on the command line."""
        words = [self.processor, "2 threads" * (self.threads > 1), self.python * (self.python != "3.11")]
        return ", ".join(filter(None, [*words, "oldest" * self.oldest]))

    def reason_against(self) -> str | None:
        """Why it cannot run here, None where it can."""
        if PROCESSORS[self.processor].level > level():
            return "this processor has no such instructions"
        return None if interpreter(self.python) else f"no Python {self.python} here"


ROWS = [
    *(Row(name, threads) for name in ("haswell", "skylakex") for threads in (1, 2)),
    Row("zen"),
    Row("nehalem"),
    Row("haswell", oldest=True),
    *(Row("haswell", python=python) for python in ("3.12", "3.13", "3.14")),
]


@dataclass(frozen=True)
class Outcome:
    """What came of a row: counts as pytest says them, names of failures, and when and of which code it was."""

    row: str
    tests: str
    counts: str
    failed: list[str]
    minutes: float
    day: str
    code: str

    @property
    def green(self) -> bool:
        """Whether tests ran, and none failed."""
        return "passed" in self.counts and not self.failed and not re.search(r"\d (failed|error)", self.counts)


class Ledger:
    """Outcomes in a file, the last of each row and set of tests."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "outcomes.json"

    def read(self) -> dict[tuple[str, str], Outcome]:
        """Outcomes by row and tests."""
        entries = json.loads(self.path.read_text()) if self.path.exists() else []
        return {(entry["row"], entry["tests"]): Outcome(**entry) for entry in entries}

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome in place of the one before."""
        outcomes = self.read() | {(outcome.row, outcome.tests): outcome}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps([asdict(entry) for entry in outcomes.values()], indent=1))
        draft.replace(self.path)


@dataclass(frozen=True)
class Bench:
    """Where rows run: the folder of environments and logs, processes, and the most minutes of a row."""

    folder: Path
    jobs: int
    limit: float

    @cached_property
    def code(self) -> str:
        """A fingerprint of the library and its tests."""
        digest = hashlib.sha256()
        for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py"), ROOT / "pyproject.toml"]):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:12]

    def python(self, row: Row) -> str:
        """The Python of an environment with the versions of a row, made where there is none."""
        if row.python == PYTHON and not row.oldest:
            return sys.executable
        place = self.folder / f"{row.python}{'-oldest' * row.oldest}"
        python, ready = str(place / "bin" / "python"), place / ".ready"
        if not ready.exists():
            shutil.rmtree(place, ignore_errors=True)
            subprocess.run([interpreter(row.python), "-m", "venv", "--without-pip", place], check=True)
            uv = [sys.executable, "-m", "pip", "install", "--quiet", "uv", "--target", str(self.folder / "uv")]
            subprocess.run(uv, check=True)
            versions = ["--resolution", "lowest-direct"] if row.oldest else []
            install = [
                str(self.folder / "uv" / "bin" / "uv"),
                "pip",
                "install",
                "--quiet",
                "--python",
                python,
                *versions,
            ]
            subprocess.run([*install, "--editable", ".[test]"], check=True, cwd=ROOT)
            ready.touch()
        return python

    def run(self, row: Row, tests: str) -> Outcome:
        """Run a row with nothing compiled before; what takes too long is ended."""
        log, start = self.folder / f"{re.sub('[^0-9a-z.]+', '-', row.name)}.txt", time.monotonic()
        python, processes = self.python(row), max(1, self.jobs // row.threads)
        paths = [*map(path_of, COMPUTING), "src"] if tests == "computing" else []
        command = [
            python,
            "-m",
            "pytest",
            "-n",
            str(processes),
            "--dist",
            "worksteal",
            "-p",
            "no:cacheprovider",
            *paths,
        ]
        settings = dict.fromkeys(THREADS, str(row.threads)) | PROCESSORS[row.processor].environment(python)
        with tempfile.TemporaryDirectory() as cold, log.open("w") as out:
            own = os.environ | settings | {"NUMBA_CACHE_DIR": cold}
            ended = finish(
                subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env=own, start_new_session=True),
                60 * self.limit,
            )
        counts, failed = summary(log.read_text())
        minutes = (time.monotonic() - start) / 60
        counts = counts if ended else f"stopped after {self.limit:g} minutes"
        return Outcome(row.name, tests, counts, failed, minutes, datetime.date.today().isoformat(), self.code)


def finish(process: subprocess.Popen, limit: float) -> bool:
    """Wait for a process; end it and its children where it takes too long or is interrupted."""
    try:
        process.wait(limit)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def summary(text: str) -> tuple[str, list[str]]:
    """Counts and names of failures in what pytest printed."""
    lines = text.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    counts = next((line for line in reversed(lines) if re.search(r"\d+ (passed|failed|error)", line)), "nothing ran")
    return re.sub(r", \d+ (warnings?|deselected)", "", counts.split(" in ")[0].strip("= ")), failed


def path_of(part: str) -> str:
    """A folder of tests, or the file of that name."""
    folder = ROOT / "tests" / part
    return str((folder if folder.is_dir() else folder.with_name(f"test_{folder.name}.py")).relative_to(ROOT))


def level() -> int:
    """What this processor has, of 2, 3 and 4."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return 4 if " avx512vl" in flags else 3 if " avx2" in flags else 2


def kernels() -> set[str]:
    """Names of the kernels that OpenBLAS takes here when nothing is said."""
    ask = "import numpy, scipy.linalg, threadpoolctl as t; print(*[i.get('architecture') for i in t.threadpool_info()])"
    return set(subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split())


def interpreter(python: str) -> str | None:
    """A Python of a version, where there is one that works."""
    if python == PYTHON:
        return sys.executable
    places = [shutil.which(f"python{python}"), *map(str, Path.home().glob(f".pyenv/versions/{python}.*/bin/python"))]
    works = (
        place for place in places if place and subprocess.run([place, "-c", ""], capture_output=True).returncode == 0
    )
    return next(works, None)


def table(outcomes: dict[tuple[str, str], Outcome], code: str) -> str:
    """What is kept of all rows, as the page shows it; of a row that ran whole, that."""
    lines = ["| processor | threads | Python | versions | tests | came of it | minutes | run on |", "| --- " * 8 + "|"]
    for row in ROWS:
        outcome = outcomes.get((row.name, "all")) or outcomes.get((row.name, "computing"))
        versions, reason = "oldest" if row.oldest else "newest", row.reason_against()
        cells = [row.processor, str(row.threads), row.python, versions]
        if outcome:
            day = outcome.day + ("" if outcome.code == code else ", code before")
            cells += [outcome.tests, outcome.counts, f"{outcome.minutes:.0f}", day]
        else:
            cells += ["none", f"not run: {reason}" if reason else "not run yet", "", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def of_the_checks() -> list[Row]:
    """Rows for the checks: those on kernels that this machine has and `make test` has not taken; the rest is said."""
    usual, rows = kernels(), [Row("haswell"), Row("skylakex")]
    taken = [row for row in rows if PROCESSORS[row.processor].openblas in usual]
    reasons = {row: "`make test` takes these kernels here" if row in taken else row.reason_against() for row in rows}
    for row, reason in reasons.items():
        if reason:
            print(f"{row.name}: not run, {reason}.", flush=True)
    return [row for row, reason in reasons.items() if not reason]


def is_done(outcome: Outcome | None, code: str) -> bool:
    """Whether a row need not run again."""
    return outcome is not None and outcome.green and outcome.code == code


def run_all(rows: list[Row], tests: str, bench: Bench, again: bool) -> int:
    """Run the rows that are not green yet; the number of those that are not green then."""
    ledger, wrong = Ledger(bench.folder), 0
    for row in rows:
        outcome, reason = ledger.read().get((row.name, tests)), row.reason_against()
        if reason:
            print(f"{row.name}: not run, {reason}.", flush=True)
            continue
        if again or not is_done(outcome, bench.code):
            outcome = bench.run(row, tests)
            ledger.add(outcome)
        print(f"{row.name}: {outcome.counts} ({outcome.minutes:.1f} min)", *outcome.failed, sep="\n  ", flush=True)
        wrong += not outcome.green
    return wrong


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="names of rows, such as 'haswell, 2 threads'; all by default")
    parser.add_argument("--computing", action="store_true", help="only the tests of parts that compute")
    parser.add_argument("--checks", action="store_true", help="these on the kernels that the machine does not take")
    parser.add_argument("--again", action="store_true", help="also rows that are green on this very code")
    parser.add_argument("--jobs", type=int, default=2, help="processes, divided by the threads of a row")
    parser.add_argument("--limit", type=float, default=90.0, help="the most minutes of a row")
    parser.add_argument("--folder", type=Path, default=ROOT / ".machines", help="for environments, logs and outcomes")
    parser.add_argument("--write", action="store_true", help=f"put what is kept on {PAGE.name}, and run what is named")
    options = parser.parse_args()
    unknown = set(options.rows) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"rows must be among {'; '.join(row.name for row in ROWS)}, got {'; '.join(sorted(unknown))}.")
    return options


def main() -> int:
    """Run what the command line asks for; 1 if anything failed."""
    options = arguments()
    options.folder.mkdir(exist_ok=True)
    bench = Bench(options.folder, options.jobs, options.limit)
    rows = [row for row in ROWS if not options.rows or row.name in options.rows]
    if options.checks:
        rows = of_the_checks()
    tests = "computing" if options.checks or options.computing else "all"
    wrong = run_all(rows, tests, bench, options.again) if options.rows or not options.write else 0
    page = table(Ledger(options.folder).read(), bench.code)
    print(page)
    if options.write:
        before, _, rest = PAGE.read_text().partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{page}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
