"""Learned metrics as files: what is kept beside the numbers, and what it says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gramian
from gramian import persist
from gramian.cli.tables import Table, plain_data


def load(path: Path) -> Any:
    """The metric in a file."""
    value = persist.load(path)
    if not isinstance(value, gramian.metrics.Metric):
        raise ValueError(f"{path}: holds a {type(value).__name__}, not a metric.")
    return value


def rescaled(metric: Any, scale: np.ndarray) -> Any:
    """The metric on the columns as they were before they were divided by their scale."""
    if (scale == 1).all():
        return metric
    if not isinstance(metric, gramian.Mahalanobis):
        raise ValueError("--standardize needs a full linear metric; scale the table itself before learning.")
    return gramian.Mahalanobis(metric.components / scale)


def about(model: Any, table: Table, missing: str = "refuse", absent: Sequence[str] = ()) -> dict[str, Any]:
    """What a file says about the metric of a fitted learner, and of the table it was learned from."""
    return {
        "learner": name(model),
        "settings": {k: v for k, v in model.get_params().items() if isinstance(v, str | int | float | bool)},
        "features": table.names,
        "columns": plain_data(table.columns),
        "spread": table.X.std(axis=0).tolist(),
        "label": table.label,
        "chosen": getattr(model, "chosen_", None),
        "missing": str(missing),
        "absent": list(absent),
        "rows": len(table.X),
        "objective": (model.solution_.learned or model.solution_).objective,
        "converged": model.converged_,
        "made with": f"gramian {gramian.__version__}",
    }


def facts(stored: dict[str, Any], metric: Any, path: Path) -> dict[str, Any]:
    """What a person wants to know about a saved metric, by name."""
    about = stored["about"]
    lines = {"kind": stored["kind"], "input": f"{metric.n_features} columns"}
    if isinstance(metric, gramian.Mahalanobis):
        lines["rank"] = int(np.linalg.matrix_rank(metric.components))
    keys = ("learner", "chosen", "rows", "label", "objective", "converged", "made with")
    lines |= {key: about[key] for key in keys if about.get(key) is not None}
    if isinstance(lines.get("objective"), float):
        lines["objective"] = f"{lines['objective']:.6g}"
    if about.get("settings"):
        lines["settings"] = ", ".join(f"{k}={v}" for k, v in about["settings"].items())
    return lines | {"file": f"{path}, {path.stat().st_size / 1024:.0f} kB, format version {stored['version']}"}


def weights(metric: Any, about: dict[str, Any]) -> tuple[np.ndarray, str]:
    """The share (d,) of each column, and of what: M_jj times the variance of the column where a file knows it."""
    diagonal = np.diag(metric.matrix)  # M_jj, (d,)
    spread = np.array(about.get("spread", []))  # (d,) of the table of the fit
    if len(spread) != len(diagonal):
        return shares(diagonal), "shares of the diagonal of the matrix, in the units of the columns"
    return shares(diagonal * spread**2), "shares of the mean squared distance, by columns alone"


def shares(values: np.ndarray) -> np.ndarray:
    """Parts of the sum, whatever its size."""
    scaled = values / max(values.max(), np.finfo(float).tiny)
    return scaled / max(scaled.sum(), 1.0)


def name(model: Any) -> str:
    """A learner in words."""
    inner = getattr(model, "learner", None)
    if inner is None:
        return type(model).__name__
    return f"{type(inner).__name__} in {model.kernel or 'a Gaussian kernel'}"


def ended(model: Any) -> str:
    """How a fit ended."""
    if not model.n_iter_:
        return "in closed form,"
    return f"{'converged' if model.converged_ else 'stopped'} after {model.n_iter_} iterations in"
