"""What a search for the best metric found, as rows that a person, a table or a picture can show."""

from typing import Any


class Report(list):
    """Rows ``{"candidate", "score", "error", "gain", "gain_error", "weight", "seconds", "note"}``, in the order tried.

    ``score`` ± ``error`` is the held-out score, ``gain`` ± ``gain_error`` what it is above the points as they are
    (paired), ``weight`` that of the prior, ``seconds`` CPU time. :func:`gramian.plotting.gains` draws it.
    """

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(list(self))

    def __str__(self) -> str:
        width = max([28, *(len(row["candidate"]) for row in self)])
        head = f"{'candidate':{width}} {'held-out score':>18} {'gain':>18} {'prior':>6} {'CPU s':>7}"
        lines = [
            f"{row['candidate']:{width}} {_plus_minus(row['score'], row['error']):>18} "
            f"{_plus_minus(row['gain'], row['gain_error'], '+'):>18} {row['weight']:6.2f} {row['seconds']:7.2f}"
            + (f"  {row['note']}" if row["note"] else "")
            for row in self
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


def _plus_minus(value: float, error: float, sign: str = "") -> str:
    return f"{value:{sign}.4f} ± {error:.4f}"
