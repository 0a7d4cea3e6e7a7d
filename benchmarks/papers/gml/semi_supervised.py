"""What the benchmarks of Jain (2009, §6.5.2) share: sets, splits, and the errors of all methods on one split."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import gramian as gm
from benchmarks.harness import load
from benchmarks.papers.gml.rivals import order_constrained_factor
from gramian import linalg
from gramian.manifold import SpectralFamily, diffusion_factor
from gramian.manifold.transductive import vote

GAMMAS = (0.01, 0.1, 1.0)
ITERATIONS = 10
TIMES = tuple(10.0 ** np.linspace(-1, 2, 13))


def text(name):
    """Unit tf-idf rows and labels."""
    data = load(f"{name}_counts")
    return TfidfTransformer(sublinear_tf=True).fit_transform(sparse.csr_matrix(data.X)), data.y.astype(int)


def usps(n):
    """A fixed random part of the digits."""
    data = load("usps")
    X = data.X * float(getattr(data, "scale", 1.0)) if np.abs(data.X).max() > 2 else data.X
    order = np.random.default_rng(0).permutation(len(data.y))[:n]
    return X[order], data.y.astype(int)[order]


def hide(y, count, seed):
    """Labels of ``count`` random points with every class among them, −1 elsewhere."""
    rng = np.random.default_rng(seed)
    while True:
        known = rng.permutation(len(y))[:count]
        if len(np.unique(y[known])) == len(np.unique(y)):
            break
    labels = np.full(len(y), -1)
    labels[known] = y[known]
    return labels


def machine(**options):
    """One-vs-all SVM."""
    return OneVsRestClassifier(SVC(**options))


def kernel_svm(F, labels):
    """Labels by an SVM with C = 1 on the kernel FFᵀ, scaled to a mean diagonal of one."""
    known, F = labels >= 0, F / np.sqrt(np.mean(np.sum(F**2, axis=1)))
    return machine(C=1.0, kernel="linear").fit(F[known], labels[known]).predict(F)


def nearest(F, labels):
    """Labels by 4-NN in a kernel's factor."""
    known = labels >= 0
    return vote(F[known], labels[known], F, 4)


def geometry_aware(A, X, labels):
    """The kernel's factor before the first iteration and after each one, γ chosen on the labels."""
    cores = []
    model = gm.GeometryAwareKernel(
        SpectralFamily(graph=A),
        GAMMAS,
        anchor=0.0,
        n_votes=4,
        max_iter=ITERATIONS,
        random_state=0,
        solver=gm.DualAscent(tol=1e-6),
    )
    model.set_params(callback=lambda *state: cores.append(state[3])).fit(X, labels)
    start = np.diag(np.exp(-0.1 * model.eigenvalues_))
    cores = [start, *cores, *[cores[-1]] * (ITERATIONS - len(cores))]
    return [model.eigenvectors_ @ linalg.psd_sqrt(core) for core in cores]


def aligned_diffusion(basis, labels):
    """The diffusion kernel whose t is best aligned with the labels."""
    known = labels >= 0
    target = np.where(labels[known][:, None] == labels[known], 1.0, -1.0 / labels.max())

    def alignment(t):
        F = diffusion_factor(basis, t)[known]
        return np.sum((F @ F.T) * target) / np.linalg.norm(F @ F.T)

    return diffusion_factor(basis, max(TIMES, key=alignment))


def supervised(X, labels):
    """Labels by SVMs on labeled points alone: RBF with its width by 5-fold cross-validation, linear, quadratic."""
    known = labels >= 0
    width = 1 / np.median(euclidean_distances(X[known], squared=True)[np.triu_indices(known.sum(), 1)])
    grid = {"estimator__gamma": [width * 4.0**p for p in (-1, 0, 1)]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    models = {
        "RBF kernel": GridSearchCV(machine(C=100.0, kernel="rbf"), grid, cv=folds),
        "linear kernel": machine(C=100.0, kernel="linear"),
        "quadratic kernel": machine(C=100.0, kernel="poly", degree=2, coef0=1.0, gamma=width),
    }
    return {name: model.fit(X[known], labels[known]).predict(X) for name, model in models.items()}


def spread(A, X, labels):
    """scikit-learn's label spreading on the same graph."""
    return LabelSpreading(kernel=lambda *_: sparse.csr_matrix(A), alpha=0.9, max_iter=100).fit(X, labels).transduction_


def errors(A, basis, X, y, labels):
    """Error of each method on the unlabeled points; ``path`` holds G-ML's after each iteration, the start first."""
    hidden = labels < 0

    def error(found):
        return float(np.mean(found[hidden] != y[hidden]))

    factors = geometry_aware(A, X, labels)
    ordered = order_constrained_factor(basis, labels)
    found = {
        "G-ML, SVM": kernel_svm(factors[-1], labels),
        "diffusion kernel": kernel_svm(aligned_diffusion(basis, labels), labels),
        "order-constrained kernel": kernel_svm(ordered, labels),
        "order-constrained kernel, 4-NN": nearest(ordered, labels),
        "label spreading": spread(A, X, labels),
        **supervised(X, labels),
    }
    path = [error(nearest(F, labels)) for F in factors]
    return {"path": path} | {name: error(answer) for name, answer in found.items()}
