"""Save and load values as a zip of JSON and .npy: no pickle, versioned, written atomically.

A value says what to store with ``_state() -> dict`` of numbers, strings, lists, arrays, sparse arrays and other
such values, and is rebuilt by the class method ``_from_state(state)``. Only public names of the package
are ever built from a file, so a foreign file runs nothing.
"""

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

FORMAT = "gramian"
VERSION = 1
_ALIGN = 64


class PersistError(ValueError):
    """A file that cannot be read as a gramian value."""


def save(obj: Any, path: str | os.PathLike) -> None:
    """Write ``obj`` (a metric, kernel, index or model of this package) to ``path``.

    The file is written beside ``path`` and then moved over it, so a crash leaves the old file as it was.

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
    header = {"format": FORMAT, "version": VERSION, "value": _encode(obj, arrays)}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent or Path("."), prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, header, arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike, *, mmap: bool = False) -> Any:
    """Read what :func:`save` wrote. With ``mmap=True`` large arrays stay on disk until they are touched."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"load: no file at {str(source)!r}.")
    try:
        with zipfile.ZipFile(source) as archive:
            header = json.loads(archive.read("header.json"))
            if header.get("format") != FORMAT:
                raise PersistError("its header is not ours")
            if header.get("version", 0) > VERSION:
                raise PersistError(f"it has format version {header['version']}, newer than {VERSION}; upgrade gramian")
            return _decode(header["value"], lambda name: _read_array(archive, source, name, mmap))
    except PersistError as error:
        raise PersistError(f"load: {str(source)!r} is not a readable gramian file: {error}.") from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, OSError, AttributeError) as error:
        raise PersistError(
            f"load: {str(source)!r} is not a readable gramian file ({type(error).__name__}: {error})."
        ) from error


def _write(stream: Any, header: dict, arrays: dict[str, np.ndarray]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            # 30 bytes of local header, the name, 20 bytes of zip64 sizes: then the array, aligned for mmap.
            info.extra = _padding(stream.tell() + 30 + len(info.filename) + 20)
            with archive.open(info, "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, version=(1, 0), allow_pickle=False)


def _padding(offset: int) -> bytes:
    """An ignorable zip extra field (4 bytes of head) that ends at a multiple of the alignment."""
    size = -(offset + 4) % _ALIGN
    return b"\x47\x4d" + size.to_bytes(2, "little") + b"\0" * size


def _read_array(archive: zipfile.ZipFile, source: Path, name: str, mmap: bool) -> np.ndarray:
    entry = f"{name}.npy"
    if not mmap:
        return np.lib.format.read_array(io.BytesIO(archive.read(entry)), allow_pickle=False)
    info = archive.getinfo(entry)
    with open(source, "rb") as stream:
        stream.seek(info.header_offset)
        local = stream.read(30)
        if len(local) < 30 or local[:4] != b"PK\x03\x04" or info.compress_type != zipfile.ZIP_STORED:
            raise PersistError(f"entry {entry} cannot be memory-mapped")
        start = info.header_offset + 30 + int.from_bytes(local[26:28], "little")
        start += int.from_bytes(local[28:30], "little")
        stream.seek(start)
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise PersistError(f"entry {entry} has an unknown array version")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.hasobject or stream.tell() - start + dtype.itemsize * int(np.prod(shape)) > info.file_size:
            raise PersistError(f"entry {entry} is damaged")
        if 0 in shape:
            return np.zeros(shape, dtype)
        offset = stream.tell()
        return np.memmap(source, dtype=dtype, mode="r", offset=offset, shape=shape, order="F" if fortran else "C")


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("save: arrays of Python objects cannot be stored without pickle.")
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": list(csr.shape)}
        return {"csr": _encode(parts, arrays)}
    if isinstance(value, list | tuple):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, dict):
        return {"dict": {str(key): _encode(item, arrays) for key, item in value.items()}}
    if import_module("gramian")._stored_class(type(value).__name__) is type(value):
        return {"kind": type(value).__name__, "state": _encode(value._state(), arrays)}
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
        return sparse.csr_array((csr["data"], csr["indices"], csr["indptr"]), shape=tuple(csr["shape"]))
    cls = import_module("gramian")._stored_class(node["kind"])
    if cls is None:
        raise PersistError(f"it holds an unknown kind of value {node['kind']!r}")
    return cls._from_state(_decode(node["state"], read))


class Stored:
    """Mixin: ``save``, and a state made of the dataclass fields."""

    def save(self, path: str | os.PathLike) -> None:
        """Write this value to ``path``; read it back with :func:`gramian.load`."""
        save(self, path)

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        return cls(**state)
