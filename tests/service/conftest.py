"""Spaces with items, and a client in front of them."""

import threading

import numpy as np
import pytest

from gramian.service import Client, Space

N, D = 120, 6


@pytest.fixture
def points():
    return np.random.default_rng(7).standard_normal((N, D))


@pytest.fixture
def space(tmp_path, points):
    """A collection "a" of 120 items with the ids 1 to 120."""
    with Space(tmp_path / "space", learning=False) as space:
        space.create("a", D)
        meta = [{"color": ("red", "green")[i % 2], "number": i} for i in range(N)]
        space.add("a", points, list(range(1, N + 1)), meta=meta)
        yield space


def teach(space, n=60, seed=0, **more):
    """Clicks of a person for whom only the first two features count."""
    rng = np.random.default_rng(seed)
    view = space.collection("a")
    seqs = []
    for _ in range(n):
        query, item = (int(i) for i in rng.choice(view.ids, 2, replace=False))
        near = np.abs(view.points([query])[0][:2] - view.points([item])[0][:2]).max() < 0.7
        seqs.append(space.feedback("a", query, item, bool(near), **more)["seq"])
    return seqs


@pytest.fixture
def http(space):
    """A client of the open server on this machine."""
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    with TestClient(create_app(space), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)) as client:
        yield client


@pytest.fixture
def served(space):
    """The space behind a real server; a client of it."""
    pytest.importorskip("fastapi")
    import uvicorn

    from gramian.service.http import create_app
    from gramian.service.http.app import bind

    listener = bind("127.0.0.1", 0)
    config = uvicorn.Config(create_app(space), log_level="warning", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield Client(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=10)
    server.should_exit = True
    thread.join()
    listener.close()
