"""The kernel contract: every public kernel enrolls by itself."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.coordinates import LinearProbabilities
from gramian.kernels import Kernel


def histograms(n=10, d=6, seed=0):
    """Nonnegative points with zeros and a duplicate: within the domain of every kernel on vectors."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.8)
    X[-1] = X[0]
    return X


def shared_letters(a, b):
    return float(len(set(a) & set(b)))


def euclidean(a, b):
    return float(np.linalg.norm(a - b))


def sets(n=10, d=2, seed=0):
    """Sets of vectors, one of them empty, with a duplicate."""
    rng = np.random.default_rng(seed)
    made = [rng.normal(size=(size, d)) for size in rng.integers(1, 6, size=n)]
    made[1], made[-1] = np.zeros((0, d)), made[0]
    return made


def placed_words(n=8, seed=0):
    """Images as visual words with places, one of them with a single feature."""
    rng = np.random.default_rng(seed)
    made = [np.c_[rng.integers(4, size=m), rng.random((m, 2))] for m in rng.integers(3, 9, size=n)]
    made[1], made[-1] = made[1][:1], made[0]
    return made


WORDS = ["metric", "kernel", "metrics", "tree", "trees", "gram", "tree"]


def shares(d=6):
    """A classifier of the points."""
    rng = np.random.default_rng(0)
    return LinearProbabilities(rng.normal(size=(3, d)), rng.normal(size=3), np.arange(3))


EXAMPLES = {
    "Bhattacharyya": [lambda: gm.Bhattacharyya(shares())],
    "ChiSquared": [gm.ChiSquared, lambda: gm.ChiSquared(scale=None)],
    "DistanceKernel": [
        lambda: (gm.DistanceKernel(gm.Hamming(root=True), constant=1.0), histograms()),
        lambda: (gm.DistanceKernel(euclidean, g="origin", origin=np.ones(6)), histograms()),
        lambda: (gm.DistanceKernel(gm.Mahalanobis(np.eye(6)), g="origin", origin=np.ones(6)), histograms()),
    ],
    "Intersection": [
        gm.Intersection,
        lambda: (gm.Intersection(levels=9), np.random.default_rng(0).integers(0, 10, size=(8, 6)).astype(float)),
    ],
    "FunctionKernel": [lambda: (gm.FunctionKernel(shared_letters), WORDS)],
    "Precomputed": [lambda: (gm.Precomputed(gm.Gaussian()(histograms())), np.arange(10))],
    "ProximityDistribution": [
        lambda: (gm.ProximityDistribution(4, n_ranks=3), placed_words()),
        lambda: (gm.ProximityDistribution(4, n_ranks=20, normalize=False), placed_words()),
    ],
    "PyramidMatch": [
        lambda: (gm.PyramidMatch(side=0.1), sets()),
        lambda: (gm.PyramidMatch(0.5, 3, n_dims=64, normalize=False, n_grids=3), sets()),
    ],
    "Gaussian": [lambda: gm.Gaussian(2.0), lambda: gm.Gaussian(metric=gm.Mahalanobis(np.eye(6)[:4]))],
    "Polynomial": [gm.Polynomial, lambda: gm.Polynomial(2, offset=0.0, scale=0.1)],
}
"""Further examples, and those of kernels whose class cannot be called without arguments: a function that returns
the kernel, or (kernel, points) when it does not take vectors."""

PUBLIC = [
    name for name in gm._registry.HOME if inspect.isclass(getattr(gm, name)) and issubclass(getattr(gm, name), Kernel)
]


def examples(name):
    if name in EXAMPLES:
        return EXAMPLES[name]
    try:
        getattr(gm, name)()
    except TypeError:
        return []
    return [getattr(gm, name)]


COMPOSED = {
    "sum": lambda: gm.Linear() + gm.Gaussian() + 1.5,
    "product": lambda: gm.Linear() * gm.Gaussian(3.0),
    "scaled": lambda: 0.5 * gm.Laplacian(2.0),
}
CASES = [pytest.param(make, id=f"{name}-{i}") for name in PUBLIC for i, make in enumerate(examples(name))]
CASES += [pytest.param(make, id=name) for name, make in COMPOSED.items()]


