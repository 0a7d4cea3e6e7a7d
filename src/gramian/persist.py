"""Save and load values as a zip of JSON and .npy: no pickle, versioned, written atomically.

A value says what to store with ``_state() -> dict`` of numbers, strings, lists, arrays, sparse arrays and other
such values, and is rebuilt by the class method ``_from_state(state)``. Only public names of the package
are ever built from a file, so a foreign file runs nothing.
"""

import errno
import glob
import json
import math
import os
import secrets
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np
from scipy import sparse

from gramian import _settings
from gramian._registry import stored_class
from gramian._settings import checked

FORMAT = "gramian"
VERSION = 1
_ALIGN = 64
_CHUNK = 1 << 20
DATE = (1980, 1, 1, 0, 0, 0)
"""Of every entry, so that the same value is the same bytes."""
LEFTOVER_S = 3600.0
"""Age, in seconds, from which the temporary file of a killed writer is nobody's."""


believed: ContextVar[bool] = ContextVar("believed", default=False)
"""Whether the file that is being read is believed, so that nobody goes through all of its numbers."""


class PersistError(ValueError):
    """A file that cannot be read as a gramian value."""


@checked
def save(obj: Any, path: _settings.Path, *, about: dict[str, Any] | None = None) -> None:
    """Write ``obj`` (a metric, kernel, index or model of this package) to ``path``.

    The file is written beside ``path`` and then moved over it, so a crash leaves the old file as it was. ``about``
    holds plain data about the value (where it came from, names of features) that :func:`.describe` shows.

    Parameters
    ----------
    obj : value of this package
        What is to be kept: a metric, kernel, index, set of constraints or fitted feature map.
    path : str or path
        The file.
    about : dict of plain data, optional
        Plain data to store beside it.

    See Also
    --------
    gramian.load : Reads it again.

    Examples
    --------
    >>> import gramian as gm, numpy as np, tempfile, os
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0]))
    >>> path = os.path.join(tempfile.mkdtemp(), "metric.gram")
    >>> gm.save(metric, path)
    >>> gm.load(path).matrix.tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """
    arrays: dict[str, np.ndarray] = {}
    value = _encode(obj, arrays)
    try:
        header = json.dumps({"format": FORMAT, "version": VERSION, "about": about or {}, "value": value})
    except TypeError as error:
        raise TypeError(f"save: about must hold plain data, but {error}.") from error
    with replacing(path, "save") as temporary, open(temporary, "xb") as stream:
        _write(stream, header, arrays)


@contextmanager
def replacing(path: str | os.PathLike[str], owner: str) -> Iterator[Path]:
    """A temporary name beside ``path`` that is moved over it, durably, when the block ends well.

    The file that was there keeps its mode, and stays as it is when the block fails. What is no file (a folder, a pipe,
    a device) is refused. Leftovers of writers that were killed an hour ago or earlier are cleared away.
    """
    target = _file_at(path, owner)
    _clear_leftovers(target)
    temporary = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
    try:
        yield temporary
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        with open(temporary, "rb") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if _says_nowhere(error, temporary):
            reason = os.strerror(error.errno) if error.errno else "not written in whole, perhaps the disk is full"
            raise OSError(error.errno or errno.EIO, reason, os.fspath(path)) from error
        raise


def _file_at(path: str | os.PathLike[str], owner: str) -> Path:
    """Where a file of that name is or may be, links followed."""
    if "\0" in os.fspath(path):
        raise ValueError(f"{owner}: path must be the name of a file, got {str(path)!r}.")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{owner}: no folder at {str(Path(path).parent)!r}.")
    if target.is_dir():
        raise IsADirectoryError(f"{owner}: path must be a file, {str(path)!r} is a folder.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{owner}: path must be a file, {str(path)!r} is a pipe or a device.")
    return target


def _says_nowhere(error: BaseException, temporary: Path) -> TypeGuard[OSError]:
    """Whether the system refused to write and named no file, or one that nobody knows."""
    if type(error) is not OSError or error.filename not in (None, str(temporary)):
        return False
    return bool(error.errno) or str(error).endswith(" written")


