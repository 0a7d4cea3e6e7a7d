"""Files that commands write: tables of coordinates, pictures."""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from gramian.cli.tables import TableError
from gramian.persist import replacing

PICTURES = (".png", ".pdf", ".svg")


def check_output(path: Path | None, suffixes: Sequence[str] = (), make: bool = False) -> None:
    """Whether a file can be written there, asked before the work is done; with ``make`` the folder is made."""
    if path is None:
        return
    if path.is_dir():
        raise TableError(f"{path}: is a folder, name a file in it.")
    if make and not path.parent.exists():
        path.parent.mkdir(parents=True)
    if not path.parent.is_dir():
        raise TableError(f"{path}: no folder {path.parent}.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise TableError(f"{path}: must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}.")


def write(path: Path | None, names: list[str], X: np.ndarray, label: str, y: np.ndarray | None) -> None:
    """Write points and labels by the suffix of the path, or as CSV to standard output when it is None."""
    if path is None:
        _write_csv(sys.stdout, names, X, label, y)
        return
    suffix = path.suffix.lower()
    with replacing(path, "transform") as beside:
        if suffix == ".npy":
            np.save(beside, X)
        elif suffix == ".npz":
            _write_npz(beside, X, label, y)
        elif suffix in (".parquet", ".pq"):
            _write_parquet(beside, dict(zip(names, X.T)) | ({} if y is None else {label: y}))
        else:
            with beside.open("w", newline="", encoding="utf-8") as stream:
                _write_csv(stream, names, X, label, y)


def draw(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all."""
    with replacing(path, "picture") as beside:
        figure.savefig(beside, dpi=120)


def _write_csv(stream: TextIO, names: list[str], X: np.ndarray, label: str, y: np.ndarray | None) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names if y is None else [*names, label])
    rows = X.tolist()
    writer.writerows(rows if y is None else ([*row, value] for row, value in zip(rows, y.tolist())))


def _write_npz(path: Path, X: np.ndarray, label: str, y: np.ndarray | None) -> None:
    if label in ("X", "file", "allow_pickle"):
        raise TableError(f"an NPZ file cannot hold labels under the name {label!r}; write CSV.")
    labels: dict[str, Any] = {} if y is None else {label: y}
    np.savez(path, X=X, **labels)


def _write_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    try:
        import pandas

        pandas.DataFrame(columns).to_parquet(path)
    except ImportError as error:
        raise TableError("Parquet needs pandas and pyarrow: pip install 'gramian[data]'.") from error
