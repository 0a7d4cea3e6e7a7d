"""gramian transform and info."""

import numpy as np

import gramian as gm
from gramian.cli import formats


def test_transform_to_standard_output_finds_the_columns_by_name(gramian, wine, tmp_path):
    gramian("fit", wine, "-l", "kind", "--learner", "rca", "-o", "m.gram")
    shuffled = tmp_path / "shuffled.csv"
    data = gm.datasets.load("wine")
    order = np.arange(13)[::-1]
    formats.write(shuffled, [str(n) for n in data.feature_names[order]], data.X[:, order], "y", None)
    code, out, err = gramian("transform", "m.gram", shuffled)
    rows = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
    assert code == 0 and err == "" and np.allclose(rows, gm.load("m.gram").transform(data.X))
    formats.write(shuffled, ["alcohol"], data.X[:, :1], "y", None)
    code, _, err = gramian("transform", "m.gram", shuffled)
    assert code == 2 and "no column 'malic_acid'" in err


def test_info_tells_shares_and_what_was_chosen(gramian, wine):
    gramian("fit", wine, "-l", "kind", "-o", "m.gram")
    out = gramian("info", "m.gram")[1]
    facts = {line.split("  ")[0].strip(): line for line in out.splitlines()}
    assert "AutoMetric" in facts["learner"] and "178" in facts["rows"] and "kind" in facts["label"]
    assert "chosen" in facts
    shares = [float(line.split("%")[0].split()[-1]) for line in out.splitlines() if "%" in line]
    assert not shares or (shares == sorted(shares, reverse=True) and sum(shares) <= 100.5)
