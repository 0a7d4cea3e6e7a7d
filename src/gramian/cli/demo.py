"""``gramian demo``: what 200 labeled digits teach a distance about 1,597 others."""

import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

import gramian
from gramian import persist
from gramian.cli import formats, models, scores
from gramian.cli import options as opt
from gramian.cli.screen import comparison, glyphs, progress, say
from gramian.cli.tables import Table

K, SHOWN = 3, 8
WORDS = """Handwritten digits, 8 × 8 pixels. {labeled} of them are labeled. NCA learns from these which
differences matter, once on pixels and once in the space of a Gaussian kernel. The other
{others:,} are the test: which labeled digits are nearest to each of them? Pixels as they are,
and scaled ones (unit variance), are what learning has to beat.
"""
NEXT = """
Try next:
  {command} info {out}/digits.gram --plot {out}/matrix.png
  {command} evaluate {out}/digits.csv --label digit --learner nca --learner gmml
  {command} transform {out}/kernel.gram {out}/digits.csv --label digit -o {out}/learned.csv"""


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
        from sklearn.model_selection import train_test_split

        digits = gramian.datasets.load("digits")
        X, X_new, y, y_new = train_test_split(digits.X, digits.y, train_size=200, stratify=digits.y, random_state=seed)
        return cls(digits, X, y, X_new, y_new)

    def nearest(self, metric: Any) -> np.ndarray:
        """The nearest labeled digits of each unseen one, (m, SHOWN)."""
        return np.argsort(metric.sqdist(self.X_new, self.X), axis=1, kind="stable")[:, :SHOWN]

    def shares(self, metric: Any) -> np.ndarray:
        """How many of these are of the right kind, (m,)."""
        return (self.y[self.nearest(metric)] == self.y_new[:, None]).mean(axis=1)

    def judge(self, metric: Any) -> scores.Score:
        """How well the unseen digits do among the labeled ones."""
        return scores.score(metric.transform(self.X), self.y, metric.transform(self.X_new), self.y_new, K)


def install(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(rich_help_panel=opt.START)(demo)


def demo(out: opt.Folder = Path("gramian-demo"), seed: opt.Seed = 0) -> None:
    """Learn a distance on handwritten digits and show what it changed.

    It prints before and after, saves the metrics, the data and a picture, and says what to try next.
    """
    formats.check_output(out / "digits.csv", make=True)
    stage = Stage.set(seed)
    say.print(WORDS.format(labeled=len(stage.X), others=len(stage.X_new)))
    rivals = {
        "Euclidean": gramian.Mahalanobis.euclidean(stage.X.shape[1]),
        "scaled": gramian.Mahalanobis(scores.scales(stage.X)),
    }
    results = {name: stage.judge(metric) for name, metric in rivals.items()}
    nca = gramian.NCA(random_state=seed)
    learners = {"NCA": nca, "NCA, kernel": gramian.Kernelized(nca, gramian.Gaussian("median"), random_state=seed)}
    for name, learner in learners.items():
        start = time.process_time()
        with progress(name):
            learner.fit(stage.X, stage.y)
        results[name] = replace(stage.judge(learner.metric_), seconds=time.process_time() - start)
    say.print(comparison("Unseen digits among the labeled ones", {name: [r] for name, r in results.items()}, K))
    learned, plain = learners["NCA, kernel"].metric_, rivals["Euclidean"]
    tell_gains(stage, learned, {"pixels as they are": plain, "scaled pixels": rivals["scaled"]})
    changed = np.argsort(stage.shares(plain) - stage.shares(learned), kind="stable")[:3]  # those that gained most
    show(stage, changed, plain, learned)
    save(out, stage, *learners.values())
    draw(out / "neighbors.png", stage, changed, plain, learned)
    say.print(NEXT.format(command=command(), out=out))


def tell_gains(stage: Stage, learned: Any, rivals: dict[str, Any]) -> None:
    """How many more neighbors are right than under each rival, with errors over digits."""
    for name, rival in rivals.items():
        gains = stage.shares(learned) - stage.shares(rival)  # (m,)
        error = gains.std() / np.sqrt(len(gains))
        say.print(f"{gains.mean():+.3f} ± {error:.3f} of the {SHOWN} nearest, learned against {name}, digit by digit")


def show(stage: Stage, changed: np.ndarray, before: Any, after: Any) -> None:
    """Digits and their neighbors in the terminal, where it shows colors."""
    if not say.is_terminal or say.width < 80 or say.color_system not in ("256", "truecolor"):
        return
    say.print("\nThree digits whose nearest labeled digits changed most: Euclidean on the left, learned on the right.")
    neighbors = stage.nearest(before), stage.nearest(after)
    for row in changed:
        sides = [[(stage.X[i], stage.y[i]) for i in ids[row][:4]] for ids in neighbors]
        say.print(glyphs((stage.X_new[row], stage.y_new[row]), sides, stage.digits.image_shape))


def save(out: Path, stage: Stage, linear: Any, kernelized: Any) -> None:
    """The metrics and the data."""
    digits, names = stage.digits, stage.digits.feature_names.tolist()
    table = Table(stage.X, names, stage.y, "digit")
    persist.save(linear.metric_, out / "digits.gram", about=models.about(linear, table))
    persist.save(kernelized.metric_, out / "kernel.gram", about=models.about(kernelized, table))
    formats.write(out / "digits.csv", names, digits.X, "digit", digits.y)
    say.print(f"\nsaved {out / 'digits.gram'}, {out / 'kernel.gram'} (the metrics) and {out / 'digits.csv'} (the data)")


def draw(picture: Path, stage: Stage, changed: np.ndarray, before: Any, after: Any) -> None:
    """Digits and their neighbors as a picture, where matplotlib is installed."""
    try:
        from gramian import plotting

        queries, shape = (stage.X_new[changed], stage.y_new[changed]), stage.digits.image_shape
        figure = plotting.neighbors(after, stage.X, stage.y, *queries, shape, k=SHOWN, baseline=before)
    except ImportError as error:
        say.print(f"no picture: {error}")
        return
    formats.draw(figure, picture)
    say.print(f"saved {picture} (three digits whose neighbors changed most, before and after)")


def command() -> str:
    """How this program is called here: by name when that finds it, otherwise by the path that was used."""
    path = Path(sys.argv[0])
    if path.name == "__main__.py":
        return "python -m gramian"
    program = shutil.which("gramian")
    return "gramian" if program and Path(program).resolve() == path.resolve() else str(path)
