"""Nr-Kmeans of ClustPy (Mautz et al. 2018) on given data; run in its own environment."""

import time
import warnings


def main(arrays):
    """Labels and CPU seconds for each stacked data set ``X`` (m, n, d)."""
    from clustpy.alternative import NrKmeans

    warnings.simplefilter("ignore")
    found, seconds = [], []
    for seed, X in enumerate(arrays["X"]):
        start = time.process_time()
        model = NrKmeans([int(k) for k in arrays["k"]], n_init=int(arrays["n_init"]), random_state=seed).fit(X)
        seconds.append(time.process_time() - start)
        found.append(model.labels_[:, : len(arrays["k"])].tolist())
    return {"labels": found, "seconds": seconds}
