"""A learned metric as the last module of a sentence-transformers model."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export.maps import isometry
from gramian.export.places import folder, needs, readme, required
from gramian.export.torch import linear_state
from gramian.export.words import WORDS
from gramian.persist import replacing

QUERY = """
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense
model = SentenceTransformer("all-MiniLM-L6-v2")  # the encoder that the metric was learned on, {d} wide
model.append(Dense.load("{name}"))
z = model.encode(["a sentence"])  # Euclidean distances are the learned ones
"""


@checked(**WORDS)
def to_sentence_transformers(metric: Any, path: Any = None, *, center: Any = None, out: Any = None) -> Path:
    """A folder with a ``Dense`` module (weight L, identity activation) to append to a sentence-transformers model.

    The same encoder then has the learned distance as its Euclidean one. The folder is ``config.json`` and
    ``model.safetensors``, and loads without this package and without running code.

    Parameters
    ----------
    metric : linear Metric, fitted learner, or the file of a metric
        Learned on the embeddings of the encoder.
    path : path
        The folder, made when absent; ``out`` is the same. A README.md is written into it and beside it.
    center : array (d,), optional
        c of E(x) = L(x − c).

    Returns
    -------
    path

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.eye(384))
    >>> gm.export.to_sentence_transformers(metric, "learned")  # doctest: +SKIP
    PosixPath('learned')
    """
    owner = "to_sentence_transformers"
    target = required(path, out, owner, "the folder of the module")
    numpy_format = needs("safetensors.numpy", owner, "sentence-transformers")
    inner = isometry(metric, owner)
    state = {f"linear.{name}": array for name, array in linear_state(inner, center).items()}
    folder(target, owner)
    config = {
        "in_features": inner.n_features,
        "out_features": inner.width,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    with replacing(target / "model.safetensors", owner) as temporary:
        numpy_format.save_file(state, temporary)
    with replacing(target / "config.json", owner) as temporary:
        temporary.write_text(json.dumps(config, indent=4), encoding="utf-8")
    readme(target, inner, "a `Dense` module.", QUERY.format(name=target.name, d=inner.n_features))
    return target


def apply_sentence_transformers(path: Path, X: np.ndarray) -> np.ndarray:
    """Run a written module on points, as sentence-transformers loads it."""
    needs("sentence_transformers", "check", "sentence-transformers")
    torch = needs("torch", "check", "torch")
    module = dense_class().load(str(path))
    with torch.no_grad():
        points = torch.from_numpy(X.astype(np.float32))
        return module({"sentence_embedding": points})["sentence_embedding"].numpy()


def dense_class() -> Any:
    """The class ``Dense``, wherever the installed version has it."""
    try:
        from sentence_transformers.sentence_transformer.modules import Dense
    except ImportError:
        from sentence_transformers.models import Dense
    return Dense
