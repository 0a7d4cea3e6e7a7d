import shutil

import pytest

import gramian as gm
from gramian.beside import attendant, log
from gramian.service import learning, troubles
from tests.beside.problems import InMemory, people, twisted

Q, X = twisted()


@pytest.fixture(scope="session")
def tried(tmp_path_factory):
    """A closed folder with a candidate that 60 searches taught."""
    folder = tmp_path_factory.mktemp("tried")
    with pytest.MonkeyPatch.context() as patch, gm.beside.Sidecar(InMemory(X), folder) as docs:
        patch.setattr(learning, "FIRST", 10**9)
        people(docs, Q, range(60))
        docs.learn()
    return folder


@pytest.fixture
def on_trial(tried, tmp_path):
    """A sidecar with that candidate."""
    shutil.copytree(tried, tmp_path / "trial")
    with gm.beside.Sidecar(InMemory(X), tmp_path / "trial") as docs:
        yield docs


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Pauses that nobody notices, and no learning by itself: tests ask for it."""
    for owner, name, value in (
        (troubles, "SHORTEST", 0.02),
        (troubles, "LONGEST", 0.05),
        (attendant, "PAUSE", 0.01),
        (learning, "FIRST", 10**9),
        (log, "FETCHED", 16),
    ):
        monkeypatch.setattr(owner, name, value)
