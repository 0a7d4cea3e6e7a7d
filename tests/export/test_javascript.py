"""The JavaScript package reads what Python wrote, and finds the same coordinates."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gramian as gm
from gramian.export.base import Map
from tests.export.problems import CURVED, FORMULAS, linear, points

PACKAGE = Path(__file__).parents[2] / "javascript" / "index.js"
NODE = shutil.which("node")
X = points(6)
SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import {{ load }} from "{PACKAGE.as_uri()}";
const tasks = JSON.parse(readFileSync(0, "utf8"));
const answers = tasks.map(([map, points]) => {{
  try {{
    const metric = load(map);
    return {{ z: points.map((x) => metric.transform(x)), d: metric.sqdist(points[0], points[1]) }};
  }} catch (error) {{
    return {{ error: error.message }};
  }}
}});
console.log(JSON.stringify(answers));
"""


def beside_classes():
    return gm.Posteriors(classifier=LogisticRegression(), random_state=0).fit(points(200), np.arange(200) % 3).metric_


def asked(tasks):
    """What node says of maps and points."""
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", SCRIPT], input=json.dumps(tasks), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_javascript_gives_our_coordinates():
    maps = {name: (FORMULAS | CURVED)[name]() for name in [*FORMULAS, "Gaussian", "centered Gaussian", "polynomial"]}
    maps["classes"] = beside_classes()
    answers = asked([[gm.export.to_json(metric), X.tolist()] for metric in maps.values()])
    for (name, metric), answer in zip(maps.items(), answers):
        expected = Map.of(metric, "test")(X)
        np.testing.assert_allclose(answer["z"], expected, atol=1e-9 * np.abs(expected).max(), err_msg=name)
        assert answer["d"] == pytest.approx(((expected[0] - expected[1]) ** 2).sum())


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_javascript_keeps_extremes_and_refuses_what_it_cannot_read():
    angle = gm.export.to_json(FORMULAS["rows of length one, as they are"]())
    tiny, zero = [1e-200] * 8, [0.0] * 8
    bad = [[{"format": "other"}, [zero]], [gm.export.to_json(linear()), [[1.0, 2.0]]]]
    good, nothing, wrong, short = asked([[angle, [tiny, tiny]], [angle, [zero, zero]], *bad])
    np.testing.assert_allclose(good["z"][0], np.full(8, 8**-0.5))
    assert nothing["z"][0] == zero and nothing["d"] == 0
    assert wrong["error"] == 'gramian: format must be "gramian map 1", got other.'
    assert short["error"] == "gramian: a point must be 8 finite numbers, got 2 values."
