"""What is read from a run of mutmut."""

import importlib.util
import json
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("mutants", Path(__file__).parents[2] / "tools" / "mutants.py")
mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutants)


def test_a_row_for_each_file_that_was_changed(tmp_path):
    codes = {"a": 1, "b": 0, "c": 36, "d": 33, "e": None, "f": 3}  # noticed, survived, slow, no test, not yet, noticed
    for name, ends in (("persist.py", codes), ("service/store.py", {"a": 1}), ("metrics/base.py", {"a": None})):
        path = tmp_path / "src" / "gramian" / f"{name}.meta"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"exit_code_by_key": ends}))
    earlier = [f"| `{name}` | 3 | 3 | 0 | 0 | 100% | 2020-01-01 |" for name in ("persist.py", "cli/app.py")]
    rows = mutants.table(mutants.outcomes(tmp_path), ["| file |", *earlier]).splitlines()[2:]
    cells = [[cell.strip() for cell in row.split("|")[1:-2]] for row in rows]
    assert cells.pop(0) == ["`cli/app.py`", "3", "3", "0", "0", "100%"]
    assert cells == [["`persist.py`", "5", "2", "1", "2", "60%"], ["`service/store.py`", "1", "1", "0", "0", "100%"]]
