"""Leave-one-out closeness of estimated Hamming distances, person by person (§10 of the paper)."""

import warnings

import numpy as np

import gramian as gm
from benchmarks import harness, report

METHODS = (
    "W = 0",
    "W = 0, greedy subset",
    "with an intercept",
    "least squares of d",
    "learned W",
    "Nyström",
    "Nyström as printed",
)


def nystrom(K, subset):
    """K K̃⁺ with the rank-m approximation K̃ = K_QR K_RR⁺ K_RQ: it needs all n distances of a new object."""
    approximation = K[:, subset] @ np.linalg.pinv(K[np.ix_(subset, subset)], hermitian=True) @ K[subset]
    return K @ np.linalg.pinv((approximation + approximation.T) / 2, rcond=1e-10, hermitian=True)


def nystrom_as_printed(K, subset):
    """K K̃⁺ with the eigenvalues and eigenvectors of §9."""
    n, m = len(K), len(subset)
    values, U = np.linalg.eigh(K[np.ix_(subset, subset)])
    keep = values > 1e-12 * values[-1]
    values, U = values[keep] * n / m, np.sqrt(m / n) * K[:, subset] @ (U[:, keep] / values[keep])
    return K @ (U / values) @ U.T


def least_squares(d, d_R, subset):
    """The null: each column of d by least squares on its entries at the subset and a constant; no kernel."""
    design = np.column_stack([d[:, subset], np.ones(len(d))])
    return np.maximum(np.append(d_R, 1.0) @ np.linalg.lstsq(design, d, rcond=None)[0], 0)


def closeness(data, sizes, root, step=1, exchange=True):
    """1 − D(m, q, Q) of (31) for each left-out image: {(method, m): scores}, and whose image each is.

    Subsets are chosen by exchange for all methods, and greedily for one more; without ``exchange`` greedily for all.
    """
    methods = [method for method in METHODS if exchange or "greedy" not in method]
    scores = {(method, m): [] for method in methods for m in sizes}
    people = []
    for person in np.unique(data.y):
        X = data.X[data.y == person]
        hamming = gm.Hamming(threshold=float(X.mean()), root=root)
        for q in range(0, len(X), step):
            Q = np.delete(X, q, axis=0)
            true = gm.Hamming(hamming.threshold).pairwise(X[q : q + 1], Q)[0]
            _one(scores, hamming, X[q : q + 1], Q, true, sizes, exchange)
            people.append(person)
    return scores, np.array(people)


def _one(scores, hamming, q, Q, true, sizes, exchange):
    full = gm.SubsetDistance(hamming, max(sizes), selection="greedy").fit(Q)
    kernel = full.kernel_
    K, k_q = kernel(Q), kernel(Q, q)[:, 0]

    def add(method, m, projection, subset):
        model = gm.SubsetDistance(hamming, m, projection=projection, selection=subset).fit(Q)
        scores[method, m].append(_score(model.sqdist(q)[0], true, hamming.root))

    for m in sizes:
        greedy = full.subset_[:m]  # greedy choices are nested
        subset = gm.select_subset(K, m, method="exchange") if exchange else greedy
        add("W = 0", m, "pinv", subset)
        add("with an intercept", m, "affine", subset)
        add("learned W", m, "learned", subset)
        among = np.sqrt(full.sqdist_)
        scores["least squares of d", m].append(
            _score(least_squares(among, hamming.pairwise(q, Q)[0][subset], subset) ** 2, true, hamming.root)
        )
        if exchange:
            add("W = 0, greedy subset", m, "pinv", greedy)
        for method, approximate in (("Nyström", nystrom), ("Nyström as printed", nystrom_as_printed)):
            estimate = np.maximum(2 * kernel.constant + K.diagonal() - 2 * approximate(K, subset) @ k_q, 0)
            scores[method, m].append(_score(estimate, true, hamming.root))


def _score(sqdist, true, root):
    estimate = sqdist if root else np.sqrt(sqdist)
    apart = true > 0  # (31) has no value for identical binary images
    return 1 - float(np.mean(np.abs(estimate - true)[apart] / true[apart]))


def rows(figure, name, sizes, step, exchange=True):
    """Rows of a figure for both readings of the distance, and its picture."""
    data, out, curves = harness.load(name), [], {}
    for root, reading in ((False, "d = Hamming"), (True, "d² = Hamming")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the Hamming distance itself is not Hilbertian
            scores, people = closeness(data, sizes, root, step, exchange)
        for (method, m), values in scores.items():
            note = f"± {_error(values, people):.3f}, spread {np.std(values):.3f}"
            if method != "W = 0":
                note += _gain(np.subtract(values, scores["W = 0", m]), people)
            table = f"{figure}, {reading}"
            case = f"m = {m}"
            row = {"table": table, "case": case, "method": method, "ours": float(np.mean(values))}
            out.append(row | {"paper": None, "note": note})
            curves.setdefault((reading, method), []).append((m, np.mean(values), np.std(values)))
    return out, curves


def _error(values, people):
    """The standard error of the mean over people: images of one person are not independent."""
    means = [np.mean(np.asarray(values)[people == person]) for person in np.unique(people)]
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))


def _gain(differences, people):
    return f", over W = 0 {np.mean(differences):+.4f} ± {_error(differences, people):.4f}"


def picture(curves, filename, title):
    """Closeness against m with its spread, one panel for each reading of the distance."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axis, reading in zip(axes, ("d = Hamming", "d² = Hamming")):
        drawn = [
            method
            for method in METHODS
            if (reading, method) in curves and "printed" not in method and "of d" not in method
        ]
        for i, method in enumerate(drawn):
            m, mean, spread = np.array(curves[reading, method]).T
            axis.errorbar(m + 0.12 * (i - 1), mean, spread, marker="o", ms=3, lw=1.2, capsize=2, label=method)
        axis.set(title=reading, xlabel="m, members measured", ylim=(-0.05, 1.02))
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("closeness S(m)")
    axes[1].legend(loc="lower right", frameon=False)
    figure.suptitle(title)
    figure.tight_layout()
    report.PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(report.PICTURES / filename, dpi=110)
    plt.close(figure)
