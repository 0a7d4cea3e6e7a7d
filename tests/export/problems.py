"""Metrics of every kind, points, and the neighbors that every target must find."""

import re

import numpy as np

import gramian as gm
from gramian.coordinates import Angles, UnitRows
from gramian.export.base import Map
from gramian.metrics import Metric

D = 8


def points(n=400, d=D, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 0.5


def linear(r=5, d=D, seed=1):
    return gm.Mahalanobis(np.random.default_rng(seed).normal(size=(r, d)) / np.sqrt(d))


def psd(k, seed):
    A = np.random.default_rng(seed).normal(size=(k, k + 2))
    return A @ A.T


def subspace(alpha):
    U, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(D, 3)))
    return gm.SubspaceMahalanobis(U, psd(3, 3), alpha=alpha)


def in_kernel(kernel, alpha=0.0, center=False, rank=12):
    features = gm.KernelFeatures(kernel, rank=rank, center=center).fit(points())
    return gm.KernelMetric(features, psd(len(features.map_), 5), alpha=alpha)


def on_angles(r=6, C=None):
    """Points by the angle under a factor, seen from a center, as AutoMetric has them."""
    center, factor = points().mean(axis=0), np.random.default_rng(6).normal(size=(r, D))
    return Metric.of(Angles(center, factor), np.eye(r) if C is None else C)


LINEAR = {
    "Mahalanobis": linear,
    "full rank": lambda: gm.Mahalanobis.from_matrix(psd(D, 4)),
    "subspace": lambda: subspace(0.0),
    "subspace and the rest": lambda: subspace(0.7),
    "linear kernel": lambda: in_kernel(gm.Linear(), rank=4),
    "linear kernel and the rest": lambda: in_kernel(2 * gm.Linear(), alpha=0.4, rank=4),
    "centered linear kernel": lambda: in_kernel(gm.Linear(), center=True, rank=4),
}
BY_ANGLE = {
    "rows of length one": lambda: Metric.of(UnitRows(D), linear().components),
    "rows of length one, as they are": lambda: Metric.of(UnitRows(D), np.eye(D)),
    "angles": on_angles,
    "angles in all directions": lambda: on_angles(D),
    "angles and a factor behind": lambda: on_angles(6, np.random.default_rng(7).normal(size=(4, 6))),
}
FORMULAS = LINEAR | BY_ANGLE
CURVED = {
    "Gaussian": lambda: in_kernel(gm.Gaussian(2.0)),
    "centered Gaussian": lambda: in_kernel(gm.Gaussian(2.0), center=True),
    "polynomial": lambda: in_kernel(gm.Polynomial(2, 0.5, scale=0.3)),
    "cosine": lambda: in_kernel(gm.Cosine(), rank=5),
    "Gaussian of a metric": lambda: in_kernel(gm.Gaussian(2.0, metric=linear())),
    "sum and product": lambda: in_kernel(gm.Linear() * gm.Gaussian(3.0) + 2.0 * gm.Polynomial(2) + 0.5),
}


def queries(n=20, d=D, seed=9):
    return np.random.default_rng(seed).normal(size=(n, d)) + 0.5


def neighbors(metric, X, Q, k=10, ids=None):
    """By our own exact index."""
    return gm.ExactIndex(metric).add(X, ids).query(Q, k)[0]


def sections(readme):
    """Python of each section of a README, by the name of the export."""
    text = readme.read_text(encoding="utf-8")
    return dict(re.findall(r"^## (\S+)\n.*?^```python\n(.*?)^```", text, re.S | re.M))


def write(target, path, metric, X, **options):
    """Export points or the map; the place of the output."""
    kind = gm.export.TARGETS[target]
    function = getattr(gm.export, f"to_{kind.module}")
    return function(metric, X, path=path, **options) if kind.takes_data else function(metric, path)


def opened(target, path, metric, table=None, form="vector"):
    """What the check opens."""
    return gm.export.TARGETS[target].open(path, Map.of(metric, "test"), table, form)


def place(target, folder, name="out"):
    return folder / f"{name}{gm.export.TARGETS[target].suffix}"


def stored(path, column="learned"):
    """Ids and vectors of a Parquet file."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return table["id"].to_numpy(), np.stack(table[column].to_numpy())
