"""Data sets by name, and what happens when one is not there."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.datasets import loaders


@pytest.fixture
def folder(data_folder, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(data_folder))
    return data_folder


@pytest.mark.parametrize("name", sorted(loaders.BUNDLED))
def test_bundled_sets_load_without_a_folder(name, monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    data = gm.datasets.load(name)
    assert data.X.dtype == np.float64 and len(data.X) == len(data.y) == len(data.target)
    assert len(data.feature_names) == data.X.shape[1]
    X, y = gm.datasets.load(name, return_X_y=True)
    assert np.array_equal(X, data.X) and np.array_equal(y, data.y)


def test_every_local_set_loads_and_is_consistent(folder):
    for path in sorted(folder.glob("*.npz")):
        if path.stem in ("mnist", "newsgroups20_raw"):  # large; the same code reads their smaller siblings
            continue
        if not loaders.POINTS & set(np.load(path).files):  # queries and documents, say
            with pytest.raises(ValueError, match="must hold points as X, got"):
                gm.datasets.load(path.stem)
            continue
        data = gm.datasets.load(path.stem)
        n = data.X.shape[0] if hasattr(data.X, "shape") else len(data.X)
        for key in [key for key in data if key == "y" or key.startswith("y_")]:
            assert data[key].shape == (n,)
        if "image_shape" in data:
            assert np.prod(data.image_shape) == data.X.shape[1]
        if "train_idx" in data:
            assert sorted([*data.train_idx, *data.test_idx]) == list(range(n))
        if "class_names" in data:
            assert data.y.max() < len(data.class_names)


def test_usps_is_scaled_and_split(folder):
    data = gm.datasets.load("usps")
    assert data.X.dtype == np.float64 and -1 <= data.X.min() < data.X.max() <= 1
    X, X_test, y, y_test = data.split()
    assert X.shape == (7291, 256) and X_test.shape == (2007, 256)


def test_newsgroups_counts_are_csr(folder):
    data = gm.datasets.load("newsgroups20_counts")
    assert sparse.issparse(data.X) and data.X.format == "csr" and data.X.shape == (18846, 29055)
    assert data.X.dtype == np.float64 and len(data.vocabulary) == 29055


def test_raw_texts_are_decoded(folder):
    data = gm.datasets.load("newsgroups20_raw4")
    assert len(data.X) == len(data.y) == 3938 and "Subject:" in data.X[0]


def test_several_labelings(folder):
    data = gm.datasets.load("cmu_faces")
    assert np.array_equal(data.y, data.y_person) and set(data.y_pose.tolist()) == {0, 1, 2, 3}


def test_dtype_none_keeps_the_stored_type(folder):
    assert gm.datasets.load("pendigits", dtype=None).X.dtype == np.uint8


def test_split_needs_a_split():
    with pytest.raises(ValueError, match="'iris' has no split of its own"):
        gm.datasets.load("iris").split()


def test_unknown_name_lists_near_matches(monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(ValueError, match="unknown data set 'digit', did you mean 'digits'"):
        gm.datasets.load("digit")


def test_folder_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="GRAMIAN_DATA names .* not a folder"):
        gm.datasets.load("usps")


def test_offline_openml_is_one_sentence(monkeypatch):
    import sklearn.datasets

    def offline(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    with pytest.raises(OSError, match="'sonar' could not be downloaded from OpenML .*; connect to the network"):
        gm.datasets.load("sonar")


def test_openml_answers_are_encoded(monkeypatch):
    import sklearn.datasets
    from sklearn.utils import Bunch

    def answer(name, **kwargs):
        assert name == "USPS" and kwargs["version"] == 2
        return Bunch(data=np.ones((2, 3)), target=np.array(["b", "a"]), feature_names=["f", "g", "h"])

    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer)
    data = gm.datasets.load("usps")
    assert data.y.tolist() == [1, 0] and data.class_names.tolist() == ["a", "b"]
