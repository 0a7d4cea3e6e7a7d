"""Beyond one machine: fits, transforms and an index over blocks of points, on Dask (extra ``dask``) or out of core."""

from gramian.dask import constraints as constraints  # both register what learners ask of more than one row
from gramian.dask import pairs as pairs
from gramian.dask.engine import ClusterError
from gramian.dask.fitting import fit, transform
from gramian.dask.sharded import ShardedIndex

__all__ = ["ClusterError", "ShardedIndex", "fit", "transform"]
