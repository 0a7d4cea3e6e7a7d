"""The half of the tasks on which settings were chosen."""

from typing import Any

from benchmarks.effect.protocol import PROTOCOL, table
from benchmarks.effect.tasks import DEVELOPMENT

TITLE = "Development half"
EXTRA = """. For the choice of AutoMetric among candidates, also on MiniLM embeddings of the same texts, wine, glass,
heart_statlog, pima_diabetes, sonar, musk1, breast_cancer_wisconsin, pie10p_faces and basehock (tf-idf); for that of
Kernelized on two more pairs of newsgroups. **This half was not run again since**: its rows of AutoMetric are of the
code before it tried Contrastive and means of learners, those of Kernelized of the one that asked for one standard
error, and Contrastive has none."""
NOTES = PROTOCOL + "\nSettings of our learners may have been chosen on these tasks: " + "; ".join(DEVELOPMENT) + EXTRA


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the development half."""
    return table(DEVELOPMENT, "effect_development", quick)
