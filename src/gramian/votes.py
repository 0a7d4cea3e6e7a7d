"""Votes of nearest neighbors: one tally and one rule for ties."""

import numpy as np


def tally(codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Votes (n, n_classes) that the neighbors' codes (n, k) give to each class, one each unless weights say otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.votes import tally
    >>> tally(np.array([[0, 2, 2]]), 3).tolist()
    [[1.0, 0.0, 2.0]]
    """
    votes = np.zeros((len(codes), n_classes))  # (n, n_classes)
    rows = np.arange(len(codes))[:, None]
    np.add.at(votes, (rows, codes), 1.0 if weights is None else weights)
    return votes


def winners(codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Code (n,) with most votes; of tied classes that of the nearest voter (neighbors come nearest first).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.votes import winners
    >>> winners(np.array([[1, 0, 0], [1, 0, 2]]), 3).tolist()
    [0, 1]
    """
    votes = tally(codes, n_classes, weights)
    tied = np.isclose(votes, votes.max(axis=1, keepdims=True), rtol=1e-9, atol=0.0)
    nearest = np.take_along_axis(tied, codes, axis=1).argmax(axis=1)  # (n,): the place of the first tied voter
    codes_won: np.ndarray = codes[np.arange(len(codes)), nearest]
    return codes_won
