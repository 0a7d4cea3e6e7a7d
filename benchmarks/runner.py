"""Find benchmark modules and run them: the command line of a package of benchmarks."""

import argparse
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import harness, wanted
from benchmarks import report as reports
from benchmarks.fingerprint import fingerprint
from benchmarks.harness import ROOT, cpu_seconds
from benchmarks.report import Pages, Report, aligned, write_pages
from benchmarks.rounds import Bar, Round, library


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
    harness.edition = library() if getattr(sys.modules.get(package), "BY_LIBRARY", False) else ""
    code = fingerprint(module_name, package)  # before the run: files may be edited while it lasts
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
        code=code,
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
        if isinstance(target, str | os.PathLike) and Path(target).resolve().parent == reports.PICTURES:
            saved.append(Path(target).name)
            if not keep:
                return None
        return original(self, target, *args, **options)

    Figure.savefig = savefig  # type: ignore[method-assign]
    try:
        yield saved
    finally:
        Figure.savefig = original  # type: ignore[method-assign]


def main(package: ModuleType, columns: Callable[[dict], dict], pages: Pages, target: str) -> int:
    """Command line of a benchmark package."""
    options = _options(package, target)
    found = discover(package)
    if options.list:
        print("\n".join(sorted(found)))
        return 0
    results = Path(package.__path__[0]) / "results"
    if options.notes:
        renote(results, found, select(found, options.names))
        options.page = True
    if getattr(package, "WANTS_DATA", False) and not options.page:
        print(wanted.account(), file=sys.stderr)
    ended, failed = [], []
    try:
        for name, report, error in _round(package.__name__, found, results, options):
            print(f"\n{name}")
            if report is None:
                print(error)
                failed.append(name)
                continue
            print(
                aligned([tabled(row, columns) for row in report.rows]), f"\n{report.cpu_s:.1f} CPU seconds", flush=True
            )
            ended.append(report)
    except KeyboardInterrupt:
        print("stopped; with --resume the next run goes on from here", file=sys.stderr)
        return 130
    finally:  # also what ended before an interruption belongs on the page
        if not options.quick:
            write_pages(results, pages, ROOT)
    if len(ended) > 1:
        print(f"\n{aligned([{'benchmark': r.name, 'cpu_s': round(r.cpu_s, 1)} for r in ended])}")
        print(f"{len(ended)} benchmarks, {sum(r.cpu_s for r in ended):.0f} CPU seconds")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


def tabled(row: dict, columns: Callable[[dict], dict]) -> dict:
    """One row as it is printed, with the table that it belongs to."""
    shown = columns(row)
    return shown if "table" in shown or not row.get("table") else {"table": row["table"], **shown}


def _round(package: str, found: dict[str, str], results: Path, options: Any) -> Iterator[tuple]:
    """(name, report, error) of each benchmark that was asked for; results are saved, ends noted, and a bar shown."""
    chosen = [] if options.page else select(found, options.names)
    if not options.names:
        chosen = [name for name in chosen if getattr(import_module(found[name]), "available", lambda: True)()]
    kept = Round(package, options.quick)
    resume = options.resume and not options.names  # a name is asked for to be run
    done = kept.done() & set(chosen) if resume else set()
    if done:
        print(f"done before: {', '.join(sorted(done))}", file=sys.stderr)
    rest = [name for name in chosen if name not in done]
    bar = Bar({name: None if options.quick else _recorded(results, name) for name in rest}, options.jobs)
    longest = sorted(rest, key=lambda name: -bar.weights[name]) if options.jobs > 1 else rest
    jobs = [(name, found[name], package, options.quick) for name in longest]
    for name, report, error in _run_all(jobs, options.jobs):
        if report is not None and not options.quick:
            report.save(results)
        if report is not None and resume:
            kept.add(name)
        yield name, report, error
        if len(jobs) > 1:
            bar.end(name)
    if resume and set(chosen) <= kept.done():
        kept.end()


def renote(results: Path, found: dict[str, str], names: list[str]) -> None:
    """Write title and notes of the modules over those of recorded runs: for words alone, nothing is run."""
    for name in names:
        path = results / f"{name}.csv"
        if path.is_file():
            module = import_module(found[name])
            replace(Report.read(path), title=module.TITLE, notes=module.NOTES.strip()).save(results)


def _recorded(results: Path, name: str) -> float | None:
    """CPU seconds of the last recorded run."""
    path = results / f"{name}.csv"
    return Report.read(path).cpu_s if path.is_file() else None


def _options(package: ModuleType, target: str) -> Any:
    parser = argparse.ArgumentParser(prog=f"python -m {package.__name__}", description=package.__doc__)
    parser.add_argument("names", nargs="*", help="a table, a document, or nothing for all")
    parser.add_argument("--quick", action="store_true", help="a short form that only prints")
    parser.add_argument("--jobs", type=int, default=1, help="processes to run benchmarks in; times are CPU seconds")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and stop")
    parser.add_argument("--resume", action="store_true", help="go on where a run that was stopped ended")
    parser.add_argument("--notes", action="store_true", help="take titles and notes of recorded runs from the modules")
    parser.add_argument("--page", action="store_true", help=f"only rebuild {target} and the pages under it")
    return parser.parse_args()


def _run_all(jobs: list[tuple], n: int) -> Iterator[tuple[str, Report | None, str]]:
    """(name, report, error) of each job, as they end; each in a process of its own when n > 1."""
    if n <= 1:
        yield from map(_attempt, jobs)
        return
    with ProcessPoolExecutor(n, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        try:
            for done in as_completed([pool.submit(_attempt, job) for job in jobs]):
                yield done.result()
        except BaseException:  # an interruption: those that wait are not begun
            pool.shutdown(cancel_futures=True)
            raise


def _attempt(job: tuple) -> tuple[str, Report | None, str]:
    print(f"{job[0]} …", file=sys.stderr, flush=True)
    try:
        return job[0], execute(*job), ""
    except FileNotFoundError as error:  # mostly no folder of data, said in one sentence
        return job[0], None, str(error)
    except Exception:
        return job[0], None, traceback.format_exc()
