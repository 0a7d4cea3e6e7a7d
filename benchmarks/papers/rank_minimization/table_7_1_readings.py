"""Why plain averages have another rank than Jain 2009, Table 7.1: the step, the meaning of 5%, and what is counted."""

import numpy as np

from benchmarks.harness import standard_error
from benchmarks.papers.rank_minimization.table_7_1 import PAPER, dense_problem
from gramian.rankmin import Measurements, SchattenBall
from gramian.rankmin.base import RankProblem, combine
from gramian.rankmin.game import rounds, rule_of

TITLE = "Readings of Table 7.1 (Jain 2009)"
NOTES = """
Algorithms 2 and 3 without our corrections (no linear program, no compression), stopped at the first average that
satisfies every constraint to ε, at most 300 rounds; 5 draws, with standard errors. The average of T answers of rank
one has the numerical rank min(T, n), far above the printed ones; "cut" drops the smallest eigenvalues as long as the
constraints hold to ε. ε is 0.05, or 5% of the largest |b_i| (about 0.15). The factor on the step of OCP is 1 in the
thesis.
"""
TABLE = "Rank of the first average that is good enough"
RULES = {
    "MW": ("mw", None),
    "OCP": ("ocp", 1.0),
    "OCP, a third of the step": ("ocp", 0.3),
    "OCP, three times the step": ("ocp", 3.0),
}


def run(quick: bool = False) -> list[dict]:
    """Sizes, both ε, all rules."""
    sizes, draws = ((50,), 1) if quick else ((50, 75, 100, 200), 5)
    return [
        row for n in sizes for relative in (False, True) for rule in RULES for row in _rows(n, relative, rule, draws)
    ]


def first_average(problem: RankProblem, method: str, step: float | None, limit: int = 300) -> tuple:
    """The first mean of the answers that satisfies the constraints (or the last), and how many it took."""
    atoms, values = [], np.zeros(len(problem.b))
    for turn in rounds(problem, rule_of(problem, method, step, "readings"), limit):
        if turn.atom is None:
            break
        atoms.append(turn.atom)
        values += turn.values
        if problem.violation(values / len(atoms)) <= problem.epsilon:
            break
    return combine(atoms, np.full(len(atoms), 1 / len(atoms)), problem.A.n), len(atoms)


def cut(problem: RankProblem, atom: tuple) -> int:
    """The fewest leading eigenpairs of X that still satisfy the constraints."""
    vectors, values = atom
    for rank in range(1, len(values)):
        if problem.violation(problem.A(vectors[:, :rank], values[:rank])) <= problem.epsilon:
            return rank
    return len(values)


def _rows(n: int, relative: bool, rule: str, draws: int) -> list[dict]:
    found = []
    for seed in range(draws):
        A, b = dense_problem(n, seed)
        epsilon = 0.05 * float(np.abs(b).max()) if relative else 0.05
        problem = RankProblem(Measurements(A), b, epsilon, SchattenBall())
        atom, count = first_average(problem, *RULES[rule])
        met = problem.violation(problem.A(*atom)) <= epsilon
        found.append((len(atom.values), cut(problem, atom), count, met))
    ranks, least, counts, met = map(np.array, zip(*found))
    note = f"{counts.mean():.0f} answers; {met.sum()} of {draws} satisfy ε"
    case, paper = f"n = {n}, ε = {'5% of max |b|' if relative else '0.05'}", PAPER[rule.split(",")[0]].get(n)
    return [
        {
            "table": TABLE,
            "case": case,
            "method": name,
            "ours": ours.mean(),
            "paper": paper,
            "note": standard_error(ours, 1, note),
        }
        for name, ours in {rule: ranks, f"{rule}, cut": least}.items()
    ]
