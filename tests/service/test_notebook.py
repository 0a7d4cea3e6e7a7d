"""The page of a program: its space answers over HTTP, may be framed by a notebook, and goes away."""

import json
import sys
import types
import urllib.error
import urllib.request

import numpy as np
import pytest

pytest.importorskip("fastapi")

import gramian as gm  # noqa: E402
from gramian.service.errors import SpaceError  # noqa: E402

X = np.random.default_rng(0).standard_normal((6, 3))


def get(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read(), answer.headers


def test_a_space_is_shown_answers_and_goes_away():
    table = {"name": list("abcdef"), "year": np.array([1.0, 2, np.nan, 4, 5, 6])}
    space = gm.service.show(X, table, [bytes([i]) for i in range(6)], name="mine", browser=False)
    listed = json.loads(get(f"{space.address}/v1/collections/mine/items")[0])["items"]
    assert [row["meta"]["name"] for row in listed] == list("abcdef")
    assert listed[0]["meta"]["year"] == 1 and "year" not in listed[2]["meta"]  # gaps are no values
    content, headers = get(f"{space.address}/v1/collections/mine/items/3/image")
    assert content == bytes([3]) and "sandbox" in headers["Content-Security-Policy"]  # which keeps its own policy
    policy = get(f"{space.address}/readyz")[1]["Content-Security-Policy"]
    assert policy.startswith("frame-ancestors 'self'") and "localhost" in policy
    space.feedback("mine", query=0, item=1, like=True)
    assert space.address in space._repr_html_()
    folder = space.store.folder
    assert folder.is_dir()
    space.close()
    space.close()
    assert not folder.exists() and space._repr_html_() == "closed"
    with pytest.raises(urllib.error.URLError):
        get(f"{space.address}/readyz")


def test_in_a_notebook_the_page_is_a_frame_below_the_cell(monkeypatch):
    displayed = []
    display = types.ModuleType("IPython.display")
    display.IFrame = lambda *values, **named: (values, named)
    display.display = displayed.append
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    space = gm.service.show(X, height=500)
    space.close()
    assert displayed == [((space.address,), {"width": "100%", "height": 500})]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"meta": {"name": ["a"]}}, "a row for each of the 6 rows of X, got 1"),
        ({"meta": list("abcdef")}, "a dict of columns, or a list of dicts"),
        ({"images": [b"a"]}, "a picture for each of the 6 rows of X, got 1"),
        ({"features": ["a"]}, "each of the 3 columns of X, got 1 names"),
    ],
)
def test_what_does_not_fit_is_said(named, said):
    with pytest.raises(SpaceError, match=said):
        gm.service.show(X, browser=False, **named)


def test_arrays_become_pictures():
    pytest.importorskip("PIL")
    pixels = np.random.default_rng(0).random((6, 4, 4))
    space = gm.service.show(X, images=pixels, browser=False)
    content, _ = get(f"{space.address}/v1/collections/items/items/0/image")
    space.close()
    assert content.startswith(b"\x89PNG")
