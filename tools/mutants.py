"""How many small changes of the code the tests notice, by file: what ``mutmut run`` has left in the folder ``mutants``.

``make mutants`` changes the files that keep data, one place at a time, and runs the tests that go through that place;
the same command goes on where it was stopped, and ``make mutants ARGS='gramian.persist*'`` takes some of them. A change
survives when all tests pass. ``--write`` puts the table on the page "How it is built", ``--show`` lists the survivors.
"""

import argparse
import datetime
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, MARKS = ROOT / "docs" / "built.md", ("<!-- mutants -->", "<!-- end of mutants -->")
ENDS = {1: "noticed", 3: "noticed", 37: "noticed", -11: "noticed", -9: "noticed"}
ENDS |= dict.fromkeys((24, 36, 152, 255, -24), "too slow")
"""Ways in which the tests of a change end where it does not survive."""


def outcomes(folder: Path) -> dict[str, Counter[str]]:
    """How the changes of each file ended; a change that no test goes through survives."""
    found = {}
    for path in sorted(folder.rglob("*.meta")):
        codes = json.loads(path.read_text())["exit_code_by_key"].values()
        counts = Counter(ENDS.get(code, "survived") for code in codes if code is not None)
        if counts:
            found[path.relative_to(folder / "src" / "gramian").as_posix().removesuffix(".meta")] = counts
    return found


def table(found: dict[str, Counter[str]], earlier: list[str]) -> str:
    """A row for each file; files that were not changed now keep their earlier row."""
    head = ["file", "changes", "noticed", "too slow", "survived", "score", "run on"]
    rows = {line.split("`")[1]: line for line in earlier if line.startswith("| `")}
    for name, counts in found.items():
        total = counts.total()
        numbers = [total, counts["noticed"], counts["too slow"], counts["survived"]]
        score = f"{100 * (total - counts['survived']) / total:.0f}%"
        cells = [f"`{name}`", *map(str, numbers), score, datetime.date.today().isoformat()]
        rows[name] = f"| {' | '.join(cells)} |"
    return "\n".join([f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *(rows[name] for name in sorted(rows))])


def main() -> int:
    """Print what came of the changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "mutants", help="where mutmut has worked")
    parser.add_argument("--write", action="store_true", help=f"put the table on {PAGE.name}")
    parser.add_argument("--show", action="store_true", help="names of the survivors, for `mutmut show NAME`")
    options = parser.parse_args()
    if options.show:
        for path in sorted(options.folder.rglob("*.meta")):
            codes = json.loads(path.read_text())["exit_code_by_key"]
            print(*[name for name, code in codes.items() if code is not None and code not in ENDS], sep="\n")
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    earlier, _, after = rest.partition(MARKS[1])
    page = table(outcomes(options.folder), earlier.splitlines())
    print(page)
    if options.write:
        PAGE.write_text(f"{before}{MARKS[0]}\n{page}\n{MARKS[1]}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