def _clear_leftovers(target: Path) -> None:
    for leftover in target.parent.glob(f".????????.{glob.escape(target.name)}"):
        with suppress(FileNotFoundError):  # another writer was faster
            if time.time() - leftover.stat().st_mtime > LEFTOVER_S:
                leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Ask for the new name to be on the disk; where folders cannot be synced, it is there a little later."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@checked
def load(path: _settings.Path, *, mmap: bool = False, verify: bool = True) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    mmap : bool
        Leave arrays on disk until they are touched.
    verify : bool
        Compare all arrays with their checksums. False opens a file of any size at once, and believes what it holds.

    See Also
    --------
    gramian.save : Writes the file.

    Examples
    --------
    >>> import gramian as gm, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "kernel.gram")
    >>> gm.save(gm.Gaussian(2.0), path)
    >>> gm.load(path)
    Gaussian(scale=2.0, metric=None)
    """
    before = believed.set(not verify)
    try:
        with opened(path) as (archive, header):
            return _decode(header["value"], array_reader(archive, mmap, verify))
    finally:
        believed.reset(before)


@checked
def describe(path: _settings.Path) -> dict[str, Any]:
    """What a file holds, without building it: ``kind``, ``version``, ``about``, and ``arrays`` name → (shape, dtype).

    Examples
    --------
    >>> import gramian as gm, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "kernel.gram")
    >>> gm.save(gm.Gaussian(2.0), path, about={"made by": "me"})
    >>> gm.persist.describe(path)
    {'kind': 'Gaussian', 'version': 1, 'about': {'made by': 'me'}, 'arrays': {}}
    """
    with opened(path) as (archive, header):
        value = header["value"]
        kind = value.get("kind", next(iter(value))) if isinstance(value, dict) else type(value).__name__
        entries = [info.filename for info in archive.infolist() if info.filename.endswith(".npy")]
        arrays = {}
        for entry in entries:
            with archive.open(entry) as stream:
                shape, _, dtype = array_head(stream, archive.getinfo(entry))
            arrays[entry.removesuffix(".npy")] = (shape, str(dtype))
        return {"kind": kind, "version": header["version"], "about": header.get("about", {}), "arrays": arrays}


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Open a file and check its header; whatever goes wrong inside is a PersistError."""
    source = Path(path)
    if not os.path.isfile(source):  # also of a name that no file can have
        raise FileNotFoundError(f"load: no file at {str(source)!r}.")
    with open(source, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                yield archive, _header(archive)
        except Exception as error:
            reason = str(error) if isinstance(error, PersistError) else f"{type(error).__name__}: {error}"
            raise PersistError(f"load: {str(source)!r} is not a readable gramian file ({reason}).") from error


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
        raise PersistError("it is compressed, which gramian files never are")
    header = json.loads(archive.read("header.json"))
    if header["format"] != FORMAT:
        raise PersistError("its header is not ours")
    version = header["version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PersistError(f"its version is no version, {version!r:.20}")
    if version > VERSION:
        raise PersistError(f"it has format version {version}, newer than {VERSION}; upgrade gramian")
    return header


def _write(stream: Any, header: str, arrays: dict[str, np.ndarray]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("header.json", date_time=DATE), header)
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=DATE)
            # 30 bytes of local header, the name, 20 bytes of zip64 sizes: then the array, aligned for mmap.
            info.extra = padding(stream.tell() + 30 + len(info.filename) + 20)
            with archive.open(info, "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, version=(1, 0), allow_pickle=False)


def padding(offset: int) -> bytes:
    """An ignorable zip extra field (4 bytes of head) that ends at a multiple of the alignment."""
    size = -(offset + 4) % _ALIGN
    return b"\x47\x4d" + size.to_bytes(2, "little") + b"\0" * size


def array_reader(archive: zipfile.ZipFile, mmap: bool, verify: bool) -> Callable[[str], np.ndarray]:
    """A function that reads an array by its name, once: a header cannot ask for more memory than the file has."""
    names: set[str] = set()

    def read(name: str) -> np.ndarray:
        if name in names:
            raise PersistError(f"array {name} is named twice")
        names.add(name)
        return _read_array(archive, name, mmap, verify)

    return read


def _read_array(archive: zipfile.ZipFile, name: str, mmap: bool, verify: bool) -> np.ndarray:
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as stream:
        shape, fortran, dtype = array_head(stream, info)
        order: Literal["C", "F"] = "F" if fortran else "C"
        if mmap and 0 not in shape:
            while verify and stream.read(_CHUNK):  # at the end the archive compares its checksum
                pass
            size = dtype.itemsize * math.prod(shape)
            source: Any = archive.fp
            offset = data_start(source, info) + info.file_size - size
            return np.memmap(source, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
        # Read to the very end, where the archive compares its checksum.
        return np.frombuffer(bytearray(stream.read()), dtype).reshape(shape, order=order)


def array_head(stream: Any, info: zipfile.ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of a stored array, whose data must fill the rest of the entry exactly."""
    if np.lib.format.read_magic(stream) != (1, 0):
        raise PersistError(f"entry {info.filename} has an unknown array version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise PersistError(f"entry {info.filename} holds pickled objects, which are never read")
    if stream.tell() + dtype.itemsize * math.prod(shape) != info.file_size:
        raise PersistError(f"entry {info.filename} is damaged")
    return shape, fortran, dtype


def data_start(stream: Any, info: zipfile.ZipInfo) -> int:
    """Where the bytes of an entry start in the file: after its local header, name and extra field."""
    stream.seek(info.header_offset)
    local = stream.read(30)
    lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    return info.header_offset + 30 + lengths


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, list | tuple):
        return [_encode(item, arrays) for item in value]
    return _encode_object(value, arrays)


def _encode_object(value: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if isinstance(value, np.ndarray):
        return {"array": _put(value, arrays)}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": list(csr.shape)}
        return {"csr": _encode(parts, arrays)}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    return {"kind": _kind_of(value), "state": _encode(value._state(), arrays)}


def _put(value: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    """Keep an array beside the header; returns its name there."""
    if value.dtype.hasobject:
        raise TypeError("save: arrays of Python objects cannot be stored without pickle.")
    name = f"array{len(arrays)}"
    arrays[name] = value
    return name


def _kind_of(value: Any) -> str:
    """The name under which files keep values of a class."""
    if stored_class(type(value).__name__) is type(value):
        return type(value).__name__
    if callable(value):
        raise TypeError(
            f"save: cannot store a function, {getattr(value, '__name__', value)!r}, which a file would have to run; "
            "pickle the metric where that function can be imported (joblib.dump), keep metric.transform(X), or take "
            "a kernel of gramian, such as Precomputed of the matrix of all objects."
        )
    raise TypeError(f"save: cannot store a {type(value).__name__}; only gramian values and plain data are stored.")


def _decode(node: Any, read: Callable[[str], np.ndarray]) -> Any:
    if isinstance(node, list):
        return [_decode(item, read) for item in node]
    if not isinstance(node, dict):
        return node
    if "array" in node:
        return read(node["array"])
    if "dict" in node:
        return {key: _decode(item, read) for key, item in node["dict"].items()}
    if "csr" in node:
        csr = _decode(node["csr"], read)
        matrix = sparse.csr_array((csr["data"], csr["indices"], csr["indptr"]), shape=tuple(csr["shape"]))
        matrix.check_format(full_check=True)  # indices out of range would crash compiled code later
        return matrix
    cls = stored_class(node["kind"])
    if cls is None:
        raise PersistError(f"it holds an unknown kind of value {node['kind']!r}")
    return cls._from_state(_decode(node["state"], read))


class Stored:
    """Mixin: ``save``, and a state made of the dataclass fields."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this value to ``path``; read it back with :func:`gramian.load`."""
        save(self, path)

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]  # a dataclass

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        return cls(**state)
