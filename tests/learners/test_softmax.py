"""Losses of neighborhood probabilities: formulas, gradients, blocks, scales."""

import numpy as np
import pytest
from benchmarks.speed.lmnn_loss import lmnn_loss
from scipy.special import logsumexp

from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets
from gramian.learners.dne import dne_loss, neighbor_signs
from gramian.learners.mcml import mcml_loss
from gramian.learners.nca import nca_loss, truncated_nca_loss


def _losses(X, codes, near):
    labels = Labels(codes, np.unique(codes))
    W = neighbor_signs(X, labels, 2).toarray()
    everyone = targets.everywhere(X, len(X) - 1)
    return {
        "nca": lambda L: nca_loss(L, X, codes),
        "nca rows": lambda L: nca_loss(L, X, codes, slice(3, 11)),
        "nca truncated": lambda L: truncated_nca_loss(L, X, codes, everyone[:, :6]),
        "mcml": lambda L: mcml_loss(L, X, codes),
        "lmnn": lambda L: lmnn_loss(L, X, codes, near, 0.7),
        "dne": lambda L: dne_loss(L, X, W),
    }


NAMES = ("nca", "nca rows", "nca truncated", "mcml", "lmnn", "dne")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_gradient_matches_finite_differences(problem, rng, name, rank):
    X, codes, _, near = problem
    L = rng.standard_normal((rank, 5)) * 0.5
    fun = _losses(X, codes, near)[name]
    gradient, h = fun(L)[1], 1e-6
    for _ in range(5):
        step = rng.standard_normal(L.shape)
        slope = (fun(L + h * step)[0] - fun(L - h * step)[0]) / (2 * h)
        assert slope == pytest.approx((gradient * step).sum(), rel=1e-5, abs=1e-6)


def _distances(L, X):
    Z = X @ L.T
    return ((Z[:, None] - Z[None]) ** 2).sum(axis=2)


def test_values_match_the_formulas(problem):
    X, codes, L, near = problem
    D = _distances(L, X)
    logits = -D.copy()
    np.fill_diagonal(logits, -np.inf)
    logp = logits - logsumexp(logits, axis=1, keepdims=True)
    same = (codes[:, None] == codes) & ~np.eye(len(X), dtype=bool)
    losses = _losses(X, codes, near)
    assert losses["nca"](L)[0] == pytest.approx(-np.exp(logp)[same].sum())
    kl = sum(np.mean(-np.log(same[i].sum()) - logp[i, same[i]]) for i in range(len(X)) if same[i].any())
    assert losses["mcml"](L)[0] == pytest.approx(kl)
    value = 0.0
    for i in range(len(X)):
        for j in near[i]:
            if j != i:
                value += D[i, j] + 0.7 * sum(max(0, 1 + D[i, j] - D[i, l]) for l in np.flatnonzero(codes != codes[i]))
    assert losses["lmnn"](L)[0] == pytest.approx(value)
    W = neighbor_signs(X, Labels(codes, np.arange(4)), 2).toarray()
    assert losses["dne"](L)[0] == pytest.approx((W * D).sum() / 2)


def test_truncation_at_all_neighbors_is_no_truncation(problem):
    X, codes, L, _ = problem
    full, cut = nca_loss(L, X, codes), truncated_nca_loss(L, X, codes, targets.everywhere(X, len(X) - 1))
    assert cut[0] == pytest.approx(full[0])
    np.testing.assert_allclose(cut[1], full[1], atol=1e-10)


def test_row_blocks_add_up(problem, monkeypatch):
    X, codes, L, _ = problem
    whole = [nca_loss(L, X, codes), mcml_loss(L, X, codes)]
    monkeypatch.setattr("gramian.learners.softmax.BLOCK_BYTES", 8 * len(X) * 3)
    monkeypatch.setattr("gramian.learners.softmax.LEAST_ROWS", 1)
    for (value, gradient), (v, g) in zip(whole, [nca_loss(L, X, codes), mcml_loss(L, X, codes)]):
        assert v == pytest.approx(value)
        np.testing.assert_allclose(g, gradient, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-8, 1e4])
def test_softmax_losses_stay_finite_at_any_scale(problem, scale):
    X, codes, L, _ = problem
    for loss in (nca_loss, mcml_loss):
        value, gradient = loss(scale * L, X, codes)
        assert np.isfinite(value) and np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["nca", "mcml", "lmnn", "dne"])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_array_namespaces_agree(problem, name, library):
    xp = pytest.importorskip(library)
    X, codes, L, near = problem
    W = neighbor_signs(X, Labels(codes, np.arange(4)), 2).toarray()
    arguments = {"nca": (codes,), "mcml": (codes,), "lmnn": (codes, near, 0.7), "dne": (W,)}[name]
    loss = {"nca": nca_loss, "mcml": mcml_loss, "lmnn": lmnn_loss, "dne": dne_loss}[name]
    value, gradient = loss(L, X, *arguments)
    given = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    other = loss(xp.asarray(L), xp.asarray(X), *given)
    assert type(other[1]) is type(xp.asarray(X))
    assert other[0] == pytest.approx(value)
    np.testing.assert_allclose(np.asarray(other[1]), gradient, atol=1e-10)
