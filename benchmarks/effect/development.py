"""The half of the tasks on which settings were chosen."""

from typing import Any

from benchmarks.effect.protocol import table
from benchmarks.effect.tasks import DEVELOPMENT

TITLE = "Development half"
EXTRA = """. *News, MiniLM* joined them after the others: embeddings of the kind that people have today. For the choice
of AutoMetric among candidates, also on wine, glass, heart_statlog, pima_diabetes, sonar, musk1,
breast_cancer_wisconsin, pie10p_faces and basehock (tf-idf); for that of Kernelized on two more pairs of newsgroups."""
NOTES = "Settings of our learners may have been chosen on these tasks: " + "; ".join(DEVELOPMENT) + EXTRA


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the development half."""
    return table(DEVELOPMENT, "effect_development", quick)
