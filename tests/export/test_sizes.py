"""Every target at 2,000 × 16 and 20,000 × 384 finds our neighbors: identical, or 0.99 of them by a graph."""

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import linear, place, points, write

GRAPHS = ("hnswlib", "usearch")


@pytest.mark.engines
@pytest.mark.parametrize("target", gm.export.TARGETS)
def test_every_target_finds_our_neighbors_on_2000_by_16(target, tmp_path):
    metric, X = linear(16, 16), points(2000, 16)
    report = gm.export.check(metric, target, write(target, place(target, tmp_path), metric, X), X)
    assert report.same or (target in GRAPHS and report.recall >= 0.99), str(report)


@pytest.mark.slow
@pytest.mark.engines
@pytest.mark.parametrize("target", gm.export.TARGETS)
def test_every_target_finds_our_neighbors_on_20000_by_384(target, tmp_path):
    metric, X = linear(384, 384), points(20_000, 384).astype(np.float32)
    report = gm.export.check(metric, target, write(target, place(target, tmp_path), metric, X), X)
    assert report.same or (target in GRAPHS and report.recall >= 0.99), str(report)
