"""Writing and checking an export asks for the extra of its engine, and for nothing else that may be missing."""

import re
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import linear, place

pytestmark = pytest.mark.engines
CODE = """
import sys, numpy as np

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {missing!r} else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
import gramian as gm
metric, X = gm.load("metric.gram"), np.load("X.npy")
arguments = [X] if gm.export.TARGETS[{target!r}].takes_data else []
out = getattr(gm.export, "to_" + gm.export.TARGETS[{target!r}].module)(metric, *arguments, path={path!r})
assert gm.export.check(metric, {target!r}, out, X).recall >= 0.99
"""


def closure(extra):
    """Distributions that an extra installs, those of the core among them."""
    todo, done = [("gramian", extra)], set()
    while todo:
        name, extra = todo.pop()
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for line in lines:
            asked = re.search(r"extra == ['\"]([\w.-]+)['\"]", line)
            if asked is None or asked.group(1) == extra:
                wanted, more = re.match(r"([\w.-]+)(?:\[([\w.,-]+)\])?", line).groups()
                for one in {None, *(more or "").split(",")} - {""}:
                    if (wanted.lower(), one) not in done:
                        done.add((wanted.lower(), one))
                        todo.append((wanted, one))
    return {re.sub("[-_.]+", "-", name) for name, _ in done}


def missing(extra):
    """Modules of all extras that are installed here, and would not be with this one alone."""
    named = {re.match(r"[\w.-]+", line).group() for line in metadata.requires("gramian")}
    absent = {re.sub("[-_.]+", "-", name.lower()) for name in named} - closure(extra)
    owners = metadata.packages_distributions()
    return {name for name, by in owners.items() if {re.sub("[-_.]+", "-", owner.lower()) for owner in by} <= absent}


@pytest.mark.parametrize("target", gm.export.TARGETS)
def test_the_extra_of_an_engine_is_enough(target, tmp_path):
    linear().save(tmp_path / "metric.gram")
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(200, 8)))
    absent = missing(target)
    assert {"umap", "hypothesis"} <= absent  # no engine asks for these
    code = CODE.format(missing=absent, target=target, path=place(target, tmp_path).name)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
