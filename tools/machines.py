"""The suite on other machines: kernels of OpenBLAS, numpy and numba, one and two threads, oldest and newest versions.

``python tools/machines.py`` runs all of it, a row after the other, each with nothing compiled before, and prints a
table; ``--write`` puts that on the page "How it is built". ``--quick`` runs the parts that compute on the kernels that
the machine itself would not take, for the checks. Names of rows choose some: ``python tools/machines.py haswell``.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, MARKS = ROOT / "docs" / "built.md", ("<!-- machines -->", "<!-- end of machines -->")
COMPUTE = [
    *(
        "test_linalg.py",
        "test_neighbors.py",
        "test_angles.py",
        "test_votes.py",
        "test_compiler.py",
        "search",
        "manifold",
    ),
    *("solvers", "kernels", "features", "clustering", "learners", "online", "rankmin", "approximation", "constraints"),
    *("dask/test_fit.py", "attack/test_indexes.py", "contracts/test_divergences.py", "contracts/test_metrics.py"),
]
"""Tests with tolerances; the doctests come with them."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Processor:
    """What a processor has: the kernels of OpenBLAS, the target of numba, and the levels that numpy chooses from.

    Levels are those of the psABI: 2 has SSE4.2, 3 has AVX2 and FMA, 4 has AVX-512.
    """

    openblas: str
    numba: str
    level: int

    def environment(self) -> dict[str, str]:
        """What tells the libraries to do as on this processor."""
        return {
            "OPENBLAS_CORETYPE": self.openblas,
            "NUMBA_CPU_NAME": self.numba,
            "NUMBA_CPU_FEATURES": "",
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
    parts: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """As on the command line."""
        words = [self.processor, "2 threads" * (self.threads > 1), self.python * (self.python != "3.11")]
        return ", ".join(filter(None, [*words, "oldest" * self.oldest]))


ROWS = [
    *(Row(name, threads) for name in ("haswell", "skylakex") for threads in (1, 2)),
    Row("zen"),
    Row("nehalem"),
    Row("haswell", oldest=True),
    *(Row("haswell", python=python) for python in ("3.12", "3.13", "3.14")),
]


def level() -> int:
    """What this processor has, of 2, 3 and 4."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return 4 if " avx512vl" in flags else 3 if " avx2" in flags else 2


def interpreter(python: str) -> str | None:
    """A Python of a version, where there is one."""
    if python == "{}.{}".format(*sys.version_info):
        return sys.executable
    places = [shutil.which(f"python{python}"), *map(str, Path.home().glob(f".pyenv/versions/{python}.*/bin/python"))]
    works = (
        place for place in places if place and subprocess.run([place, "-c", ""], capture_output=True).returncode == 0
    )
    return next(works, None)


def environment(row: Row, folder: Path) -> str | None:
    """The Python of an environment with the versions of a row; None where its Python is not to be had."""
    if row.python == "{}.{}".format(*sys.version_info) and not row.oldest:
        return sys.executable
    base = interpreter(row.python)
    if base is None:
        return None
    place = folder / f"{row.python}{'-oldest' * row.oldest}"
    python = str(place / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([base, "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        wanted = ["--resolution", "lowest-direct"] if row.oldest else []
        command = [
            python,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            python,
            *wanted,
            "--editable",
            ".[test]",
        ]
        subprocess.run(command, check=True, cwd=ROOT)
    return python


def disabled(python: str, processor: Processor) -> str:
    """Names of what numpy of an environment has for later processors than this one."""
    have = "__cpu_dispatch__ as d, __cpu_features__ as f"
    ask = f"from numpy._core._multiarray_umath import {have}; print(*[n for n in d if f.get(n)])"
    names = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    later = {4: (), 3: AVX512, 2: AVX2}[processor.level]
    return " ".join(name for name in names if name.startswith(later))


def run(row: Row, folder: Path, jobs: int) -> tuple[str, float, list[str]]:
    """Counts as pytest says them, seconds, and names of failures."""
    python, processor = environment(row, folder), PROCESSORS[row.processor]
    if python is None:
        return f"no Python {row.python} here", 0.0, []
    if processor.level > level():
        return "this processor has no such instructions", 0.0, []
    own = dict.fromkeys(THREADS, str(row.threads)) | processor.environment()
    own["NPY_DISABLE_CPU_FEATURES"] = disabled(python, processor)
    log, start = folder / f"{row.name.replace(', ', '-').replace(' ', '-')}.txt", time.monotonic()
    with tempfile.TemporaryDirectory() as cold, log.open("w") as out:
        command = [python, "-m", "pytest", "-n", str(jobs), "--dist", "worksteal", "-p", "no:cacheprovider", *row.parts]
        subprocess.run(command, cwd=ROOT, stdout=out, stderr=out, env=os.environ | own | {"NUMBA_CACHE_DIR": cold})
    lines = log.read_text().splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    counts = next((line for line in reversed(lines) if re.search(r"\d+ (passed|failed|error)", line)), "nothing ran")
    return counts.split(" in ")[0].strip("= "), time.monotonic() - start, failed


def table(rows: list[tuple[Row, str, float]]) -> str:
    """The rows as the page shows them."""
    lines = ["| processor | threads | Python | versions | tests | minutes |", "| --- | --- | --- | --- | --- | --- |"]
    for row, counts, seconds in rows:
        versions = "oldest" if row.oldest else "newest"
        lines.append(f"| {row.processor} | {row.threads} | {row.python} | {versions} | {counts} | {seconds / 60:.0f} |")
    return "\n".join(lines)


def main() -> int:
    """Run what the command line asks for; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="names of rows, such as 'haswell, 2 threads'; all by default")
    parser.add_argument("--quick", action="store_true", help="the parts that compute, on kernels of other processors")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / ".machines", help="for environments and logs")
    parser.add_argument("--write", action="store_true", help=f"put the table on {PAGE.name}")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    rows = [row for row in ROWS if not given.rows or row.name in given.rows]
    if given.quick:
        parts = (*(f"tests/{part}" for part in COMPUTE), "src")
        rows = [Row(name, parts=parts) for name in ("haswell", "skylakex") if PROCESSORS[name].level != level()]
    done, wrong = [], 0
    for row in rows:
        counts, seconds, failed = run(row, given.folder, given.jobs)
        print(f"{row.name}: {counts} ({seconds:.0f} s)", *failed, sep="\n  ", flush=True)
        done.append((row, counts, seconds))
        wrong += bool(re.search(r"\b\d+ (failed|error)|nothing ran", counts))
    print(table(done))
    if given.write:
        before, _, rest = PAGE.read_text().partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{table(done)}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
