"""Queries and their documents: a map under which a query finds what answers it, where held-out queries say so."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError

from gramian import _validate, linalg
from gramian._settings import Count, Seed, Share, Within, checked, whole
from gramian.coordinates import Angles
from gramian.learners.retrieval import OWNER, Retrieval, retrieval
from gramian.learners.retrieval_trials import FEWEST, WEIGHTS, Fold, RetrievalReport, Roads, search
from gramian.learners.two_sided import TwoSided
from gramian.learners.wrong_pairs import LOOKED_AT, WrongPairs
from gramian.metrics import Metric
from gramian.persist import Stored


@dataclass(eq=False, repr=False)
class QueryAdapter(Stored):
    """Turn queries a little (or both sides), so that they find their documents by cosine; else leave them as they are.

    What most people have who search with embeddings is this: users asked that, and this was the right document. The
    adapter is a linear map q ↦ normalized(A q) of queries, with ``side="both"`` mostly also d ↦ normalized(B d) of
    documents. With ``side="query"`` documents are used as they are, bit for bit, so that an index that exists stays.

    Candidates are ridge to the identity and a few steps of descent on the contrast of answers and other documents,

        f(W) = mean_i −log(Σ_{j ~ i} e^{s_ij} / Σ_j e^{s_ij}) + reg/2 · ‖W − I‖²,  s_ij = (W A₀ q_i)ᵀ d_j / τ,

    where every other document is a negative, up to 2,048 of them for a block of 1,024 queries. A₀ whitens, in the mean
    of three ways (by all points, much and little, and by the differences of pairs) and the identity. With
    ``side="both"`` one descent moves queries, another both sides, and their mean is the contrast. The last candidate is
    the contrast at a low rank.

    Each candidate learns without a part of the queries and is blended with the identity, A ↦ w I + (1 − w) A. Held-out
    queries then decide by the mean reciprocal rank (MRR) of their first answer among all documents: the contrast stands
    where it gains more than one standard error, another candidate where it gains more than two above what stands then,
    and otherwise the identity.
    The work is bounded: of more than 30,000 queries so many are drawn.

    Parameters
    ----------
    side : "query" or "both"
        What is mapped.
    anchor : "auto" or float in [0, 1]
        w, the weight of the identity: "auto" chooses it; with a number the best candidate is taken at this weight,
        whether it gains or not. 1 is the identity.
    random_state : int or generator, optional
        For the queries that are held out.

    Attributes
    ----------
    weight_ : float
        w; 1 where nothing was learned, or where what was learned did not gain.
    chosen_ : str
        The candidate, or "as they are".
    report_ : RetrievalReport
        A row for each candidate: held-out MRR ± error, gain ± error, recall@10, nDCG@10, weight of the identity, CPU
        seconds. ``report_.before`` and ``report_.after`` are the rows of the identity and of what was chosen.
    estimate_ : (float, float)
        Gain in MRR to expect, and its standard error: each fold is judged by the choice of the others.
    map_ : TwoSided
        The arrays A, and B where documents are mapped.
    metric_, document_metric_ : Metric
        The maps of queries and of documents for exports.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    gramian.AutoMetric : For points of one kind with labels, pairs or groups.
    gramian.ModelBridge : Where queries and documents come from two models.

    Examples
    --------
    >>> import gramian as gm, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> documents = rng.normal(size=(300, 16))
    >>> queries = documents @ (np.eye(16) + 0.4 * rng.normal(size=(16, 16))) + 0.5 * rng.normal(size=(300, 16))
    >>> adapter = gm.QueryAdapter().fit(queries[:200], documents[:200])
    >>> adapter.report_.after["MRR"] > adapter.report_.before["MRR"] + 0.1
    True
    >>> scores = adapter.transform_queries(queries[200:]) @ adapter.transform(documents).T
    >>> scores.shape  # documents are as they were; divide by their lengths where these differ
    (100, 300)
    """

    side: Literal["query", "both"] = "query"
    anchor: Literal["auto"] | Share = "auto"
    _: KW_ONLY
    random_state: Seed = None
    weight_: float = field(init=False)
    chosen_: str = field(init=False)
    report_: RetrievalReport = field(init=False)
    estimate_: tuple[float, float] = field(init=False)
    map_: TwoSided = field(init=False)
    n_features_in_: int = field(init=False)
    wrong_: WrongPairs | None = field(init=False)

    @whole
    def fit(
        self, queries: Any, documents: Any, matches: Any = None, *, weight: Any = None, hard: Any = None
    ) -> "QueryAdapter":
        """Learn from queries and the documents that answer them.

        Parameters
        ----------
        queries, documents : arrays (n, d) and (m, d)
            Embeddings; only their directions count. Rows that are equal count as one.
        matches : int array (k, 2), optional
            Rows of queries and of documents that answer them; when None row i is answered by row i.
        weight : array (k,), optional
            What a match counts: a weight or a grade. 0 is no answer.
        hard : int array (h, 2), optional
            Rows of queries and of documents that look right and are wrong: such a negative counts as four others.

        Returns
        -------
        self : QueryAdapter
        """
        rng = _validate.random(self.random_state, OWNER)
        task = retrieval(queries, documents, matches, weight, hard, rng)
        both, d = self.side == "both", task.queries.shape[1]
        self.n_features_in_, self.wrong_ = d, None
        self._stays(TwoSided(np.eye(d)))
        doubt = doubt_of(task)
        if doubt or self.anchor == 1:
            if doubt:
                _validate.warn(f"{OWNER}: {doubt}, so that queries stay as they are.")
            return self
        weights = WEIGHTS if isinstance(self.anchor, str) else (float(self.anchor),)
        judged, folds = search(task, both, rng, weights)
        stand = judged.winner() if isinstance(self.anchor, str) else judged.best()
        self.report_ = RetrievalReport(judged.rows(stand))
        self.estimate_ = judged.honest() if isinstance(self.anchor, str) else judged.gain(stand)
        if stand.trial is not None:
            self.chosen_, self.weight_ = judged.trials[stand.trial].name, weights[stand.place]
            self.map_ = Roads(task, both)(self.chosen_).blended(self.weight_)
        self.wrong_ = self._wrong(folds)
        return self

    def _stays(self, identity: TwoSided) -> None:
        """Nothing learned."""
        self.map_, self.weight_, self.chosen_ = identity, 1.0, "as they are"
        self.report_, self.estimate_ = RetrievalReport(), (0.0, np.nan)

    def _wrong(self, folds: list[Fold]) -> WrongPairs:
        """Cosines of held-out queries and the documents that do not answer them, by what their fold learned."""
        task = folds[0].task
        columns = linalg.spread(len(task.documents), LOOKED_AT)
        parts = []
        for fold in folds:
            rows = fold.rows[linalg.spread(len(fold.rows), LOOKED_AT // len(folds))]
            one = self.map_ if self.weight_ == 1 else fold.roads(self.chosen_).blended(self.weight_)
            S = one.queries(task.queries[rows]) @ one.documents(task.documents[columns]).T
            parts.append((S.astype(float), task.answers[rows][:, columns].toarray() == 0))
        return WrongPairs.of(parts)

    @property
    def metric_(self) -> Metric:
        """The map of queries as a metric by the angle: what exports, ``gm.save`` and indexes take."""
        return by_angle(self._fitted().A)

    @property
    def document_metric_(self) -> Metric:
        """The same for documents; that of the cosine as it is where they stay."""
        one = self._fitted()
        return by_angle(np.eye(len(one.A)) if one.B is None else one.B)

    def transform_queries(self, Q: Any) -> Any:
        """Queries, mapped, of length one; as they are where nothing was learned."""
        return self._mapped(Q, "Q", self._fitted().queries, self.weight_ == 1)

    def transform(self, D: Any) -> Any:
        """Documents: as they are with ``side="query"``, or where they stay best; else mapped, of length one."""
        return self._mapped(D, "D", self._fitted().documents, self.weight_ == 1 or self.map_.B is None)

    def _mapped(self, X: Any, name: str, function: Any, stays: bool) -> Any:
        points = _validate.points(X, OWNER, n_features=self.n_features_in_, allow_sparse=False, name=name, devices=True)
        if stays:
            return X if hasattr(X, "dtype") else points
        return function(linalg.unit_rows(points))

    @checked
    def threshold(
        self, false_hits: Annotated[float, Within(0, 1, above=True)] = 0.01, *, confidence: Share = 0.95
    ) -> float:
        """The cosine above which at most this share of wrong pairs lies, with this confidence.

        Wrong pairs are held-out queries with documents that do not answer them. Pairs of one query, or document, are
        not independent, and the limit counts them as what they are worth. Infinity where the queries were too few
        to promise so little: about three divided by the share are needed.

        Parameters
        ----------
        false_hits : float
            Share of wrong pairs, as those of a semantic cache that answers with the wrong text.
        confidence : float
            Of the promise.

        Examples
        --------
        >>> import gramian as gm, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> documents = rng.normal(size=(500, 16))
        >>> adapter = gm.QueryAdapter().fit(documents + rng.normal(size=(500, 16)), documents)
        >>> bool(adapter.threshold(0.1) < adapter.threshold(0.02) < 1)
        True
        """
        self._fitted()
        if self.wrong_ is None:
            raise ValueError(f"{OWNER}: threshold needs queries that were held out, and none were; fit more pairs.")
        return self.wrong_.threshold(false_hits, confidence)

    @checked
    def explain(self, k: Count = 10) -> list[dict[str, Any]]:
        """The directions of queries that are moved most, largest first.

        With A − I = U diag(s) Vᵀ, row i holds the ``direction`` v_i that is moved, the one ``toward`` which it is, u_i,
        the ``share`` s_i² / Σ s² of all change, and the ``stretch`` v_iᵀ A v_i: below 1 the direction counts less.
        """
        A = self._fitted().A
        U, s, Vt = np.linalg.svd(A - np.eye(len(A)))
        whole = float(np.sum(s**2)) or 1.0
        return [
            {
                "share": float(s[i] ** 2 / whole),
                "stretch": float(Vt[i] @ A @ Vt[i]),
                "direction": Vt[i].copy(),
                "toward": U[:, i].copy(),
            }
            for i in range(min(k, len(s)))
        ]

    def _fitted(self) -> TwoSided:
        if not hasattr(self, "map_"):
            raise NotFittedError("This QueryAdapter instance is not fitted yet; call fit(queries, documents) first.")
        return self.map_

    def __repr__(self) -> str:
        settings = f"side={self.side!r}, anchor={self.anchor!r}"
        if not hasattr(self, "map_"):
            return f"QueryAdapter({settings})"
        return f"QueryAdapter({settings}): {self.chosen_}, weight of the identity {self.weight_:g}"

    def _state(self) -> dict[str, Any]:
        if not hasattr(self, "map_"):
            return {"side": self.side, "anchor": self.anchor}
        state = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("_", "random_state")}
        return state | {"report_": list(self.report_), "estimate_": list(self.estimate_)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "QueryAdapter":
        adapter = cls(state.pop("side"), state.pop("anchor"))
        for name, value in state.items():
            setattr(adapter, name, value)
        if state:
            adapter.report_, adapter.estimate_ = RetrievalReport(state["report_"]), tuple(state["estimate_"])
        return adapter


def by_angle(A: np.ndarray) -> Metric:
    """x ↦ Ax / |Ax| as a metric."""
    return Metric.of(Angles(np.zeros(len(A)), A), np.eye(len(A)))


def doubt_of(task: Retrieval) -> str:
    """Why nothing can be learned; nothing where something can."""
    n, m = task.answers.shape
    if n == 1:
        return "all queries are alike, or there is one"
    if m == 1:
        return "all documents are alike, or there is one"
    if n < FEWEST:
        return f"{n} different queries are too few to hold some of them out (there must be {FEWEST})"
    return ""
