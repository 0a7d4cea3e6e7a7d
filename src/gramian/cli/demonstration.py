"""The demonstration: what 200 labeled digits teach a distance about 1,597 others."""

import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

import gramian
from gramian import datasets, persist
from gramian.cli import formats, models, scores
from gramian.cli.screen import comparison, glyphs, progress, say
from gramian.cli.tables import Table

K, SHOWN = 3, 8


@dataclass(frozen=True)
class Stage:
    """The digits, 200 of them labeled (X, y), the others to be judged on (X_new, y_new)."""

    digits: Any
    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray

    @classmethod
    def set(cls, seed: int) -> "Stage":
        """Draw the labeled digits."""
        digits = datasets.load("digits")
        parts = train_test_split(digits.X, digits.y, train_size=200, stratify=digits.y, random_state=seed)
        return cls(digits, parts[0], parts[2], parts[1], parts[3])

    def nearest(self, metric: Any) -> np.ndarray:
        """The nearest labeled digits of each unseen one, (m, SHOWN)."""
        return np.argsort(metric.sqdist(self.X_new, self.X), axis=1, kind="stable")[:, :SHOWN]

    def gain(self, metric: Any, rival: Any) -> tuple[float, float]:
        """How many more of the nearest are of the right kind, as a share, and the standard error over digits."""
        ours, theirs = ((self.y[self.nearest(m)] == self.y_new[:, None]).mean(axis=1) for m in (metric, rival))
        difference = ours - theirs
        return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))

    def judge(self, metric: Any) -> scores.Score:
        """How well the unseen digits do among the labeled ones."""
        return scores.score(metric.transform(self.X), self.y, metric.transform(self.X_new), self.y_new, K)


def run(out: Path, seed: int) -> None:
    """Learn, compare, save metrics, a picture and the data, and say what to try next."""
    stage = Stage.set(seed)
    say.print(
        f"Handwritten digits, 8 × 8 pixels. {len(stage.X)} of them are labeled. NCA learns from these which\n"
        "differences matter, once on pixels and once in the space of a Gaussian kernel. The other\n"
        f"{len(stage.X_new):,} are the test: which labeled digits are nearest to each of them? Pixels as they are,\n"
        "and scaled ones (unit variance), are what learning has to beat.\n"
    )
    plain = gramian.Mahalanobis.euclidean(stage.X.shape[1])
    scaled = _scaled(stage.X)
    learners = {
        "NCA": gramian.NCA(random_state=seed),
        "NCA, kernel": gramian.Kernelized(
            gramian.NCA(random_state=seed), gramian.Gaussian("median"), random_state=seed
        ),
    }
    results = {"Euclidean": stage.judge(plain), "scaled": stage.judge(scaled)}
    for name, learner in learners.items():
        start = time.process_time()
        with progress(name):
            learner.fit(stage.X, stage.y)
        seconds = time.process_time() - start
        results[name] = replace(stage.judge(learner.metric_), seconds=seconds)
    say.print(comparison("Unseen digits among the labeled ones", {name: [r] for name, r in results.items()}, K))
    learned = learner.metric_
    for name, rival in (("pixels as they are", plain), ("scaled pixels", scaled)):
        gain, error = stage.gain(learned, rival)
        say.print(f"{gain:+.3f} ± {error:.3f} of the {SHOWN} nearest, learned against {name}, digit by digit")
    _show(stage, plain, learned)
    _save(out, stage, *learners.values())
    _draw(out / "neighbors.png", stage, plain, learned)
    _next(out)


def _scaled(X: np.ndarray) -> Any:
    """The Euclidean metric on columns of unit variance; those that never vary do not count."""
    spread = X.std(axis=0)
    return gramian.Mahalanobis(np.diag(np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)))


def _changed(stage: Stage, before: Any, after: Any) -> np.ndarray:
    """The three unseen digits whose neighbors gained most."""
    right = [(stage.y[stage.nearest(m)] == stage.y_new[:, None]).mean(axis=1) for m in (before, after)]
    return np.argsort(right[0] - right[1], kind="stable")[:3]


def _show(stage: Stage, before: Any, after: Any) -> None:
    """Neighbors in the terminal, where it shows colors."""
    if not say.is_terminal or say.width < 80 or say.color_system not in ("256", "truecolor"):
        return
    say.print("\nThree digits whose nearest labeled digits changed most: Euclidean on the left, learned on the right.")
    found = stage.nearest(before), stage.nearest(after)
    for row in _changed(stage, before, after):
        sides = [[(stage.X[i], stage.y[i]) for i in ids[row][:4]] for ids in found]
        say.print(glyphs((stage.X_new[row], stage.y_new[row]), sides, stage.digits.image_shape))


def _save(out: Path, stage: Stage, linear: Any, kernelized: Any) -> None:
    digits = stage.digits
    names = digits.feature_names.tolist()
    table = Table(stage.X, names, stage.y, "digit")
    persist.save(linear.metric_, out / "digits.gram", about=models.about(linear, table))
    persist.save(kernelized.metric_, out / "kernel.gram", about=models.about(kernelized, table))
    formats.write(out / "digits.csv", names, digits.X, "digit", digits.y)
    say.print(f"\nsaved {out / 'digits.gram'}, {out / 'kernel.gram'} (the metrics) and {out / 'digits.csv'} (the data)")


def _draw(picture: Path, stage: Stage, before: Any, after: Any) -> None:
    try:
        from gramian import plotting

        rows = _changed(stage, before, after)
        queries = stage.X_new[rows], stage.y_new[rows]
        figure = plotting.neighbors(
            after, stage.X, stage.y, *queries, stage.digits.image_shape, k=SHOWN, baseline=before
        )
    except ImportError as error:
        say.print(f"no picture: {error}")
        return
    formats.draw(figure, picture)
    say.print(f"saved {picture} (three digits whose neighbors changed most, before and after)")


def _next(out: Path) -> None:
    command, data = _command(), out / "digits.csv"
    say.print("\nTry next:")
    say.print(f"  {command} info {out / 'digits.gram'} --plot {out / 'matrix.png'}")
    say.print(f"  {command} evaluate {data} --label digit --learner nca --learner gmml")
    say.print(f"  {command} transform {out / 'kernel.gram'} {data} --label digit -o {out / 'learned.csv'}")


def _command() -> str:
    """How this program is called here: by name when that finds it, otherwise by the path that was used."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m gramian"
    found = shutil.which("gramian")
    return "gramian" if found and Path(found).resolve() == called.resolve() else str(called)
