"""Indexes of a space on the workers of a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gramian.dask import ShardedIndex
from gramian.search import ExactIndex
from gramian.service.snapshot import indexes_by

SECONDS = 10
"""Time that a scheduler has to answer."""


@contextmanager
def on_cluster(address: str, folder: Path) -> Iterator[None]:
    """Meanwhile the items of collections are held by the workers of the scheduler at an address.

    ``folder`` keeps their shards, on a disk that all workers see: a worker that is lost is replaced by what its files
    say. An item that is added writes one shard anew, so add many at a time.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("gramian serve: --dask needs dask and distributed; pip install 'gramian[dask]'.") from error
    with (
        Client(address, timeout=SECONDS) as client,
        indexes_by(lambda metric: ShardedIndex(client, metric, ExactIndex, folder=folder)),
    ):
        yield
