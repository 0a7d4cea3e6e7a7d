"""Beyond one machine: learners, transforms and an index over blocks of points, on Dask or out of core (extra ``dask``)."""

from gramian.dask.engine import ClusterError
from gramian.dask import pairs as pairs  # registers what learners ask of pairs of rows
from gramian.dask.fitting import fit, transform
from gramian.dask.sharded import ShardedIndex

__all__ = ["ClusterError", "ShardedIndex", "fit", "transform"]
