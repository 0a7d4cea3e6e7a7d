"""Pictures of metrics, searches and clusterings.

Each function draws with matplotlib (``pip install 'gramian[plot]'``) and returns what it drew on: functions with an
``ax`` argument return the axes, the others a figure. Colors are told apart without seeing red or green.
"""

from gramian.plotting.before_after import before_after
from gramian.plotting.charts import curves, gains, margins, scores, shares, stream
from gramian.plotting.grids import cluster_means, images, neighbors
from gramian.plotting.maps import clusterings, distance_field, embedding, matrix

__all__ = [
    "before_after",
    "cluster_means",
    "clusterings",
    "curves",
    "distance_field",
    "embedding",
    "gains",
    "images",
    "margins",
    "matrix",
    "neighbors",
    "scores",
    "shares",
    "stream",
]
