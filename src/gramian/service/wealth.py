r"""Evidence as money: what somebody would own who bet, query after query, that what is proposed is better.

A duel is a vote v in [−1, 1]: of the judged items that only one of the two rankings shows, likes minus dislikes of the
candidate's, minus the same of those in use, by their number. *Nothing that was proposed so far is better than what is
in use* says E[v | past] ≤ 0. Then nobody can expect to gain who stakes a share s of what they own on each vote, as

    K(s) = Π (1 + s v)      E[K after | past] = K · (1 + s E[v | past]) ≤ K

and so K, a mixture K̄ of two stakes, and a mixture with those who begin later, are nonnegative supermartingales. By
Ville's inequality such a wealth, 1 at first, ever reaches 1/α with probability at most α: one may look after every
click. What is proposed may depend on all the past, so the wealth is carried over to a renewed candidate. Of the first
capital some waits for later candidates, so that bad ones at the beginning cost little. With c_1 = 0.85
and c_j = 0.15 / (j (j − 1)) for the others, which sum to 1,

    W = Σ_{j ≤ J} c_j K̄(duels from candidate j on)  +  1 − Σ_{j ≤ J} c_j

A test ends with an adoption only, and the next metric in use is then tested at the same level: as in alpha investing
(Foster and Stine 2008), what is adopted pays for the next test. Let V be the number of adoptions of something that is
no better and R that of all. Each test adds one to V with probability at most α, and R + 1 tests are begun, so

    E[V] ≤ α (E[R] + 1)      and where nothing better is ever proposed      P[V > 0] ≤ α

since there the first adoption is the first error. People who choose a metric themselves begin a test that nothing
has paid for: with a_0 = 0.8 and a_c = 0.2 / (c (c + 1)), which sum to 1, the level after c such choices is α a_c.
"""

from collections.abc import Sequence

import numpy as np

Gains = Sequence[float] | np.ndarray
"""Log gains of a candidate, one for each stake."""
ALPHA = 0.05
"""Probability that a collection ever adopts something while nothing that was proposed is better."""
UNTOUCHED = 0.8
"""Share of it for a collection in which people never choose a metric themselves."""
STAKES = np.array([0.25, 0.7])
"""Shares of the wealth that are staked on each vote: for small differences and for others."""
WEIGHTS = np.array([0.2, 0.8])
"""Shares of the capital that bet so."""
FIRST = 0.85
"""Share of the capital that is bet from the first candidate on."""
FEWEST = 3
"""Votes of its own that a candidate needs."""
MOST = 1000
"""Votes after which a candidate that neither won nor lost steps back."""
LEADS = 0.5
"""Part of the way (of log 1/α) from which on a candidate leads, and nothing unproven takes its place."""


def vote(judged: Sequence[tuple[float, bool]]) -> float:
    """The vote of a duel from its judgments: 1 for a like and −1 for a dislike, and whether it is the candidate's.

    Examples
    --------
    >>> from gramian.service.wealth import vote
    >>> vote([(1, True), (-1, False), (1, False), (1, True)])
    0.5
    """
    return sum(value if candidate else -value for value, candidate in judged) / max(len(judged), 1)


def log_gains(votes: Sequence[float] | np.ndarray) -> np.ndarray:
    """Σ log(1 + s v) for each stake s."""
    return np.log1p(STAKES * np.asarray(votes, float).reshape(-1, 1)).sum(axis=0)


def log_wealth(parts: Sequence[Gains]) -> float:
    """log W from the log gains of each candidate in turn, (J, stakes).

    Examples
    --------
    >>> import math
    >>> from gramian.service.wealth import log_gains, log_wealth
    >>> log_wealth([])
    0.0
    >>> math.exp(log_wealth([log_gains([1, 1, 1, 1, 1, 1])])) > 15
    True
    """
    if len(parts) == 0:
        return 0.0
    totals = np.cumsum(np.array(parts, float)[::-1], axis=0)[::-1]  # (J, stakes)
    j = np.arange(1, len(totals) + 1)
    capital = np.where(j == 1, FIRST, (1 - FIRST) / np.maximum(j * (j - 1), 1))
    waiting = (1 - FIRST) / len(totals)  # 1 − Σ c_j
    return float(np.logaddexp.reduce([*(np.log(capital) + [log_mixed(gains) for gains in totals]), np.log(waiting)]))


def log_needed(choices: int) -> float:
    """log 1/(α a_c), which the wealth must reach after c choices by people.

    Examples
    --------
    >>> import math
    >>> from gramian.service.wealth import log_needed
    >>> round(math.exp(log_needed(0))), round(math.exp(log_needed(1)))
    (25, 200)
    """
    share = UNTOUCHED if choices == 0 else (1 - UNTOUCHED) / (choices * (choices + 1))
    return -float(np.log(ALPHA * share))


def decided(parts: Sequence[Gains], votes: np.ndarray, choices: int) -> str | None:
    """``"adopted"``, ``"lost"``, ``"undecided"`` after too many votes, or None: go on.

    ``parts`` are the log gains of earlier candidates against the same metric in use, ``votes`` those of the present
    one. It is adopted when the wealth is enough and its own votes are for it, and lost when as much would be owned by
    who bets the other way on its own votes, at the level α.
    """
    if len(votes) < FEWEST:
        return None
    if votes.sum() > 0 and log_wealth([*parts, log_gains(votes)]) >= log_needed(choices):
        return "adopted"
    if log_mixed(log_gains(-votes)) >= -np.log(ALPHA):
        return "lost"
    return "undecided" if len(votes) >= MOST else None


def leads(votes: np.ndarray, choices: int) -> bool:
    """Whether a candidate has won half of what it needs by its own votes."""
    return log_mixed(log_gains(votes)) >= LEADS * log_needed(choices)


def log_mixed(gains: np.ndarray) -> float:
    """log of the wealth of those with the two stakes together, from their log gains."""
    return float(np.logaddexp.reduce(gains + np.log(WEIGHTS)))
