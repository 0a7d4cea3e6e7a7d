"""What each point counts, by its class: classes that are rare in the data need not be rare in the objective."""

from typing import Annotated, Any, Literal

import numpy as np

from gramian import _validate
from gramian._settings import Rule
from gramian.constraints import Labels

ClassWeight = Annotated[Literal["balanced"] | dict[Any, float] | None, Rule("None, 'balanced' or a dict")]
"""What the points of a class count."""


def class_weights(setting: Any, labels: Labels, owner: str) -> np.ndarray | None:
    """The weight of each point (n,), with mean 1; None where all count the same.

    ``setting`` is None, "balanced" (each class counts the same in all) or a dict from label to weight, 1 for others.
    """
    if setting is None:
        return None
    codes, classes = labels.codes, labels.classes
    if isinstance(setting, dict):
        names = {
            str(label): _validate.number(w, owner, "class_weight", low=0, open_low=True) for label, w in setting.items()
        }
        unknown = sorted(set(names) - {str(label) for label in classes})
        by_class = np.array([names.get(str(label), 1.0) for label in classes])
        if unknown and len(unknown) == len(names):
            raise ValueError(f"{owner}: class_weight must name labels, got {', '.join(unknown)}; y has others.")
    else:
        by_class = 1 / np.maximum(np.bincount(codes, minlength=len(classes)), 1)
    weight = by_class[codes]
    return weight / weight.mean()