def build(make):
    """The kernel and two sets of points."""
    made = make()
    if isinstance(made, tuple):
        kernel, points = made
        return kernel, points, points[: max(2, len(points) // 2)]
    return made, histograms(), histograms(7, seed=1)


def vector_kernel(make):
    kernel, X, Y = build(make)
    if not kernel.on_vectors:
        pytest.skip("not a kernel on vectors")
    return kernel, X, Y


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_kernel_is_enrolled(name):
    assert examples(name), f"{name} cannot be built by default: add it to EXAMPLES"


@pytest.mark.parametrize("make", CASES)
def test_gram_is_symmetric_and_positive_semidefinite(make):
    kernel, X, _ = build(make)
    K = kernel(X)
    assert K.shape == (len(X), len(X)) and K.dtype == np.float64 and np.isfinite(K).all()
    assert np.allclose(K, K.T, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh((K + K.T) / 2)[0] > -1e-10 * np.abs(K).max()


@pytest.mark.parametrize("make", CASES)
def test_diag_pairs_and_distances_agree_with_gram(make):
    kernel, X, Y = build(make)
    K, C, scale = kernel(X), kernel(X, Y), np.abs(kernel(X)).max()
    m = len(Y)
    assert np.allclose(kernel(X, X), K, atol=1e-10 * scale)
    assert np.allclose(kernel.diag(X), np.diag(K), atol=1e-10 * scale)
    assert np.allclose(kernel.pairs(X[:m], Y), np.diag(C), atol=1e-10 * scale)
    assert np.allclose(kernel(Y, X), C.T, atol=1e-10 * scale)
    S = np.diag(K)[:, None] + kernel.diag(Y)[None] - 2 * C
    assert np.allclose(kernel.sqdist(X, Y), np.maximum(S, 0), atol=1e-9 * scale)
    assert np.array_equal(np.diag(kernel.sqdist(X)), np.zeros(len(X)))


@pytest.mark.parametrize("make", CASES)
def test_sums_products_and_multiples_are_kernels(make):
    kernel, X, Y = build(make)
    K = kernel(X, Y)
    assert np.allclose((kernel + kernel)(X, Y), 2 * K)
    assert np.allclose((kernel * kernel)(X, Y), K * K)
    assert np.allclose((3.0 * kernel)(X, Y), 3 * K) and np.allclose((kernel * np.float64(3))(X, Y), 3 * K)
    assert np.allclose((kernel + 2)(X, Y), K + 2) and np.allclose(sum([kernel, kernel])(X, Y), 2 * K)
    combined = 0.5 * kernel * kernel + kernel + 1
    assert np.allclose(combined.diag(X), np.diag(combined(X)))
    assert np.allclose(combined.pairs(X[: len(Y)], Y), np.diag(combined(X, Y)))
    with pytest.raises(ValueError, match="scalar factor must be"):
        -1.0 * kernel
    with pytest.raises(TypeError, match="can only combine with a Kernel or a number"):
        kernel + "linear"


@pytest.mark.parametrize("make", CASES)
def test_save_load_pickle_and_copy(make, tmp_path):
    kernel, X, Y = build(make)
    copies = [pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)]
    try:
        kernel.save(tmp_path / "k.gram")
        copies.append(gm.load(tmp_path / "k.gram"))
    except TypeError as error:  # a kernel that holds a function of the caller
        assert "save: cannot store a function" in str(error)
    for again in copies:
        assert type(again) is type(kernel) and np.array_equal(again(X, Y), kernel(X, Y))


@pytest.mark.parametrize("make", CASES)
def test_kernels_cannot_be_changed(make):
    kernel, _, _ = build(make)
    for name in kernel.__dataclass_fields__:
        with pytest.raises(AttributeError):
            setattr(kernel, name, None)


@pytest.mark.parametrize("make", CASES)
def test_sparse_lists_and_single_precision_give_the_same(make):
    kernel, X, Y = vector_kernel(make)
    K, kept = kernel(X, Y), X.copy()
    scale = np.abs(K).max()
    assert np.allclose(kernel(X.tolist(), Y.tolist()), K)
    single = kernel(X.astype(np.float32), Y.astype(np.float32))
    assert single.dtype == np.float64 and np.allclose(single, K, atol=1e-4 * scale)
    try:
        S = kernel(sparse.csr_matrix(X), sparse.csr_array(Y))
    except TypeError as error:
        assert "must be dense" in str(error)
        return
    assert isinstance(S, np.ndarray) and np.allclose(S, K, atol=1e-10 * scale)
    assert np.allclose(kernel(sparse.csr_array(X)), kernel(X), atol=1e-10 * scale)
    assert np.allclose(kernel(sparse.csr_array(X), Y), K, atol=1e-10 * scale)
    assert np.allclose(kernel.diag(sparse.csr_array(X)), kernel.diag(X))
    m = len(Y)
    for A, B in [(sparse.csr_array(X[:m]), sparse.csr_array(Y)), (X[:m], sparse.csr_array(Y))]:
        assert np.allclose(kernel.pairs(A, B), kernel.pairs(X[:m], Y))
    assert np.array_equal(X, kept)


@pytest.mark.parametrize("make", CASES)
def test_one_clear_sentence_for_bad_points(make):
    kernel, X, _ = vector_kernel(make)
    bad = X.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity"):
        kernel(bad)
    with pytest.raises(ValueError, match="same number of features, got 6 and 3|must have 6 features, got 3"):
        kernel(X, X[:, :3])
    with pytest.raises(ValueError, match="must pair up, got 3 and 2 rows"):
        kernel.pairs(X[:3], X[:2])
    with pytest.raises(ValueError, match="reshape"):
        kernel(X[0])


@pytest.mark.parametrize("make", CASES)
def test_a_kernel_has_coordinates(make):
    kernel, X, _ = build(make)
    Z = gm.KernelFeatures(kernel, basis="all").fit(X).transform(X)
    K = kernel(X)
    assert np.allclose(Z @ Z.T, K, atol=1e-7 * np.abs(K).max())


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"Gaussian: scale must be 'median' or a number in \(0"):
        gm.Gaussian(0.0)
    with pytest.raises(TypeError, match="Gaussian: metric must be a Metric or None, got 'euclidean'"):
        gm.Gaussian(metric="euclidean")
    with pytest.raises(ValueError, match="Polynomial: degree must be an integer"):
        gm.Polynomial(1.5)


def test_closed_forms():
    x, y = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    assert gm.Linear()(x, y)[0, 0] == pytest.approx(-1.5)
    assert gm.Polynomial(3, 1.0, scale=2.0)(x, y)[0, 0] == pytest.approx((2 * -1.5 + 1) ** 3)
    assert gm.Gaussian(2.0)(x, y)[0, 0] == pytest.approx(np.exp(-9.25 / 8))
    assert gm.Laplacian(2.0)(x, y)[0, 0] == pytest.approx(np.exp(-3.5 / 2))
    assert gm.Cosine()(x, y)[0, 0] == pytest.approx(-1.5 / np.sqrt(5 * 1.25))
    assert gm.Cosine()(np.zeros((1, 2)), y)[0, 0] == 0


def test_gaussian_is_accurate_far_from_the_origin():
    x = np.array([[1e6, 1e6]])
    assert gm.Gaussian()(x, x + 0.5)[0, 0] == pytest.approx(np.exp(-0.25))


@pytest.mark.parametrize("make", CASES)
def test_explicit_features_give_the_kernel(make):
    kernel, X, Y = build(make)
    phi = kernel.embed(X)
    if phi is not None:
        np.testing.assert_allclose(gm.linalg.inner(phi, kernel.embed(Y)), kernel(X, Y), rtol=1e-10, atol=1e-12)
