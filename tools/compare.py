"""Compare every learner with an older commit: ``python tools/compare.py COMMIT [NAME…]``.

Both trees fit the same settings (each learner, anchored and not, on digits, wine and sparse text, from labels, pairs,
triplets and chunklets) with ``random_state=0``, one thread. Printed are the settings whose squared distances differ by
more than 1e-10 of the largest, or whose weight of the prior differs, and the CPU seconds of both. A number beyond that
is no proof of a fault, and none within it a proof of truth: it says what a change of the code changed.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ANCHORS = (0, 0.3, "auto")
ANCHORED = (
    "ITML", "POLA", "RCA", "PLDA", "GMML", "MMC", "LSML", "SDML", "SCML", "DNE", "LFDA", "LMNN", "NCA", "MCML",
    "Contrastive",
)  # fmt: skip
PAIRS = ("ITML", "POLA", "GMML", "MMC", "SDML")
TRIPLETS = ("ITML", "LSML", "SCML", "LMNN")
CHUNKLETS = ("RCA", "PLDA", "Contrastive")
MORE = {
    "ITML cov": ("ITML", {"prior": "covariance"}),
    "ITML auto": ("ITML", {"gamma": "auto"}),
    "ITML auto exact": ("ITML", {"gamma": "auto", "anchor": 0}),
    "ITML balanced": ("ITML", {"class_weight": "balanced"}),
    "ITML rank": ("ITML", {"rank": 10}),
    "ITML rank exact": ("ITML", {"rank": 10, "anchor": 0}),
    "ITML bounds": ("ITML", {"bounds": (1.0, 50.0)}),
    "ITML bregman": ("ITML", {"solver": "bregman", "anchor": 0}),
    "RCA cov": ("RCA", {"prior": "covariance"}),
    "RCA 5": ("RCA", {"n_components": 5}),
    "LMNN cov": ("LMNN", {"prior": "covariance"}),
    "LMNN 5": ("LMNN", {"n_components": 5, "max_iter": 50}),
    "LMNN pull": ("LMNN", {"reg": "pull", "anchor": 0}),
    "NCA 2": ("NCA", {"n_components": 2}),
    "NCA near": ("NCA", {"n_neighbors": 20, "anchor": 0}),
    "NCA batches": ("NCA", {"batch_size": 50, "anchor": 0, "max_iter": 5}),
    "NCA random": ("NCA", {"init": "random", "n_components": 3}),
    "LFDA 2": ("LFDA", {"n_components": 2}),
    "LFDA 30": ("LFDA", {"n_neighbors": 30}),
    "MMC diagonal": ("MMC", {"diagonal": True}),
    "POLA threshold": ("POLA", {"threshold": 2.0}),
    "Kernelized": ("Kernelized", {"learner": ("ITML", {})}),
    "Kernelized LMNN": ("Kernelized", {"learner": ("LMNN", {})}),
    "Kernelized rank": ("Kernelized", {"learner": ("RCA", {}), "rank": 20}),
    "Kernelized exact": ("Kernelized", {"learner": ("ITML", {"anchor": 0}), "rank": 20}),
    "Kernelized given": ("Kernelized", {"learner": ("RCA", {}), "kernel": ("Gaussian", {"scale": 30.0}), "rank": 30}),
    "Covariance": ("Covariance", {}),
    "Framework": ("Framework", {}),
    "Framework Frobenius": ("Framework", {"divergence": ("Frobenius", {}), "anchor": 0}),
    "AutoMetric": ("AutoMetric", {}),
}


def cases():
    """Name, learner, settings, data and kind of side information of each comparison."""
    for name in ANCHORED:
        for anchor in ANCHORS:
            for data in ("digits", "wine"):
                yield f"{name} {anchor} {data}", name, {"anchor": anchor}, data, "labels"
    for names, kind in ((PAIRS, "pairs"), (TRIPLETS, "triplets"), (CHUNKLETS, "chunklets")):
        for name in names:
            for anchor in ANCHORS:
                yield f"{name} {anchor} {kind}", name, {"anchor": anchor}, "wine", kind
    for text, (name, settings) in MORE.items():
        for data in ("digits", "wine"):
            yield f"{text} {data}", name, settings, data, "labels"
    for kind in ("pairs", "triplets", "chunklets"):
        yield f"AutoMetric {kind}", "AutoMetric", {}, "wine", kind
    for name, settings in (
        ("ITML", {"rank": 20}),
        ("Framework", {"rank": 20}),
        ("Kernelized", {"learner": ("RCA", {}), "rank": 30}),
    ):
        for kind in ("labels", "pairs"):
            if (name, kind) != ("Kernelized", "pairs"):
                yield f"{name} text {kind}", name, settings, "text", kind
    for anchor in ANCHORS:
        yield f"MLKR {anchor}", "MLKR", {"anchor": anchor}, "diabetes", "labels"


def points(data):
    """X and y of a data set."""
    from sklearn import datasets as known

    if data == "text":
        rng = np.random.RandomState(0)
        from scipy import sparse

        y = rng.randint(4, size=200)
        counts = rng.poisson(0.02 + 0.2 * (np.arange(2000)[None, :] % 4 == y[:, None]) * rng.rand(2000)[None, :])
        return sparse.csr_array(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)), y
    X, y = getattr(known, f"load_{data}")(return_X_y=True)
    if data == "digits":
        return X[:300], y[:300]
    if data == "wine":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        order = np.random.RandomState(0).permutation(len(X))
        return X[order][:150], y[order][:150]
    return X[:200], y[:200]


def side_of(gm, kind, y):
    """Labels, or constraints drawn from them."""
    if kind == "labels":
        return y
    if kind == "chunklets":
        return gm.Chunklets(np.where(np.arange(len(y)) % 5 == 0, -1, y))
    if kind == "pairs":
        return gm.Pairs.from_labels(y, 400, random_state=1)
    return gm.Triplets.from_labels(y, 300, random_state=1)


def made(gm, value):
    """A value, or what a pair (name, settings) stands for."""
    return getattr(gm, value[0])(**value[1]) if isinstance(value, tuple) and isinstance(value[0], str) else value


def run(out, names):
    """Fit all settings with the package at hand, and write matrices and seconds."""
    import gramian as gm

    warnings.simplefilter("ignore")
    matrices, facts = {}, {}
    for text, name, settings, data, kind in cases():
        if names and not any(word in text for word in names):
            continue
        X, y = points(data)
        learner = getattr(gm, name)(**{key: made(gm, value) for key, value in settings.items()})
        if "random_state" in learner.get_params():
            learner.set_params(random_state=0)
        try:
            side = side_of(gm, kind, y)
            learner.fit(X, side)
            seconds = np.inf
            for _ in range(3 if name != "AutoMetric" else 1):
                began = time.process_time()
                learner.fit(X, side)
                seconds = min(seconds, time.process_time() - began)
            some = X[:40]
            matrices[text] = np.asarray(learner.metric_.sqdist(some))
            facts[text] = [seconds, repr(getattr(learner, "anchor_", getattr(learner, "chosen_", None))), ""]
        except Exception as error:  # an error of both trees is a fact too
            facts[text] = [0.0, "", f"{type(error).__name__}: {error}"[:160]]
    np.savez(out, **{f"M/{key}": value for key, value in matrices.items()}, facts=json.dumps(facts))


@contextlib.contextmanager
def tree_of(commit):
    """A folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", "--quiet", place, commit], check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", place], check=True)


