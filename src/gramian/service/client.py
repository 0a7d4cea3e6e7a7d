"""A small client of ``gramian serve`` on the standard library."""

import base64
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _settings, _validate
from gramian.persist import replacing
from gramian.service.arguments import Dicts, Id, Ids, VersionName, checked
from gramian.service.errors import SpaceError


class Refused(SpaceError):
    """An answer that is not a success, with its status."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


@checked
class Client:
    """Asks and teaches a space over HTTP, with the words of :class:`~gramian.service.Space`.

    Parameters
    ----------
    address : str
        Where ``gramian serve`` answers, such as ``"http://127.0.0.1:8000"``.
    token : str, optional
    timeout : float
        Seconds to wait for an answer.

    Examples
    --------
    >>> import gramian as gm
    >>> client = gm.service.Client("http://127.0.0.1:8000")
    >>> client.address
    'http://127.0.0.1:8000'
    """

    def __init__(
        self, address: str = "http://127.0.0.1:8000", token: str | None = None, timeout: _settings.Positive = 60.0
    ) -> None:
        self.address = address.rstrip("/")
        self.token = token
        self.timeout = timeout

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Send a request; returns what the JSON of the answer holds, or its bytes."""
        with opened(self, method, path, body, headers or {}) as answer:
            content = answer.read()
            return json.loads(content) if answer.headers.get_content_type() == "application/json" else content

    def collections(self) -> list[dict[str, Any]]:
        """All collections."""
        return self.request("GET", "/v1/collections")["collections"]

    def create(self, name: str, n_features: _settings.Count) -> dict[str, Any]:
        """Make a collection."""
        return self.request("PUT", _path(name), {"n_features": n_features})

    def add(
        self, name: str, X: Any, ids: Ids | None = None, *, meta: Dicts | None = None, upsert: bool = False
    ) -> dict[str, Any]:
        """Add items; ids default to the next free ones."""
        rows: list[dict[str, Any]] = [{"x": x} for x in _rows(X)]
        for row, number in zip(rows, ids if ids is not None else ()):
            row["id"] = _validate.number(number, "Client", "ids", integer=True)
        for row, about in zip(rows, meta if meta is not None else ()):
            row["meta"] = about
        return self.request("POST", _path(name, "items"), {"items": rows, "upsert": upsert})

    def remove(self, name: str, id: Id) -> dict[str, Any]:
        """Remove an item."""
        return self.request("DELETE", _path(name, "items", id))

    def item(self, name: str, id: Id) -> dict[str, Any]:
        """An item with its vector and meta."""
        return self.request("GET", _path(name, "items", id))

    def query(self, name: str, x: Any = None, **asked: Any) -> dict[str, Any]:
        """The most similar items, as :meth:`Space.query`."""
        point = {} if x is None else {"x": _validate.vector(x, "Client", "x").tolist()}
        return self.request("POST", _path(name, "query"), {**point, **asked})

    def feedback(
        self, name: str, query: Any, item: Id, like: bool | None, *, key: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Say that an item is (not) like a query; with a ``key`` it may be sent again without harm."""
        body = {"query": query, "item": item, "like": like, **more}
        return self.request("POST", _path(name, "feedback"), body, {"Idempotency-Key": key} if key else None)

    def undo(self, name: str, seq: Id) -> dict[str, Any]:
        """Take a click back."""
        return self.request("DELETE", _path(name, "feedback", seq))

    def versions(self, name: str) -> dict[str, Any]:
        """All versions with their records in duels."""
        return self.request("GET", _path(name, "versions"))

    def learn(self, name: str, **wanted: Any) -> dict[str, Any]:
        """Learn a candidate now."""
        return self.request("POST", _path(name, "versions"), wanted)

    def activate(self, name: str, version: VersionName) -> dict[str, Any]:
        """Let a version answer."""
        return self.request("POST", _path(name, "versions", version, "activate"))

    def transform(self, name: str, X: Any) -> list[list[float]]:
        """Coordinates of points under the active version."""
        return self.request("POST", _path(name, "transform"), {"x": _rows(X)})["z"]

    def map(self, name: str, version: VersionName = "active") -> np.ndarray:
        """All items in the plane, float32 (n, 2), in the order of ascending ids."""
        return np.frombuffer(self.request("GET", _path(name, f"map?version={version}")), "<f4").reshape(-1, 2)

    def search(self, name: str, text: str, k: int = 24, version: VersionName = "active") -> dict[str, Any]:
        """Items whose names and meta hold all words, with squared distances to the best of them."""
        return self.request("GET", _path(name, f"search?text={_quoted(text)}&k={k}&version={version}"))

    def export(self, name: str, path: _settings.Path, version: Id) -> None:
        """Write the metric of a version to a file that :func:`gramian.load` reads."""
        with replacing(Path(path), "Client") as beside:
            beside.write_bytes(self.request("GET", _path(name, "versions", version, "export")))

    def encode(self, name: str, text: str | None = None, image: bytes | None = None) -> np.ndarray:
        """The vector of a text, or of the bytes of a picture, where the collection has an encoder."""
        body = {"text": text, "image": None if image is None else base64.b64encode(image).decode()}
        return np.array(self.request("POST", _path(name, "encode"), body)["x"])

    def events(self, after: _settings.Index | None = None) -> Iterator[dict[str, Any]]:
        """Events as they come, those after a number first; ends when the server does."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        with opened(self, "GET", "/v1/events", None, headers) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])


def opened(client: "Client", method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    """The answer to a request, to be read; one that is not a success raises :class:`Refused`."""
    data = None if body is None else _json(body)
    sent = {"Content-Type": "application/json", **headers}
    if client.token is not None:
        sent["Authorization"] = f"Bearer {client.token}"
    try:
        request = urllib.request.Request(client.address + path, data, sent, method=method)
        return urllib.request.urlopen(request, timeout=client.timeout)
    except urllib.error.HTTPError as error:
        raise Refused(error.code, _detail(error)) from error
    except urllib.error.URLError as error:
        raise ConnectionError(f"Client: no answer at {client.address} ({error.reason}); is the server up?") from error
    except http.client.InvalidURL as error:
        raise SpaceError(f"Client: {path!r:.80} cannot be asked for ({error}).") from error


def _path(name: str, *parts: Any) -> str:
    return "/".join(["/v1/collections", _quoted(name), *map(str, parts)])


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _rows(X: Any) -> list[list[float]]:
    return _validate.points(X, "Client", allow_sparse=False).tolist()


def _json(body: Any) -> bytes:
    """A body as bytes, numbers and arrays of NumPy among it."""
    try:
        return json.dumps(body, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise SpaceError(f"Client: a request must be what JSON can hold ({error}).") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return json.loads(error.read())["detail"]
    except (ValueError, KeyError):
        return f"Client: the server answered {error.code} {error.reason}."
