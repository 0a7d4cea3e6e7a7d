"""Table 1 of Li, Yang and Wang (2007): four UCI sets, 10% labeled."""

import warnings

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.svm import SVC

import gramian as gm
from benchmarks.harness import load, remembered
from gramian.kernels.basic import median_scale
from gramian.manifold import GaussianGraph
from gramian.manifold.transductive import vote

TITLE = "TDL, Table 1: UCI sets with 10% of the labels"
NOTES = """
TDL and eigenmaps come out as printed (seven of eight cells within a point), but on three of the four sets a plain
supervised rival, on the labeled points alone, is ahead of TDL: nearest means on breast cancer and wine, an SVM on
sonar. 100 random splits, 10% labeled, 1-NN in the embedding, features scaled to [0, 1], complete graph with weights
exp(−d²/0.25), λ = 1024, 10 eigenvectors (5 on breast cancer), all as printed; accuracy in percent, the note gives the
standard error, and the standard deviations over splits, ours and the paper's. Splits in which a class has no label
are drawn again. Not printed and chosen here with accuracies of these sets in sight: k = 20 in the cost, the value the
paper uses on MNIST (of 1, 5 and 20, tried on 15 of these splits, 1 and 5 lose four to seven points on sonar and gain
at most half a point elsewhere), and the Laplacian. The text says that the penalty is built as for the two moons, with
the *normalized* Laplacian; with it Laplacian eigenmaps reach 86% on wine instead of the printed 93.48%, and λ = 1024
leaves TDL equal to eigenmaps everywhere. The plain Laplacian L = D − A reproduces all eight cells, so it is what the
table shows.

KFDA, SVM and KNM are printed from Zhang et al. (2006), whose settings are not told. Ours: Gaussian kernel of the
median distance of the labeled points for all three, linear discriminant with automatic shrinkage and nearest mean on
its coordinates, an SVM with C = 10; nothing is tuned. Their 1-NN on breast cancer, 92.94, is that of the other
Wisconsin set, wdbc (last table), so these rivals were probably run on that one. Their own GWPC and KTDA are not here.
"""
PAPER = {
    "breast_cancer_wisconsin": (5, (94.74, 94.80, 93.30, 93.35, 90.89, 92.94), (1.73, 1.61, 1.82, 2.05, 1.51, 1.59)),
    "ionosphere": (10, (89.37, 85.01, 77.06, 77.37, 76.99, 81.14), (5.32, 4.02, 10.12, 10.00, 7.78, 4.27)),
    "sonar": (10, (63.65, 62.88, 67.07, 67.07, 65.63, 69.18), (5.68, 4.91, 5.55, 5.50, 5.81, 4.60)),
    "wine": (10, (93.09, 93.48, 85.37, 92.59, 87.22, 91.71), (4.00, 2.81, 7.83, 3.29, 5.32, 3.00)),
}
METHODS = ("TDL", "Laplacian eigenmaps", "KFDA", "SVM", "KNM", "1-NN")


def split(y, rng):
    """Random 10%, with every class among them."""
    while True:
        chosen = rng.permutation(len(y))[: round(0.1 * len(y))]
        if len(np.unique(y[chosen])) == len(np.unique(y)):
            return chosen


def supervised(A, a, B):
    """Labels of the rows of B by KFDA, SVM and KNM from labeled rows A."""
    scale = median_scale(A)
    features = gm.KernelFeatures(gm.Gaussian(scale)).fit(A)
    Z, new = features.transform(A), features.transform(B)
    discriminant = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(Z, a)
    machine = SVC(C=10.0, gamma=1 / (2 * scale**2)).fit(A, a)
    return {
        "KFDA": discriminant.predict(new),
        "SVM": machine.predict(B),
        "KNM": NearestCentroid().fit(Z, a).predict(new),
    }


def points(name):
    """Features in [0, 1] and labels 0, 1, …"""
    data = load(name)
    span = np.ptp(data.X, axis=0)
    X = (data.X - data.X.min(axis=0)) / np.where(span > 0, span, 1)
    return X, np.unique(data.y, return_inverse=True)[1]


def accuracies(name, dimensions, splits):
    """Accuracy of each method on each split, in percent."""
    X, y = points(name)
    adjacency = GaussianGraph(np.sqrt(0.125))(X)
    plain = gm.LaplacianEigenmaps(dimensions, graph=adjacency).fit_transform(X)
    scores = {method: [] for method in METHODS}
    for seed in range(splits):
        known = split(y, np.random.default_rng(seed))
        hidden = np.setdiff1d(np.arange(len(y)), known)
        labels = np.full(len(y), -1)
        labels[known] = y[known]
        tdl = gm.TDL(dimensions, lam=1024.0, n_neighbors=20, graph=adjacency).fit(X, labels).embedding_
        found = {m: vote(F[known], y[known], F[hidden], 1) for m, F in zip(METHODS[:2], (tdl, plain))}
        found["1-NN"] = vote(X[known], y[known], X[hidden], 1)
        found |= supervised(X[known], y[known], X[hidden])
        for method, labels_found in found.items():
            scores[method].append(100 * float(np.mean(labels_found == y[hidden])))
    return scores


def run(quick=False):
    """All cells that can be computed here, and wdbc."""
    rows = []
    splits = 5 if quick else 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (dimensions, means, deviations) in [*PAPER.items(), ("wdbc", (5, (None,) * 6, (None,) * 6))]:
            scores = remembered(
                "tdl_table1", (__file__, name, splits), lambda n=name, d=dimensions: accuracies(n, d, splits)
            )
            table = "Table 1" if name in PAPER else "the other Wisconsin set"
            for method, mean, deviation in zip(METHODS, means, deviations):
                rows.append(_row(table, name, method, np.array(scores[method]), mean, deviation))
    return rows


def _row(table, case, method, ours, mean, deviation):
    note = f"± {ours.std() / np.sqrt(len(ours)):.2f}; deviation {ours.std():.2f}"
    note += "" if deviation is None else f" (paper {deviation})"
    return {"table": table, "case": case, "method": method, "ours": ours.mean(), "paper": mean, "note": note}
