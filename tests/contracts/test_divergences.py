"""What every divergence promises: conjugates, gradients and derivatives that belong together."""

import inspect

import numpy as np
import pytest

import gramian as gm
from gramian.divergences import Divergence


def instances(d=3):
    B = np.random.default_rng(5).normal(size=(d, d))
    for name in gm._registry.HOME:
        cls = getattr(gm, name)
        if inspect.isclass(cls) and issubclass(cls, Divergence):
            if cls is gm.Spectral:
                yield cls(lambda x: x**3 / 3, lambda x: x**2)
                yield cls(lambda x: x**2 / 2 - np.log(x), lambda x: x - 1 / x, relative=False)
            else:
                yield cls() if cls.uses_prior else cls(B @ B.T + np.eye(d), 0.7)


EACH = pytest.mark.parametrize("div", list(instances()), ids=lambda v: type(v).__name__)


@pytest.fixture
def matrices(rng):
    A, B = rng.normal(size=(2, 3, 3))
    return A @ A.T / 3 + np.eye(3), B @ B.T / 3 + np.eye(3)


def test_all_are_enrolled():
    names = {type(v).__name__ for v in instances()}
    assert names == {"LogDet", "VonNeumann", "Frobenius", "LinearFrobenius", "LinearLogDet", "Spectral"}


@EACH
def test_grad_and_grad_inverse(div, matrices):
    M, _ = matrices
    np.testing.assert_allclose(div.grad_inverse(div.grad(M)), M, atol=1e-9)


@EACH
def test_conjugate_gradient_and_hessian_by_finite_differences(div, matrices, rng):
    M, _ = matrices
    Theta = div.grad(M)
    H = rng.normal(size=(3, 3))
    H = H + H.T
    h = 1e-5
    up, down = div.conjugate(Theta + h * H), div.conjugate(Theta - h * H)
    assert (up[0] - down[0]) / (2 * h) == pytest.approx(float(np.sum(M * H)), rel=1e-5)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * h), div.hessian(Theta)(H), atol=1e-5)


@EACH
def test_hessian_of_repeated_eigenvalues(div, rng):
    Theta = div.grad(2.0 * np.eye(3))
    H = rng.normal(size=(3, 3))
    H = H + H.T
    h = 1e-5
    numeric = (div.conjugate(Theta + h * H)[1] - div.conjugate(Theta - h * H)[1]) / (2 * h)
    np.testing.assert_allclose(numeric, div.hessian(Theta)(H), atol=1e-5)


@EACH
def test_value_is_phi_minus_theta_plus_constant(div, matrices):
    """f(M) = φ(M) − ⟨Θ₀, M⟩ + c with φ(M) = ⟨∇φ(M), M⟩ − φ*(∇φ(M)) (Fenchel)."""
    M, M0 = matrices
    Theta0, constant = div.start(M0)
    Theta = div.grad(M)
    phi = np.sum(Theta * M) - div.conjugate(Theta)[0]
    assert div.value(M, M0) == pytest.approx(phi - np.sum(Theta0 * M) + constant)


@EACH
def test_bregman_divergences_vanish_at_the_prior_only(div, matrices):
    if not div.uses_prior:
        pytest.skip("not a divergence from a prior")
    M, M0 = matrices
    assert div.value(M0, M0) == pytest.approx(0, abs=1e-12)
    assert div.value(M, M0) > 0


@EACH
def test_save_and_load(div, matrices, tmp_path):
    if isinstance(div, gm.Spectral):
        with pytest.raises(TypeError, match="cannot store a function"):
            gm.save(div, tmp_path / "d.gram")
        return
    gm.save(div, tmp_path / "d.gram")
    M, M0 = matrices
    assert gm.load(tmp_path / "d.gram").value(M, M0) == div.value(M, M0)


def test_as_logdet_is_the_same_objective_up_to_a_constant(matrices, rng):
    M, M0 = matrices
    A = rng.normal(size=(3, 3))
    div = gm.LinearLogDet(A @ A.T + np.eye(3), 0.7)
    prior, weight = div.as_logdet(M0)
    difference = [div.value(N, M0) - weight * gm.LogDet().value(N, prior) for N in (M, M0, np.eye(3))]
    np.testing.assert_allclose(difference, difference[0])


def test_linear_takes_a_sparse_matrix_over_the_points(rng):
    from scipy import sparse

    X = rng.normal(size=(7, 3))
    C = sparse.random_array((7, 7), density=0.3, random_state=rng)
    C = sparse.csr_array(C + C.T)
    np.testing.assert_allclose(gm.LinearFrobenius(C).at(X).linear, X.T @ C.toarray() @ X)
    with pytest.raises(ValueError, match="over the points"):
        gm.LinearFrobenius(C).at(X[:5])
