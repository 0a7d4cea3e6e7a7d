"""A hundred thousand points of a hundred features: every estimator ends with its defaults, or says why not."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import gramian as gm
from tests.attack.many import SKIPPED

ROOT = Path(__file__).parents[2]
SECONDS, GIGABYTES = 60, 2.0
ESTIMATORS = [
    name
    for name in gm.__all__
    if inspect.isclass(cls := getattr(gm, name)) and issubclass(cls, BaseEstimator) and name not in SKIPPED
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_hundred_thousand_points(name):
    one = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    env = {**os.environ, **one, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.attack.many", name]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-1000:]
    line = json.loads(done.stdout.splitlines()[-1])
    print(line)
    refused = line["outcome"].startswith(f"{name}: ") and "GB" in line["outcome"]
    announced = any(text.startswith(f"{name}: ") and "about" in text for text in line["said"])
    ended = line["outcome"] == "done" and line["cpu_s"] <= SECONDS and line["peak_gb"] <= GIGABYTES
    assert ended or refused or announced
    if "precision" in line:
        found = line["precision"]
        assert found["default"] >= found["plain"] - 0.01  # what is learned from a part does no harm
