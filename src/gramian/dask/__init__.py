"""Beyond one machine: fits, transforms and an index over blocks of points, on Dask (extra ``dask``)."""

from gramian.dask.cluster import ClusterError
from gramian.dask.fitting import fit, transform
from gramian.dask.sharded_index import ShardedIndex

__all__ = ["ClusterError", "ShardedIndex", "fit", "transform"]
