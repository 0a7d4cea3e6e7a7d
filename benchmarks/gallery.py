"""Run ``python -m benchmarks.gallery [NAME ...]``: examples without a screen, their pictures saved as PNG."""

import argparse
import os
import runpy
import time
from pathlib import Path

from benchmarks.harness import ROOT

SCRIPTS = {path.stem.removeprefix("plot_"): path for path in sorted((ROOT / "examples").glob("plot_*.py"))}


def main() -> None:
    """Run the named examples, all of them when none is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCRIPTS))
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder of the pictures (pictures)")
    parser.add_argument("--small", action="store_true", help="fewer points, as in the tests")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SCRIPTS):
        parser.error(f"no example {min(unknown)!r}; there are {', '.join(SCRIPTS)}")
    os.environ["MPLBACKEND"] = "Agg"
    if options.small:
        os.environ["GRAMIAN_EXAMPLES_SMALL"] = "1"
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or SCRIPTS:
        run(name, options.out / f"{name}.png")


def run(name: str, picture: Path) -> None:
    """Run one example and save the figure that it leaves open."""
    from matplotlib import pyplot

    start = time.process_time()
    runpy.run_path(str(SCRIPTS[name]), run_name="__main__")
    pyplot.gcf().savefig(picture, dpi=110)
    pyplot.close("all")
    print(f"{name}: {time.process_time() - start:.1f} CPU s, saved {picture}\n", flush=True)


if __name__ == "__main__":
    main()
