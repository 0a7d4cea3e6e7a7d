"""Every line of the guide that asks a server is one that it answers."""

import shlex
from pathlib import Path

import numpy as np
import pytest

import gramian as gm
from gramian.service import Space
from gramian.service.models import TextEncoder

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "serve.md"


def lines():
    """The curl lines of the page, in words."""
    text = PAGE.read_text(encoding="utf-8")
    A, C = "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/collections/things"
    return [
        shlex.split(line.replace("$C", C).replace("$A", A))
        for line in text.splitlines()
        if line.startswith("curl ") and "/events" not in line
    ]


def test_every_line_of_python_is_answered(served, space, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a metric is exported there
    code = PAGE.read_text(encoding="utf-8").partition("The same from Python,")[2].split("```py\n")[1].split("\n```")[0]
    code = (
        code.replace("http://127.0.0.1:8000", served.address)
        .replace("events()", "events(after=0)")
        .replace(" print", " break  # ")
    )
    lines = code.splitlines()
    assert len(lines) > 14
    names = {"gm": gm}
    for line in ["\n".join(lines[-2:]) if line is lines[-2] else line for line in lines[:-1]]:
        exec(line, names)
        if ".create(" in line:
            space.use_encoder("things", TextEncoder("len", lambda texts: np.ones((len(texts), 3)), 3))
        if line.startswith("for "):
            assert names["event"]["seq"] == 1
        elif "metric.gram" in line:
            assert gm.load("metric.gram").transform(np.eye(3)).shape == (3, 3)


def test_every_curl_line_is_answered(tmp_path):
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    encoder = TextEncoder("len", lambda texts: np.ones((len(texts), 3)), 3)
    with Space(tmp_path / "s", learning=False) as space:
        client = TestClient(create_app(space), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1))
        asked = set()
        for words in lines():
            method, body, at = "GET", None, None
            for place, word in enumerate(words[1:], 1):
                method = words[place + 1] if word == "-X" else "POST" if word == "-d" and method == "GET" else method
                body = words[place + 1] if word == "-d" else body
                at = word if word.startswith("http") else at
            headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
            found = client.request(method, at, content=body, headers=headers)
            assert found.status_code < 300, (words, found.text)
            asked.add((method, found.url.path))
            if at.endswith("/things") and method == "PUT":
                space.use_encoder("things", encoder)
        assert len(asked) >= 24
