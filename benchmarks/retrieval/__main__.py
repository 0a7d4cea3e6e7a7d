"""``python -m benchmarks.retrieval [--task NAME] [--pairs N] [--draws N]``: the study, resumed where it was stopped.

``python -m benchmarks.retrieval beir DIR [--encoder module:function]`` measures on a folder of BEIR.
"""

import argparse
from pathlib import Path

from benchmarks.retrieval import beir, study
from benchmarks.retrieval.tasks import TASKS


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval", description=__doc__)
    parser.add_argument("what", nargs="*", help="beir DIR, or nothing")
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument("--pairs", action="append", type=int)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--encoder", help="of beir: what makes embeddings of texts, where none lie beside them")
    parser.add_argument("--half", choices=("developing", "reported"), default="reported")
    given = parser.parse_args()
    if given.what:
        if given.what[0] != "beir" or len(given.what) != 2:
            parser.error("give nothing, or beir DIR")
        print(beir.report(Path(given.what[1]), given.encoder))
        return
    path = study.RESULTS / "pairs.csv"
    for name in given.task or TASKS:
        task = TASKS[name]()
        for pairs in given.pairs or study.COUNTS:
            for draw in range(given.draws or study.COUNTS.get(pairs, 3)):
                cell = (name, given.half, str(pairs), str(draw))
                if cell not in {(r["task"], r["half"], r["pairs"], r["draw"]) for r in study.read(path)}:
                    study.record(path, study.run(task, pairs, draw, given.half))
    print(study.summary([row for row in study.read(path) if row["half"] == given.half]))


if __name__ == "__main__":
    main()
