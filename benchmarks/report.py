"""Find benchmark modules, run them, keep their rows as CSV, and build the pages from the CSV files alone."""

import csv
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.harness import ROOT, cpu_seconds

PICTURES = ROOT / "docs" / "results"
"""Where benchmarks save pictures; those that a run saves belong to its section."""

HEAD = ("title", "notes", "command", "cpu_s", "pictures", "date", "version", "machine")
"""What the commented head of a CSV file holds."""


@dataclass
class Report:
    """Rows of one run and how they were made; stored as CSV with a commented head."""

    name: str
    title: str
    notes: str
    command: str
    cpu_s: float
    rows: list[dict[str, Any]]
    pictures: list[str] = field(default_factory=list)
    date: str = ""
    version: str = ""
    machine: str = ""

    def save(self, folder: Path) -> Path:
        """Write ``<folder>/<name>.csv``."""
        folder.mkdir(parents=True, exist_ok=True)
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        path = folder / f"{self.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            for key in HEAD:
                stream.write(f"# {key}: {json.dumps(getattr(self, key), ensure_ascii=False)}\n")
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: shown(v, 6) for k, v in row.items()} for row in self.rows)
        return path

    @classmethod
    def read(cls, path: Path) -> "Report":
        """Read what :meth:`save` wrote."""
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        count = next(i for i, line in enumerate(lines) if not line.startswith("# "))
        head = dict(line[2:].rstrip("\n").split(": ", 1) for line in lines[:count])
        return cls(path.stem, rows=list(csv.DictReader(lines[count:])), **{k: json.loads(v) for k, v in head.items()})


def discover(package: ModuleType) -> dict[str, str]:
    """Benchmarks of a package: name such as ``document.table`` → module; a benchmark defines ``run``."""
    root, found = Path(package.__path__[0]), {}
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        if not path.stem.startswith("_") and "\ndef run(" in path.read_text(encoding="utf-8"):
            found[name] = f"{package.__name__}.{name}"
    return found


