"""``python -m benchmarks.retrieval [--task NAME] [--pairs N] [--draws N]``: the study, resumed where it was stopped.

The table on the page of queries and documents is written anew. ``python -m benchmarks.retrieval beir DIR [--encoder
module:function]`` measures on a folder of BEIR, ``python -m benchmarks.retrieval size`` what a large fit takes.
"""

import argparse
import re
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.retrieval import beir, size, study
from benchmarks.retrieval.tasks import TASKS

PAGE = ROOT / "docs" / "guide" / "queries-and-documents.md"
PLACE = re.compile(r"(?<=<!-- study -->\n).*?(?=<!-- end of study -->)", re.S)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval", description=__doc__)
    parser.add_argument("what", nargs="*", help="beir DIR, size, page for the table alone, or nothing")
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument("--pairs", action="append", type=int)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--encoder", help="of beir: what makes embeddings of texts, where none lie beside them")
    parser.add_argument("--half", choices=("developing", "reported"), default="reported")
    asked = parser.parse_args()
    if asked.what[:1] == ["beir"] and len(asked.what) == 2:
        print(beir.report(Path(asked.what[1]), asked.encoder))
        return
    if asked.what == ["size"]:
        print(size.report())
        return
    if asked.what not in ([], ["page"]):
        parser.error("give nothing, page, size, or beir DIR")
    if not asked.what:
        for name in asked.task or TASKS:
            task = TASKS[name]()
            for pairs in asked.pairs or study.COUNTS:
                for draw in range(asked.draws or study.COUNTS.get(pairs, 3)):
                    study.run(task, pairs, draw, asked.half)
    rows = [row for row in study.read() if row["half"] == asked.half]
    print(study.summary(rows))
    if asked.half == "reported":
        PAGE.write_text(PLACE.sub(lambda _: section(rows), PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def section(rows: list[dict]) -> str:
    """The table, and whether the code is another one now."""
    methods = dict.fromkeys(row["method"] for row in study.older(rows))
    note = f"\n**Older than the code that they measure: {'; '.join(methods)}.**\n" if methods else ""
    return f"\n{study.summary(rows)}\n{note}\n"


if __name__ == "__main__":
    main()
