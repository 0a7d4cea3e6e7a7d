"""TableEncoder: a transformer of scikit-learn for tables as they are."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.tables import TableEncoder, TableError


@pytest.fixture
def frame(rng):
    pandas = pytest.importorskip("pandas")
    n = 60
    kind = np.arange(n) % 3
    frame = pandas.DataFrame(
        {
            "size": kind + rng.normal(scale=0.3, size=n),
            "color": np.array(["red", "green", "blue"])[rng.integers(3, size=n)],
            "day": pandas.to_datetime("2024-01-01") + pandas.to_timedelta(rng.integers(100, size=n), unit="D"),
        }
    )
    return frame, np.array(["a", "b", "c"])[kind]


@parametrize_with_checks([TableEncoder("keep")])
def test_scikit_learn_takes_it(estimator, check):
    check(estimator)


def test_it_is_one_hot_and_imputation_of_scikit_learn(frame):
    table, _ = frame
    table.loc[3, "size"] = np.nan
    ours = TableEncoder("median").fit_transform(table[["size", "color"]])
    theirs = ColumnTransformer(
        [("size", SimpleImputer(strategy="median"), ["size"]), ("color", OneHotEncoder(sparse_output=False), ["color"])]
    ).fit_transform(table)
    assert np.array_equal(ours, theirs)


def test_it_is_a_step_of_a_pipeline_that_is_cross_validated(frame):
    table, y = frame
    table.loc[5, "color"] = None
    pipeline = make_pipeline(TableEncoder("median"), gm.RCA(), KNeighborsClassifier(3))
    assert np.isfinite(cross_val_score(pipeline, table, y, cv=3)).all()
    assert clone(pipeline).fit(table, y).predict(table[["day", "color", "size"]]).shape == (60,)


def test_numbers_may_be_written_in_another_way_later():
    encoder = TableEncoder().fit([["1.5", "a"], ["2.5", "b"]])
    assert encoder.transform([["3,5", "b"], ["1.000,25", "a"]]).tolist() == [[3.5, 1], [1000.25, 0]]


def test_names_come_out_and_columns_may_come_in_any_order(frame):
    table, _ = frame
    encoder = TableEncoder(drop=["day"]).set_output(transform="pandas").fit(table)
    out = encoder.transform(table[["color", "size"]])
    assert list(out.columns) == ["size", "color=blue", "color=green", "color=red"]
    assert np.allclose(out["size"], table["size"]) and (out["color=red"] == (table["color"] == "red")).all()
    with pytest.raises(ValueError, match="X lacks the columns 'size' of fit"):
        encoder.transform(table[["color"]])


def test_everything_that_is_wrong_is_said_at_once(frame):
    table, _ = frame
    table["size"] = table["size"].astype(object)
    table.loc[2, "size"] = "big"
    table.loc[7, "day"] = None
    with pytest.raises(TableError, match="2 problems") as caught:
        TableEncoder().fit(table)
    message = str(caught.value)
    assert "column 'size' is not numeric, it holds 'big' in row 3" in message and "drop=['size']" in message
    assert "column 'day' has no finite number in row 8" in message and "missing='median'" in message
    with pytest.raises(ValueError, match="drop must be names of columns, got 'hue'"):
        TableEncoder(drop=["hue"]).fit(table)


def test_columns_that_number_the_rows_or_tell_the_label_are_named(frame):
    table, y = frame
    with pytest.warns(UserWarning, match="column 'customer_id' holds a different whole number in every row"):
        TableEncoder().fit(table.assign(customer_id=np.arange(60) * 17 + 1000), y)
    with pytest.warns(UserWarning, match="column 'code' alone tells the label of every row"):
        TableEncoder().fit(table.assign(code=np.searchsorted(["a", "b", "c"], y)), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(table, y)