def select(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Names equal to a wanted one, inside it (``document``), or ending in it (``table``); all when none is given."""
    names, chosen = sorted(names), []
    for want in wanted:
        want = want.replace("/", ".").removesuffix(".py")
        hits = [n for n in names if n == want or n.startswith(f"{want}.") or n.endswith(f".{want}")]
        if not hits:
            raise SystemExit(f"no benchmark {want!r}; there are: {', '.join(names) or 'none'}")
        chosen += hits
    return list(dict.fromkeys(chosen)) or names


def execute(name: str, module_name: str, package: str, quick: bool) -> Report:
    """Run one benchmark and time all of it, child processes included."""
    import gramian

    module = import_module(module_name)
    start = cpu_seconds()
    with _saved_pictures(keep=not quick) as pictures:
        rows = module.run(quick=quick)
    return Report(
        name,
        title=getattr(module, "TITLE", name),
        notes=getattr(module, "NOTES", "").strip(),
        command=f"python -m {package} {name}" + (" --quick" if quick else ""),
        cpu_s=round(cpu_seconds() - start, 2),
        rows=rows,
        pictures=sorted(set(pictures)),
        date=datetime.now(UTC).date().isoformat(),
        version=gramian.__version__,
        machine=machine(),
    )


def machine() -> str:
    """Number of cores and model of the processor, nothing else."""
    model = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores of {model or platform.machine()}"


@contextmanager
def _saved_pictures(keep: bool = True) -> Iterator[list[str]]:
    """Names of the pictures that figures save in the folder meanwhile; without ``keep`` no file is written there."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        yield []
        return
    saved: list[str] = []
    original = Figure.savefig

    def savefig(self: Any, target: Any, *args: Any, **options: Any) -> Any:
        if isinstance(target, str | os.PathLike) and Path(target).resolve().parent == PICTURES:
            saved.append(Path(target).name)
            if not keep:
                return None
        return original(self, target, *args, **options)

    Figure.savefig = savefig  # type: ignore[method-assign]
    try:
        yield saved
    finally:
        Figure.savefig = original  # type: ignore[method-assign]


def main(package: ModuleType, columns: Callable[[dict], dict], page: Callable[[list[Report]], str], target: str) -> int:
    """Command line of a benchmark package."""
    options = _options(package, target)
    found = discover(package)
    if options.list:
        print("\n".join(sorted(found)))
        return 0
    results, failed, reports = Path(package.__path__[0]) / "results", [], []
    chosen = [] if options.page else select(found, options.names)
    jobs = [(name, found[name], package.__name__, options.quick) for name in chosen]
    for name, report, error in _run_all(jobs, options.jobs):
        print(f"\n{name}")
        if report is None:
            print(error)
            failed.append(name)
            continue
        print(aligned([columns(row) for row in report.rows]), f"\n{report.cpu_s:.1f} CPU seconds", flush=True)
        reports.append(report)
        if not options.quick:
            report.save(results)
    if not options.quick:
        write_page(results, page, ROOT / target)
    if len(reports) > 1:
        print(f"\n{aligned([{'benchmark': r.name, 'cpu_s': round(r.cpu_s, 1)} for r in reports])}")
        print(f"{len(reports)} benchmarks, {sum(r.cpu_s for r in reports):.0f} CPU seconds")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


def _options(package: ModuleType, target: str) -> Any:
    import argparse

    parser = argparse.ArgumentParser(prog=f"python -m {package.__name__}", description=package.__doc__)
    parser.add_argument("names", nargs="*", help="a table, a document, or nothing for all")
    parser.add_argument("--quick", action="store_true", help="a short form that only prints")
    parser.add_argument("--jobs", type=int, default=1, help="processes to run benchmarks in; times are CPU seconds")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and stop")
    parser.add_argument("--page", action="store_true", help=f"only rebuild {target} from the CSV files")
    return parser.parse_args()


def _run_all(jobs: list[tuple], n: int) -> Iterator[tuple[str, Report | None, str]]:
    """(name, report, error) of each job, as they end; each in a process of its own when n > 1."""
    if n <= 1:
        yield from map(_attempt, jobs)
        return
    with ProcessPoolExecutor(n, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_attempt, job) for job in jobs]):
            yield done.result()


def _attempt(job: tuple) -> tuple[str, Report | None, str]:
    print(f"{job[0]} …", file=sys.stderr, flush=True)
    try:
        return job[0], execute(*job), ""
    except Exception:
        return job[0], None, traceback.format_exc()


def write_page(results: Path, page: Callable[[list[Report]], str], target: Path) -> None:
    """Build a page from all CSV files in a folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page([Report.read(path) for path in sorted(results.glob("*.csv"))]), encoding="utf-8")


def provenance(report: Report) -> str:
    """The line under a table: how it was made."""
    seconds = f"{report.cpu_s:.0f}" if report.cpu_s >= 1 else f"{report.cpu_s:.1f}"
    version = report.version and f"gramian {report.version}"
    facts = [f"`{report.command}`", f"{seconds} CPU seconds", report.date, version, report.machine]
    return ", ".join(filter(None, facts)) + "."


def markdown(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "No rows.\n"
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [heads, ["---"] * len(heads), *([_cell(row.get(h)) for h in heads] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def aligned(rows: list[dict[str, Any]]) -> str:
    """Rows as text in columns for a terminal."""
    if not rows:
        return "no rows"
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [heads, *([shown(row.get(h)) for h in heads] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def shown(value: Any, digits: int = 4) -> str:
    """A value as people read it: four significant digits, nothing for None."""
    if value is None or value == "":
        return ""
    if isinstance(value, str | bool):
        return str(value)
    try:
        return f"{float(value):.{digits}g}" if float(value) != int(value) else str(int(value))
    except (TypeError, ValueError, OverflowError):
        return str(value)


def number(text: Any) -> float | None:
    """The number in a CSV cell, None when there is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _cell(value: Any) -> str:
    value = value if number(value) is None else number(value)
    return shown(value).replace("|", "\\|").replace("\n", " ")
