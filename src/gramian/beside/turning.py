"""Maps of queries, as the versions of a space hold them: learned from what was found useful, and applied to one query.

A version is the metric by the angle of A q, as ``QueryAdapter.metric_`` has it. Documents stay, so the query alone
is turned, and gets its length back, q' = |q| · A u / |A u| with u = q / |q|: scores stay of the size that
they have. The cosine and the inner product with q' are what an index that exists can search; the Euclidean distance
ranks as they do where all documents have one length.
"""

import numpy as np

from gramian import linalg
from gramian.learners import QueryAdapter
from gramian.learners.query_adapter import by_angle
from gramian.learners.retrieval import MOST_DOCUMENTS
from gramian.learners.retrieval_trials import FEWEST
from gramian.metrics import Metric
from gramian.service.evidence import Evidence
from gramian.service.learning import LEARNERS
from gramian.service.snapshot import Collection

LEARNER = "queries"
"""Under what name the versions of a space have it."""
DOCUMENT = '"id"'
"""In the meta of an item that is a document."""


def queries(evidence: Evidence) -> Metric:
    """What :class:`~gramian.QueryAdapter` learns from the clicks; queries as they are where held-out ones gain nothing.

    Documents that were shown beside the judged ones are those that an answer has to be found among.
    """
    asked, judged, liked, weights = evidence.pairs()
    sound = asked.any(axis=1) & judged.any(axis=1)
    beside = documents(evidence.view)
    asked, judged, liked, weights = asked[sound], judged[sound], liked[sound], weights[sound]
    near = np.concatenate([judged, beside]).astype(np.float32)  # as they were written, and as databases have them
    Q, rows = np.unique(asked.astype(np.float32), axis=0, return_inverse=True)  # (n, d)
    D, columns = np.unique(near, axis=0, return_inverse=True)  # (m, d)
    pairs = np.column_stack([rows.ravel(), columns.ravel()[: len(judged)]])
    matches, wrong = pairs[liked], pairs[~liked]
    if len(np.unique(matches[:, 0])) < FEWEST or len(D) < 2:
        return plain(asked.shape[1])
    wrong = wrong[~np.isin(wrong @ [len(D), 1], matches @ [len(D), 1])]  # who changed their mind said yes
    return QueryAdapter(random_state=0).fit(Q, D, matches, weight=weights[liked], hard=wrong).metric_


def documents(view: Collection | None) -> np.ndarray:
    """The documents of a space beside its queries, with a direction, at most so many."""
    if view is None:
        return np.zeros((0, 0))
    ids = np.array([i for i, row in zip(view.ids, view.rows) if DOCUMENT in (view.metas[row] or "")], np.int64)
    X = view.points(ids[linalg.spread(len(ids), MOST_DOCUMENTS)])
    return X[X.any(axis=1)]


LEARNERS[LEARNER] = queries


def plain(d: int) -> Metric:
    """The map of queries that stay as they are."""
    return by_angle(np.eye(d))


class Turn:
    """q ↦ q' of one version, in single precision as databases have it.

    Parameters
    ----------
    metric : Metric
        By the angle.
    """

    def __init__(self, metric: Metric) -> None:
        affine = metric.view(np.ones((1, metric.n_features or 1))).affine
        if affine is None or not affine.by_angle or affine.C is not None:
            raise ValueError(f"gramian.beside: {metric} is no map of queries.")
        d = metric.n_features or 1
        self.A = np.eye(d, dtype=np.float32) if affine.L is None else affine.L.astype(np.float32)
        self.a = None if affine.b is None else affine.b.astype(np.float32)

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """The query that is asked in the place of q (d,)."""
        length = np.sqrt(q @ q)
        turned = self.A @ (q / length)
        turned = turned if self.a is None else turned + self.a
        return turned * (length / np.sqrt(turned @ turned))
