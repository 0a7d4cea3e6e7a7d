"""Files: exact round trips, atomic writes, and nothing run from a bad file."""

import contextlib
import io
import json
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import gramian as gm
from gramian import persist


@pytest.fixture
def path(tmp_path):
    return tmp_path / "value.gram"


def metric(d=3):
    return gm.Mahalanobis.from_matrix(np.diag(np.arange(1.0, d + 1)))


def write(path, header, arrays=(), compression=zipfile.ZIP_STORED):
    """A hand-made archive, as another program might write it."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", header if isinstance(header, str) else json.dumps(header))
        for name, data in dict(arrays).items():
            archive.writestr(f"{name}.npy", data)
    return path


def npy(array, allow_pickle=False):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=allow_pickle)
    return stream.getvalue()


BAD_VERSIONS = (True, False, 0, -1, 1.0, "1", None)
HEADER = {"format": "gramian", "version": 1, "value": {"array": "array0"}}

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(plain)
def test_plain_data_comes_back_as_it_was(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("persist") / "plain.gram"
    gm.save(value, path)
    assert gm.load(path) == value


@given(
    hnp.arrays(st.sampled_from(["f8", "f4", "i8", "u1", "?", "<U3", "c16"]), hnp.array_shapes(min_dims=0, min_side=0))
)
def test_arrays_come_back_bit_for_bit(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("persist") / "array.gram"
    gm.save(array, path)
    for mmap in (False, True):
        again = gm.load(path, mmap=mmap)
        assert again.dtype == array.dtype and again.shape == array.shape and again.tobytes() == array.tobytes()


def test_fortran_order_and_views(path):
    A = np.arange(24.0).reshape(4, 6)
    gm.save({"f": np.asfortranarray(A), "v": A[::2, ::-1]}, path)
    for mmap in (False, True):
        again = gm.load(path, mmap=mmap)
        assert np.array_equal(again["f"], A) and np.array_equal(again["v"], A[::2, ::-1])


def test_mapped_arrays_are_aligned_read_only_and_equal(path, rng):
    arrays = [rng.normal(size=(50, k)) for k in (1, 7, 64)]
    gm.save(arrays, path)
    for mapped, array in zip(gm.load(path, mmap=True), arrays):
        assert isinstance(mapped, np.memmap) and mapped.ctypes.data % 64 == 0
        assert np.array_equal(mapped, array)
        with pytest.raises(ValueError, match="read-only"):
            mapped[0] = 1.0


def test_a_mapped_value_survives_the_file_being_replaced(path):
    gm.save(np.ones(1000), path)
    mapped = gm.load(path, mmap=True)
    gm.save(np.zeros(1000), path)
    assert mapped.sum() == 1000 and gm.load(path).sum() == 0


def test_sparse_and_nested_values(path, rng):
    X = sparse.random_array((20, 30), density=0.1, random_state=rng, format="csr")
    kernel = 2.0 * gm.Gaussian(0.5, metric=metric()) + gm.Linear() * gm.Polynomial(2)
    gm.save({"X": X, "kernel": kernel, "deep": [{"metric": metric()}]}, path)
    again = gm.load(path)
    assert sparse.issparse(again["X"]) and (again["X"] != X).nnz == 0
    P = rng.normal(size=(5, 3))
    assert np.array_equal(again["kernel"](P), kernel(P))
    assert np.array_equal(again["deep"][0]["metric"].matrix, metric().matrix)


def test_numpy_scalars_become_python_ones(path):
    gm.save({"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}, path)
    assert gm.load(path) == {"a": 0.5, "b": 3, "c": True}


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, np.array([object()]), lambda x: x, {"a": {1, 2}}, np.complex128(1j)],
    ids=["object", "int key", "object array", "function", "set", "complex"],
)
def test_what_cannot_be_stored_is_refused_and_leaves_no_file(tmp_path, value):
    with pytest.raises(TypeError, match="save: "):
        gm.save(value, tmp_path / "x.gram")
    assert list(tmp_path.iterdir()) == []


class Crash(BaseException):
    """What a killed process looks like from inside."""


@pytest.mark.parametrize("moment", ["os.fsync", "os.replace", "write"])
def test_a_crash_leaves_the_old_file_whole(path, monkeypatch, moment):
    gm.save(metric(2), path)
    before = path.read_bytes()

    def crash(*args, **kwargs):
        raise Crash

    monkeypatch.setattr(*{"write": (np.lib.format, "write_array")}.get(moment, (os, moment[3:])), crash)
    with pytest.raises(Crash):
        gm.save(metric(9), path)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]
    assert gm.load(path).n_features == 2


def test_a_killed_process_leaves_the_old_file_whole(path):
    gm.save(metric(2), path)
    child = os.fork()
    if child == 0:  # dies in the middle of writing, with no chance to clean up
        os.fsync = lambda handle: os._exit(9)
        gm.save(metric(9), path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert gm.load(path).n_features == 2


def test_saved_files_follow_the_umask_and_links(tmp_path, path):
    old = os.umask(0o022)
    try:
        gm.save(metric(), path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    link = tmp_path / "link.gram"
    link.symlink_to(path)
    gm.save(metric(2), link)
    assert link.is_symlink() and gm.load(path).n_features == 2


def test_missing_folder_and_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="save: no folder at"):
        gm.save(metric(), tmp_path / "nowhere" / "m.gram")
    with pytest.raises(FileNotFoundError, match="load: no file at"):
        gm.load(tmp_path / "m.gram")


@pytest.mark.parametrize("cut", [0, 1, 10, 100, -30, -1])
def test_truncated_files(path, cut):
    gm.save(metric(20), path)
    path.write_bytes(path.read_bytes()[:cut])
    for mmap in (False, True):
        with pytest.raises(persist.PersistError, match="not a readable gramian file"):
            gm.load(path, mmap=mmap)


def test_a_flipped_byte_is_noticed(path):
    gm.save(np.arange(1000.0), path)
    data = bytearray(path.read_bytes())
    data[4000] ^= 1
    path.write_bytes(data)
    with pytest.raises(persist.PersistError, match="CRC"):
        gm.load(path)


@given(st.data())
def test_random_damage_never_escapes_as_another_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damage") / "m.gram"
    gm.save({"m": metric(), "X": sparse.eye_array(3, format="csr")}, path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    for mmap in (False, True):
        with contextlib.suppress(persist.PersistError):
            gm.load(path, mmap=mmap)


class Bomb:
    """Runs code when unpickled."""

    def __reduce__(self):
        return os.system, ("touch bomb-went-off",)


def foreign_files(tmp_path):
    yield "empty", b""
    yield "text", b"hello"
    yield "pickle", pickle.dumps(Bomb())
    yield "npy", npy(np.ones(3))
    yield "pickled npy", npy(np.array([Bomb()]), allow_pickle=True)
    stream = io.BytesIO()
    np.savez(stream, X=np.ones(3))
    yield "npz", stream.getvalue()


def test_foreign_files_are_refused_and_run_nothing(tmp_path, path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _, content in foreign_files(tmp_path):
        path.write_bytes(content)
        with pytest.raises(persist.PersistError, match="not a readable gramian file"):
            gm.load(path)
        with pytest.raises(persist.PersistError):
            persist.describe(path)
    assert not (tmp_path / "bomb-went-off").exists()


@pytest.mark.parametrize("mmap", [False, True])
def test_pickled_arrays_inside_our_format_are_refused(tmp_path, path, monkeypatch, mmap):
    monkeypatch.chdir(tmp_path)
    write(path, HEADER, {"array0": npy(np.array([Bomb()]), allow_pickle=True)})
    with pytest.raises(persist.PersistError, match="pickled objects, which are never read"):
        gm.load(path, mmap=mmap)
    assert not (tmp_path / "bomb-went-off").exists()


@pytest.mark.parametrize(
    "header, reason",
    [
        ({"format": "other", "version": 1, "value": 1}, "its header is not ours"),
        ({"format": "gramian", "version": 99, "value": 1}, "format version 99, newer than 1; upgrade gramian"),
        ({"format": "gramian", "value": 1}, "version"),
        ({"format": "gramian", "version": 1}, "value"),
        ({"format": "gramian", "version": 1, "value": {"kind": "os.system", "state": "ls"}}, "unknown kind of value"),
        ({"format": "gramian", "version": 1, "value": {"kind": "load", "state": {}}}, "unknown kind of value"),
        ({"format": "gramian", "version": 1, "value": {"kind": "Gaussian", "state": {"dict": {"x": 1}}}}, "unexpected"),
        ({"format": "gramian", "version": 1, "value": {"array": "../secret"}}, "no item"),
        *(({"format": "gramian", "version": v, "value": 1}, f"its version is no version, {v!r}") for v in BAD_VERSIONS),
        ([], "TypeError"),
        ("{", "JSONDecodeError"),
        ("[" * 100_000, "RecursionError|JSONDecodeError"),
    ],
)
def test_bad_headers(path, header, reason):
    with pytest.raises(persist.PersistError, match=reason):
        gm.load(write(path, header))


def test_an_array_that_claims_to_be_huge_is_refused_before_memory_is_taken(path):
    data = npy(np.ones((2, 2))).replace(b"(2, 2), }      ", b"(99999999999,)}")
    assert b"99999999999" in data
    for mmap in (False, True):
        with pytest.raises(persist.PersistError, match="damaged"):
            gm.load(write(path, HEADER, {"array0": data}), mmap=mmap)


def test_compressed_archives_are_refused(path):
    with pytest.raises(persist.PersistError, match="compressed"):
        gm.load(write(path, HEADER, {"array0": npy(np.zeros(10**6))}, zipfile.ZIP_DEFLATED))


def test_sparse_indices_out_of_range_are_refused(path):
    parts = {"data": {"array": "a"}, "indices": {"array": "b"}, "indptr": {"array": "c"}, "shape": [1, 2]}
    header = {"format": "gramian", "version": 1, "value": {"csr": {"dict": parts}}}
    arrays = {"a": npy(np.ones(1)), "b": npy(np.array([10**6])), "c": npy(np.array([0, 1]))}
    with pytest.raises(persist.PersistError, match="indices"):
        gm.load(write(path, header, arrays))


def test_an_unknown_version_of_arrays_is_refused(path):
    data = bytearray(npy(np.ones(2)))
    data[6] = 2
    with pytest.raises(persist.PersistError, match=r"\(entry array0.npy has an unknown array version\)"):
        gm.load(write(path, HEADER, {"array0": bytes(data)}))


@pytest.mark.parametrize(("mmap", "verify"), [(False, True), (True, True), (True, False)])
def test_what_is_believed_is_not_compared(path, mmap, verify):
    """A flipped bit of the numbers is noticed wherever somebody looks."""
    gm.save({"x": np.arange(2000.0)}, path)
    data = bytearray(path.read_bytes())
    data[data.index(np.arange(2000.0).tobytes()) + 15_000] ^= 1
    path.write_bytes(data)
    if verify:
        with pytest.raises(persist.PersistError, match="CRC"):
            gm.load(path, mmap=mmap, verify=verify)
    else:
        assert len(gm.load(path, mmap=mmap, verify=verify)["x"]) == 2000


def test_what_is_written_is_plain_and_the_same_every_time(path):
    """Stored as it is, arrays of version 1, the names of the page in their order, and no time of day."""
    values = {"a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.eye(3)), "c": np.float32(2.5)}
    contents = []
    for _ in range(2):
        gm.save(values, path)
        contents.append(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == ["header.json", "array0.npy", "array1.npy"]
            assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
            assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert all(archive.read(name)[:8] == b"\x93NUMPY\x01\x00" for name in archive.namelist()[1:])
    assert contents[0] == contents[1]


def test_an_array_is_named_once(path):
    """Otherwise a small file could ask for much memory."""
    header = {**HEADER, "value": [{"array": "array0"}, {"array": "array0"}]}
    with pytest.raises(persist.PersistError, match=r"\(array array0 is named twice\)"):
        gm.load(write(path, header, {"array0": npy(np.ones(2))}))


def test_values_save_themselves(path):
    pairs = gm.Pairs([0, 1], [1, 2], [True, False])
    assert isinstance(pairs, persist.Stored)
    pairs.save(path)
    assert gm.load(path).left.tolist() == [0, 1] and gm.load(path).similar.tolist() == [True, False]


def test_functions_and_other_objects_are_refused_by_what_they_are():
    for value, sentence in [
        (len, "save: cannot store a function, 'len', which a file would have to run; pickle the metric where"),
        (object(), "save: cannot store a object; only gramian values and plain data are stored."),
        (np.array([None]), "save: arrays of Python objects cannot be stored without pickle."),
    ]:
        with pytest.raises(TypeError) as caught:
            gm.save(value, "x.gram")
        assert str(caught.value).startswith(sentence)


def test_describe_reads_the_head_alone(path):
    gm.save(metric(), path, about={"features": ["a", "b", "c"]})
    found = persist.describe(path)
    assert found["kind"] == "Mahalanobis" and found["about"] == {"features": ["a", "b", "c"]}
    assert found["arrays"] == {"array0": ((3, 3), "float64")}