def results(tree, names, out):
    """What a tree finds; numbers of an older commit are made once and kept in ``out``."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    env = {**os.environ, **threads, "PYTHONPATH": str(tree / "src")}
    subprocess.run([sys.executable, __file__, "--run", str(out), *names], check=True, env=env)


def read(path):
    """Matrices and facts of a file."""
    with np.load(path) as file:
        return {key[2:]: file[key] for key in file.files if key != "facts"}, json.loads(str(file["facts"]))


def main(commit, names):
    """Compare, and print what differs."""
    key = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", commit], check=True, capture_output=True, text=True
    ).stdout.strip()
    before = Path(tempfile.gettempdir()) / f"gramian-{key[:12]}-{'-'.join(names) or 'all'}.npz"
    if not before.exists():
        with tree_of(key) as tree:
            results(tree, names, before)
    with tempfile.TemporaryDirectory() as folder:
        results(ROOT, names, Path(folder) / "now.npz")
        (then, facts), (now, news) = read(before), read(Path(folder) / "now.npz")
    equal, worst, seconds = 0, 0.0, np.zeros(2)
    for text, (spent, weight, error) in facts.items():
        spent_now, weight_now, error_now = news.get(text, (0.0, "", "not run"))
        if error or error_now:
            if error != error_now:
                print(f"{text:32s} before: {error or 'fine'}\n{'':32s} now:    {error_now or 'fine'}")
            continue
        seconds += spent, spent_now
        off = np.abs(now[text] - then[text]).max() / max(np.abs(then[text]).max(), 1e-300)
        equal, worst = equal + (off <= 1e-10), max(worst, off)
        if off > 1e-10 or weight != weight_now:
            print(
                f"{text:32s} differs by {off:.1e}; weight {weight} -> {weight_now}; "
                f"CPU s {spent:.3f} -> {spent_now:.3f}"
            )
        elif spent > 0.02 and spent_now > 1.2 * spent:
            print(f"{text:32s} slower: CPU s {spent:.3f} -> {spent_now:.3f}")
    print(
        f"{equal} of {len(then)} settings equal to 1e-10, worst {worst:.1e}; CPU s {seconds[0]:.2f} -> {seconds[1]:.2f}"
    )


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1], sys.argv[2:])
