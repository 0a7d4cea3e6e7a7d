"""What every benchmark shares: real data, CPU time on one thread, peak memory, and peers in their own environments."""

import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "benchmarks" / ".envs"
PARTS = ROOT / "benchmarks" / ".parts"
edition = ""
"""What parts and cached arrays belong to beside their keys; a package of benchmarks may say that it is the library."""
_earlier: list[float] = []
_taken_over: set[str] = set()
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")}


def data_folder() -> Path:
    """Folder of the real data sets: GRAMIAN_DATA, or shared/data beside the repository."""
    folder = Path(os.environ.get("GRAMIAN_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        raise FileNotFoundError(f"harness: no folder of data sets at {str(folder)!r}; set GRAMIAN_DATA.")
    return folder


def load(name: str, **options: Any) -> Any:
    """A data set with ``X``, ``y`` and its extras (see :func:`gramian.datasets.load`)."""
    from gramian import datasets

    if not os.environ.get("GRAMIAN_DATA"):
        os.environ["GRAMIAN_DATA"] = str(data_folder())
    return datasets.load(name, **options)


def cpu_time(fn: Callable[[], Any], repeats: int = 3, warmup: int = 1) -> float:
    """Median CPU seconds of ``fn()`` on one thread, after ``warmup`` unmeasured calls (compilation, caches)."""
    return timed(fn, repeats, warmup)[0]


def timed(fn: Callable[[], Any], repeats: int = 3, warmup: int = 1) -> tuple[float, Any]:
    """Median CPU seconds of ``fn()`` on one thread, and what its last call returned."""
    from threadpoolctl import threadpool_limits

    seconds, result = [], None
    with threadpool_limits(1):
        for _ in range(warmup):
            result = fn()
        for _ in range(repeats):
            start = time.process_time()
            result = fn()
            seconds.append(time.process_time() - start)
    return statistics.median(seconds), result


def cached(name: str, make: Callable[[], Any]) -> tuple[Any, float]:
    """An array and the CPU seconds it took, kept between runs under benchmarks/.cache: a long run can be resumed.

    As with :func:`remembered`, what an earlier run spent on it counts for this one, and it is of one ``edition``.
    """
    path = ROOT / "benchmarks" / ".cache" / f"{name}{edition and '-'}{edition[:12]}.npz"
    kept = path.is_file()
    if not kept:
        start = time.process_time()
        value = make()
        path.parent.mkdir(exist_ok=True)
        np.savez(path, value=value, seconds=time.process_time() - start)
    stored = np.load(path)
    if kept and name not in _taken_over:
        took_over(float(stored["seconds"]))
    _taken_over.add(name)
    return stored["value"], float(stored["seconds"])


def standard_error(values: Iterable[float], digits: int = 3, words: str = "") -> str:
    """The standard error of a mean as notes have it, "± 0.012; words"; the words alone where there is one value."""
    found = np.asarray(list(values), dtype=float)
    error = f"± {found.std(ddof=1) / np.sqrt(len(found)):.{digits}f}" if len(found) > 1 else ""
    return "; ".join(filter(None, (error, words)))


def peak_memory(fn: Callable[[], Any]) -> int:
    """Largest resident size in bytes of a child process that runs ``fn()`` once, on one thread."""
    return process_cost(fn)[1]


def process_cost(fn: Callable[[], Any]) -> tuple[float, int]:
    """CPU seconds of ``fn()`` in a child process, on one thread, and the largest resident size of it in bytes."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(fn, sender))
    child.start()
    sender.close()
    try:
        cost = receiver.recv()
    except EOFError:
        cost = None
    child.join()
    if cost is None or child.exitcode:
        raise RuntimeError(f"harness: the measured function failed in its process (exit code {child.exitcode}).")
    return cost


def _measure(fn: Callable[[], Any], sender: Any) -> None:
    from threadpoolctl import threadpool_limits

    start = time.process_time()
    with threadpool_limits(1):
        fn()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    sender.send((seconds, peak))


def remembered(name: str, key: tuple, fn: Callable[[], Any]) -> Any:
    """``fn()``, as JSON kept in ``benchmarks/.parts``: a long benchmark stopped half way goes on where it was.

    The key, with ``edition``, should tell one part from all others; a file named in it stands for its content. CPU
    seconds that a part took in an earlier run count for this one (see :func:`cpu_seconds`).
    """
    text = [edition] if edition else []
    text += [Path(k).read_text(encoding="utf-8") if Path(str(k)).is_file() else str(k) for k in key]
    path = PARTS / name / f"{hashlib.sha256(chr(10).join(text).encode()).hexdigest()}.json"
    if path.is_file():
        part = json.loads(path.read_text())
        took_over(part["cpu_s"])
        return part["result"]
    start = cpu_seconds()
    result = fn()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cpu_s": cpu_seconds() - start, "result": result}))
    return result


def took_over(seconds: float) -> None:
    """Count CPU seconds that an earlier run spent on a part of this one."""
    _earlier.append(seconds)


def cpu_seconds() -> float:
    """CPU seconds of this process and its children, and of the remembered parts it took over."""
    return sum(os.times()[:4]) + sum(_earlier)


def has_peer(name: str) -> bool:
    """Whether the environment of a peer was made."""
    return (ENVIRONMENTS / name / "requirements.sha256").is_file()


def peer_python(name: str, requirements: Iterable[str]) -> Path:
    """Python of an isolated environment ``benchmarks/.envs/<name>`` that holds the requirements, made once."""
    requirements = list(requirements)
    folder = ENVIRONMENTS / name
    python, stamp = folder / "bin" / "python", folder / "requirements.sha256"
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != digest:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *requirements], check=True)
        stamp.write_text(digest)
    return python


_RUNNER = """
import json, runpy, sys
import numpy as np
script, given, answer = sys.argv[1:]
with np.load(given, allow_pickle=False) as stored:
    arrays = {name: stored[name] for name in stored.files}
result = runpy.run_path(script)["main"](arrays)
def plain(value):
    return value.tolist() if hasattr(value, "tolist") else str(value)
json.dump(result, open(answer, "w"), default=plain)
"""


def run_peer(python: Path | str, script: Path | str, arrays: Mapping[str, Any], timeout: float | None = None) -> Any:
    """Call ``main(arrays)`` of a script in a peer's environment, one thread: arrays go in as npz, JSON comes out."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "given.npz"), Path(folder, "answer.json")
        np.savez(given, **{name: np.asarray(value) for name, value in arrays.items()})
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ONE_THREAD
        command = [str(python), "-c", _RUNNER, str(script), str(given), str(answer)]
        done = subprocess.run(command, env=environment, timeout=timeout, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"harness: {script} failed in {python}:\n{done.stderr[-2000:]}")
        return json.loads(answer.read_text())
