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
import {{ load, loadAdapter }} from "{PACKAGE.as_uri()}";
const tasks = JSON.parse(readFileSync(0, "utf8"));
const answers = tasks.map(([map, points, documents]) => {{
  try {{
    if (map.length) {{
      const adapter = loadAdapter(...map);
      const [queries, z] = [points.map(adapter.transformQuery), documents.map(adapter.transform)];
      return {{ queries, z, scores: points.map((q, i) => adapter.score(q, documents[i])), d: adapter.features }};
    }}
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


@pytest.fixture(scope="module")
def taught():
    """Queries and documents that have four columns in common, and two of noise."""
    rng = np.random.default_rng(0)
    signal, noise = rng.normal(size=(60, 4)), 3 * rng.normal(size=(2, 60, 2))
    return np.hstack([signal + 0.3 * rng.normal(size=(60, 4)), noise[0]]), np.hstack([signal, noise[1]]) + 1


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_javascript_maps_queries_and_documents(taught):
    Q, D = (3 * rows[:20] for rows in taught)
    tasks, adapters = [], []
    for side in ("query", "both"):
        adapter = gm.QueryAdapter(side, anchor=0.3, random_state=0).fit(*taught)
        assert adapter.weight_ < 1 and (adapter.map_.B is None) == (side == "query")
        parts = (adapter.metric_, adapter.document_metric_)[: 1 if side == "query" else 2]
        tasks.append([[gm.export.to_json(part) for part in parts], Q.tolist(), D.tolist()])
        adapters.append(adapter)
    for adapter, answer in zip(adapters, asked(tasks)):
        U, V = adapter.transform_queries(Q), np.asarray(adapter.transform(D), float)
        np.testing.assert_allclose(answer["queries"], U, atol=1e-6)
        np.testing.assert_allclose(answer["z"], V, atol=1e-6)
        cosines = (U * V).sum(axis=1) / np.linalg.norm(V, axis=1)
        np.testing.assert_allclose(answer["scores"], cosines, atol=1e-6)
        assert answer["d"] == 6


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_javascript_says_what_is_no_adapter():
    angle, flat = gm.export.to_json(FORMULAS["rows of length one, as they are"]()), gm.export.to_json(linear())
    narrow = angle | {"inner": np.eye(3).tolist(), "offset": [0.0] * 3, "components": np.eye(3).tolist()}
    row = [[1.0] * 8]
    wrong, other, short = asked([[[flat], row, row], [[angle, narrow], row, row], [[angle], [[1.0]], row]])
    assert wrong["error"] == "gramian: an adapter must be a map by the angle; load reads other metrics."
    assert other["error"] == "gramian: both sides must be of one adapter."
    assert short["error"] == "gramian: a point must be 8 finite numbers, got 1 values."


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
