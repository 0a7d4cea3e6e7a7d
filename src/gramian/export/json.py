"""A learned metric as JSON: the numbers of the map, for any language."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import Center, Map, Place, delivered
from gramian.export.npz import Npz, arrays_of, formula
from gramian.export.onnx import center_of

FORMAT = "gramian map 1"
HEAD = """
import json
import numpy as np
a = {{key: np.array(value) for key, value in json.load(open("{name}")).items()}}
"""


class Json(Npz):
    """The numbers of the map E(x) as JSON, for a language that has nothing of ours.

    The keys are those of :func:`to_npz`, without ``matrix``, and ``format``. The package in the folder ``javascript``
    of the repository reads it in a browser or in node, without dependencies.
    """

    name, suffix = "json", ".json"
    returns = "path, or the numbers by name where no path is given"
    example = """
>>> numbers = gm.export.to_json(metric)
>>> numbers["format"], numbers["components"]
('gramian map 1', [[1.0, 0.0], [0.0, 2.0]])
"""

    def write(self, map: Map, path: Place = None, *, center: Center | None = None) -> Any:
        arrays = arrays_of(map, center_of(map, center), matrix=False)
        numbers = {"format": FORMAT} | {name: value.tolist() for name, value in arrays.items()}
        if path is None:
            return numbers

        def save(file: Path) -> None:
            file.write_text(json.dumps(numbers, separators=(",", ":"), allow_nan=False), encoding="utf-8")

        return delivered(path, map, save, "plain numbers.", HEAD + formula(arrays))

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        numbers = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(numbers, dict) or numbers.pop("format", None) != FORMAT:
            raise ValueError(f"check: {str(path)!r} is no {FORMAT}.")
        return self.applied({name: np.asarray(value) for name, value in numbers.items()}, X)
