"""RankMinimizer: the door to the methods, also for matrices that are neither symmetric nor square."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from gramian import _validate
from gramian._settings import Count, Positive, check
from gramian.rankmin.base import Callback, RankProblem, RankResult, combine, result
from gramian.rankmin.factored import compress, grow, restore
from gramian.rankmin.game import MultiplicativeWeights, Played, average, play, rule_of, theory
from gramian.rankmin.heuristics import log_det, radius, trace_norm
from gramian.rankmin.measurements import Measurements
from gramian.rankmin.oracles import Atom, Oracle, SchattenBall

OWNER = "RankMinimizer"


@dataclass(frozen=True)
class RankMinimizer:
    """Find a matrix of low rank that meets linear constraints.

    min rank(X) s.t. ⟨A_i, X⟩ ≥ b_i, X ∈ 𝒞, to within ε (Jain 2009, chapter 7).

    The problem is NP-hard to approximate (Theorem 9), so the constraints are relaxed to b_i − ε. "mw" (Algorithm 2)
    and "ocp" (Algorithm 3) reduce it to a sequence of one-constraint problems, each solved exactly by an oracle, and
    average the answers; "factored" descends on X = FFᵀ with a growing rank; "trace" and "logdet" are the convex
    heuristics they are compared with.

    Differences from the thesis: the run ends at the first average that satisfies the constraints, not after the T of
    the theorem; the averaging weights are also chosen by a linear program, which keeps few answers; and the average is
    compressed (``compress=True``) by cutting its spectrum and restoring the constraints in factored form.

    Parameters
    ----------
    method : {"mw", "ocp", "factored", "trace", "logdet"}
        How it is solved; the paragraph above has all five.
    epsilon : float, > 0
        Absolute violation ε allowed in each constraint.
    max_iter : int
        Largest number of oracle calls ("mw", "ocp").
    oracle : Oracle, optional
        The set 𝒞, which must contain 0; PSD matrices in the unit Frobenius ball, ``SchattenBall()``, when None.
    step : float or "theory", optional
        "mw": δ in (0, 1/2], or "theory" for the δ, ρ and T of Theorem 10 (T can be in the millions; ``max_iter`` still
        counts), or None for a step that needs no horizon. "ocp": factor on the step of the theorem, 1 when None or
        "theory".
    compress : bool
        Lower the rank of the average in factored form (sets of PSD matrices only).
    variant : {"corrected", "as_printed"}
        "as_printed" is Algorithms 2 and 3 to the letter: δ = min(ε/4ρ, ½) with ρ = max_i M_i of each answer, or
        η = Δ/(2D√t), and the plain mean of ``max_iter`` answers, whatever it violates. With a ``step`` it is the mean
        under that step, of the T of Theorem 10 with "theory". Nothing is corrected or compressed. A query that is
        refused is asked again at b − ε.
    conic : bool
        "trace", "logdet": solve by cvxpy (the ``sdp`` extra) instead of our own first-order method; small n only.
    callback : callable, optional
        Called as ``callback(t, violation)`` after each oracle call ("factored": each rank tried on the way up;
        "trace", "logdet": each convex problem).

    See Also
    --------
    gramian.LowRankKernel : For kernels and pairs.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((20, 30, 30))
    >>> A = A + A.transpose(0, 2, 1)
    >>> v = rng.standard_normal(30) / 6
    >>> result = gm.RankMinimizer(method="mw", epsilon=0.05).solve(A, [v @ a @ v for a in A])
    >>> result.feasible, result.rank
    (True, 1)
    """

    method: Literal["mw", "ocp", "factored", "trace", "logdet"] = "mw"
    epsilon: Positive = 0.05
    _: KW_ONLY
    max_iter: Count = 500
    oracle: Oracle | None = None
    step: Literal["theory"] | Positive | None = None
    compress: bool = True
    variant: Literal["corrected", "as_printed"] = "corrected"
    conic: bool = False
    callback: Callback = None

    def solve(self, A: Any, b: Any) -> RankResult:
        """Solve for symmetric matrices A_i and bounds b_i.

        Parameters
        ----------
        A : sequence of m symmetric (n, n) matrices, or an array (m, n, n)
            Dense or sparse arrays, :class:`~gramian.rankmin.LowRank` values or scipy linear operators, mixed at will.
        b : array (m,)

        Returns
        -------
        RankResult
        """
        check(self)
        problem = self._problem(A, b)
        averaged = self.method in ("mw", "ocp") and self.variant == "as_printed"
        if problem.b.max() <= problem.epsilon and not averaged:
            return result(problem, Atom.zero(problem.A.n))
        how = {"factored": self._factored, "trace": self._convex, "logdet": self._convex}
        answer = how.get(self.method, self._averaged)(problem)
        if not answer.feasible and answer.certificate is None:
            _validate.warn(
                f"{OWNER}: stopped after {answer.n_iter} iterations with violation {answer.violation:.3g} > epsilon "
                f"{problem.epsilon:.3g} and no proof of infeasibility; {self._remedy}.",
                ConvergenceWarning,
            )
        return answer

    @property
    def _remedy(self) -> str:
        return "raise max_iter or epsilon" if self.method in ("mw", "ocp") else "raise epsilon, or use method 'mw'"

    def _problem(self, A: Any, b: Any) -> RankProblem:
        oracle = SchattenBall() if self.oracle is None else self.oracle
        A = A if isinstance(A, Measurements) else Measurements(A)
        return RankProblem(A, _validate.vector(b, OWNER, "b", len(A)), float(self.epsilon), oracle)

    def _factored(self, problem: RankProblem) -> RankResult:
        if not _has_gauge(problem):
            raise ValueError(f"{OWNER}: method 'factored' needs a set of PSD matrices; {problem.oracle} has no gauge.")
        F, certificate, bound, rounds = grow(problem, self.callback)
        return result(problem, _atom(F), bound, certificate, rounds)

    def _convex(self, problem: RankProblem) -> RankResult:
        """A relaxation of a problem that the game does not refuse; it is as infeasible as its relaxation."""
        radius(problem)
        game = play(problem, MultiplicativeWeights(), self.max_iter)
        if game.certificate is not None:
            return _report(problem, combine(game.atoms, game.mix, problem.A.n), game)
        atom, spent = (trace_norm if self.method == "trace" else log_det)(problem, self.conic, self.callback)
        return result(problem, atom, game.rank_bound, n_iter=spent)

    def _averaged(self, problem: RankProblem) -> RankResult:
        printed = self.variant == "as_printed"
        rule, rounds = self._rule(problem)
        game = (average if printed else play)(problem, rule, rounds, self.callback)
        atom = combine(game.atoms, game.mix, problem.A.n)
        if self.compress and not printed and game.certificate is None and _has_gauge(problem):
            atom = _compressed(problem, atom)
        return _report(problem, atom, game)

    def _rule(self, problem: RankProblem) -> tuple[Any, int]:
        if self.step == "theory" and self.method == "mw":
            rule, rounds = theory(problem)
            return rule, min(rounds, self.max_iter)
        letter = self.step is None and self.variant == "as_printed"
        step: Any = "printed" if letter else None if isinstance(self.step, str) else self.step
        return rule_of(problem, self.method, step, OWNER), self.max_iter


def _atom(F: np.ndarray) -> Atom:
    return Atom(F, np.ones(F.shape[1]))


def _has_gauge(problem: RankProblem) -> bool:
    return problem.oracle.gauge(np.zeros((problem.A.n, 1))) is not None


def _compressed(problem: RankProblem, atom: Atom) -> Atom:
    """The average in factored form: restored when it is not feasible yet, then lowered in rank."""
    F = atom.vectors * np.sqrt(atom.values)
    violation = problem.violation(problem.A(F))
    if violation > problem.epsilon:
        F, violation, _ = restore(problem, F)
    return _atom(compress(problem, F) if violation <= problem.epsilon else F)


def _report(problem: RankProblem, atom: Atom, game: Played) -> RankResult:
    return result(problem, atom, game.rank_bound, game.certificate, len(game.atoms), game.record)


@dataclass(frozen=True, eq=False)
class RectangularResult:
    """X = left rightᵀ of shape (p, q), and what is known about it.

    Attributes
    ----------
    left, right : arrays (p, r), (q, r)
    rank : int
    values : array (m,)
        ⟨A_i, X⟩.
    violation : float
    feasible : bool
    dilated : RankResult
        The result on symmetric matrices, with its proofs.
    """

    left: np.ndarray
    right: np.ndarray
    rank: int
    values: np.ndarray
    violation: float
    feasible: bool
    dilated: RankResult

    @property
    def matrix(self) -> np.ndarray:
        """X as a (p, q) array."""
        X: np.ndarray = self.left @ self.right.T
        return X


def solve_rectangular(minimizer: RankMinimizer, A: Any, b: Any) -> RectangularResult:
    """min rank(X) s.t. ⟨A_i, X⟩ ≥ b_i, ‖X‖ ≤ radius, X of any shape (p, q) (Jain 2009, RMP in general).

    X̃ = [[P, X], [Xᵀ, Q]] ⪰ 0 of size p + q has ⟨Ã_i, X̃⟩ = ⟨A_i, X⟩ for Ã_i = ½ [[0, A_i], [A_iᵀ, 0]]. Its rank is at
    least that of X, and the same for P = (XXᵀ)^{1/2}, Q = (XᵀX)^{1/2}; and singular values obey 2 σ_j(X) ≤ λ_j(X̃), with
    equality there. So the least rank over ‖X̃‖_p ≤ 2 · radius is the least rank over ‖X‖_p ≤ radius.

    Parameters
    ----------
    minimizer : RankMinimizer
        With a :class:`SchattenBall` of PSD matrices (the unit Frobenius ball when None) as its set: its norm and radius
        are those of X.
    A : sequence of m matrices (p, q), dense or sparse
    b : array (m,)

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.rankmin import SchattenBall, solve_rectangular
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(size=5), rng.normal(size=4))
    >>> A = rng.normal(size=(30, 5, 4))
    >>> ball = SchattenBall(radius=2 * np.linalg.norm(X))
    >>> found = solve_rectangular(gm.RankMinimizer("factored", 0.05, oracle=ball), A, np.tensordot(A, X, 2))
    >>> found.matrix.shape, found.rank, found.feasible
    ((5, 4), 1, True)
    """
    ball = SchattenBall() if minimizer.oracle is None else minimizer.oracle
    if not (isinstance(ball, SchattenBall) and ball.psd):
        raise ValueError(f"{OWNER}: rectangular problems need a SchattenBall of PSD matrices, got {ball}.")
    matrices = [_validate.points(a, OWNER, name=f"A[{i}]").astype(float, copy=False) for i, a in enumerate(A)]
    shapes = {a.shape for a in matrices}
    if len(shapes) != 1:
        raise ValueError(f"{OWNER}: the matrices of A must have one size, got {sorted(shapes)}.")
    settings = {name: getattr(minimizer, name) for name in minimizer.__dataclass_fields__}
    twice = RankMinimizer(**settings | {"oracle": SchattenBall(ball.p, 2 * ball.radius)})
    whole = twice.solve([dilation(a) for a in matrices], b)
    p = matrices[0].shape[0]  # rows of X
    left, right = whole.factor[:p], whole.factor[p:]
    return RectangularResult(left, right, whole.rank, whole.values, whole.violation, whole.feasible, whole)


def dilation(A: Any) -> Any:
    """½ [[0, A], [Aᵀ, 0]], (p + q, p + q), sparse where A is."""
    if sparse.issparse(A):
        p, q = A.shape
        corners = [[sparse.csr_array((p, p)), A / 2], [A.T / 2, sparse.csr_array((q, q))]]
        return sparse.csr_array(sparse.block_array(corners))
    p, q = A.shape
    whole = np.zeros((p + q, p + q))
    whole[:p, p:] = A / 2
    whole[p:, :p] = A.T / 2
    return whole
