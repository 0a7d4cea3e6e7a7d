"""Whatever a released version wrote is read, and answers as it did."""

from pathlib import Path

import numpy as np
import pytest

import gramian as gm
from tests.files import write

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.gram"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_was_written_answers_as_it_did(path):
    with np.load(path.parent / "answers.npz") as answers:
        kept = {name.partition(".")[2]: answers[name] for name in answers if name.startswith(f"{path.stem}.")}
    told = write.answer(gm.load(path))
    assert kept.keys() == told.keys()
    for name, array in kept.items():
        np.testing.assert_allclose(told[name], array, rtol=1e-9, atol=1e-9, err_msg=name)


def test_every_kind_of_value_was_written_by_the_last_release(tmp_path):
    newest = max(path.parent for path in FILES)
    write.write(tmp_path / "now")
    assert {path.name for path in (tmp_path / "now").iterdir()} == {path.name for path in newest.iterdir()}
