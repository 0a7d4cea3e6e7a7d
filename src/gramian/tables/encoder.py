"""Tables as a step of a scikit-learn pipeline."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian import _checks, _settings
from gramian._settings import Names
from gramian.tables import problems, reading
from gramian.tables.files import plain
from gramian.tables.problems import PYTHON


class TableEncoder(TransformerMixin, BaseEstimator):
    """Columns of words, dates and numbers, as they are in a table, as columns of numbers.

    A column is what most of its cells can be read as: numbers (also 1,234.5 and 1.234,5), dates (days since 1970), or
    words. Two words become a column of 0 and 1, more words one column each (one-hot); a word that ``fit`` did not see
    is none of them. Everything that is wrong is said in one message, with column and row. ``fit`` warns of columns
    that number the rows, or that tell the label by themselves.

    Parameters
    ----------
    missing : {"refuse", "median", "keep"}
        What becomes of gaps: an error, the median of the column in ``fit`` (no word is none of the words), or NaN.
    drop : sequence of str
        Names of columns to leave out; their numbers, as text, where columns have no names.

    Attributes
    ----------
    columns_ : list of Column
        How each column becomes numbers.
    n_features_in_ : int
    feature_names_in_ : array of str
        Names of the columns, where all of them have one.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> rows = [["red", 1.0], ["red", 1.5], ["blue", 9.0], ["blue", None]]
    >>> steps = gm.tables.TableEncoder("median"), gm.RCA(reg=1.0), KNeighborsClassifier(1)
    >>> make_pipeline(*steps).fit(rows, [0, 0, 1, 1]).predict([["blue", "8,5"]]).tolist()
    [1]
    """

    def __init__(self, missing: Any = "refuse", *, drop: Names = ()):
        self.missing = missing
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Find out what each column is.

        Parameters
        ----------
        X : frame, or array (n, d) of anything
        y : labels (n,), optional
            Only to warn of columns that give them away.
        """
        with _settings.intact(self):
            found = self._table(X, reset=True)
            columns = reading.kinds(found)
            _, wrong = reading.encode(columns, found, self._missing(), PYTHON)
            problems.raise_all("TableEncoder", wrong)
            for doubt in problems.suspicions(found, _one_each(y, len(next(iter(found.values())))), PYTHON):
                _checks.warn(f"TableEncoder: {doubt}.")
            self.columns_ = columns
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The table as numbers (n, d'); columns are found by name where they have one, in whatever order they come."""
        check_is_fitted(self, "columns_")
        Z, wrong = reading.encode(self.columns_, self._table(X, reset=False), self._missing(), PYTHON)
        problems.raise_all("TableEncoder", wrong)
        return Z

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of numbers, such as "color=red"."""
        check_is_fitted(self, "columns_")
        return np.array([name for column in self.columns_ for name in column.names], dtype=object)

    def _missing(self) -> str:
        return _checks.one_of(self.missing, "TableEncoder", "missing", ("refuse", "median", "keep"))

    def _table(self, X: Any, reset: bool) -> dict[str, np.ndarray]:
        """Columns by name, those to leave out and, after ``fit``, those that it did not see taken away."""
        named = hasattr(X, "columns")
        X = X if named else _array(X)
        names = [str(name) for name in X.columns] if named else [str(j) for j in range(X.shape[1])]
        self._remember(names, named, reset)
        cells = [X[name] for name in X.columns] if named else list(X.T)
        wanted = self._wanted(names, reset)
        found = {name: plain(column) for name, column in zip(names, cells) if name in wanted}
        if not found:
            raise ValueError(f"TableEncoder: X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if X.shape[0] == 0:
            raise ValueError("TableEncoder: X must hold at least one row, got none.")
        return found

    def _remember(self, names: list[str], named: bool, reset: bool) -> None:
        """Store the columns of ``fit``, or raise where a table without names has another number of them."""
        if reset:
            self.n_features_in_ = len(names)
            self.__dict__.pop("feature_names_in_", None)
            if named:
                self.feature_names_in_ = np.array(names, dtype=object)
        elif not named and len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but TableEncoder is expecting {self.n_features_in_} features as input."
            )

    def _wanted(self, names: list[str], reset: bool) -> set[str]:
        """Names of the columns to read; those of ``fit`` that are not there are named together."""
        if reset:
            drop = [self.drop] if isinstance(self.drop, str) else list(self.drop)
            unknown = [name for name in drop if str(name) not in names]
            if unknown:
                raise ValueError(f"TableEncoder: drop must be names of columns, got {', '.join(map(repr, unknown))}.")
            return set(names) - {str(name) for name in drop}
        wanted = [column.name for column in self.columns_]
        gone = [name for name in wanted if name not in names]
        if gone:
            raise ValueError(f"TableEncoder: X lacks the columns {', '.join(map(repr, gone))} of fit.")
        return set(wanted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _array(X: Any) -> np.ndarray:
    """A table without names as an array of cells."""
    if sparse.issparse(X):
        raise TypeError("TableEncoder: X must be a frame or a dense array, got a sparse one; learn on it as it is.")
    X = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
    if X.dtype.kind == "c":
        raise ValueError(
            "TableEncoder: X must hold real numbers or text, got complex ones. Complex data not supported."
        )
    if X.ndim != 2:
        raise ValueError(f"TableEncoder: X must have shape (n, d), got shape {X.shape}. Reshape your data.")
    return X


def _one_each(y: Any, n: int) -> np.ndarray | None:
    """Labels, one for each row."""
    if y is None:
        return None
    found = _checks.plain(y, "TableEncoder", "y")
    if found.shape[:1] != (n,):
        raise ValueError(f"TableEncoder: y must have one label per row ({n}), got shape {found.shape}.")
    return found
