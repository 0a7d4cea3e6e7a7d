"""Arguments and options of the commands, each with what a person should know about it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

TABLE, LEARNER, RESULT = "The table", "The learner", "The result"
START, LEARN, USE = "Start here", "Learn a distance, and see whether it is better", "Use a learned distance"
"""Groups of commands."""


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["Examples:", *lines] if lines else [])


def _option(help: str, *names: str, metavar: str | None = None, panel: str | None = None, **limits: Any) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **limits)


FORMATS = "A file: .csv (or .csv.gz), .npy, .npz (arrays X and y) or .parquet."
Data = Annotated[Path, typer.Argument(metavar="TABLE", show_default=False, help=FORMATS)]
Model = Annotated[Path, typer.Argument(metavar="METRIC", show_default=False, help="A file that gramian fit wrote.")]
EXPORTED = "A file that gramian fit wrote, or the folder of a space."
Exported = Annotated[Path, typer.Argument(metavar="METRIC", show_default=False, help=EXPORTED)]

LABEL = "The column of labels: its name, its number (-1 is the last), an array of the .npz, or a file of labels."
Label = Annotated[str | None, _option(LABEL, "--label", "-l", metavar="COLUMN", panel=TABLE)]
DROP = "Leave this column out. May be repeated, or hold several: a,b."
Drop = Annotated[list[str] | None, _option(DROP, metavar="COLUMN", panel=TABLE)]


class Gaps(StrEnum):
    """What becomes of cells that hold nothing."""

    refuse = "refuse"
    drop = "drop"
    median = "median"


GAPS = "Cells without a value: refuse says where they are, drop leaves their rows out, median fills them in."
Missing = Annotated[Gaps, _option(GAPS, "--missing", panel=TABLE)]
GAPS_AGAIN = "As in gramian fit; when absent, median where the fit filled gaps in, otherwise refuse."
MissingAgain = Annotated[Gaps | None, _option(GAPS_AGAIN, "--missing", panel=TABLE)]
ABSENT = "A word that stands for a cell without a value, beside na, n/a, nan, null, none and ?. May be repeated."
Absent = Annotated[list[str] | None, _option(ABSENT, "--na", metavar="WORD", panel=TABLE)]
Standardize = Annotated[bool, _option("Give every column unit variance first.", "--standardize", panel=TABLE)]
Along = Annotated[str | None, _option("Copy this column of labels along.", "--label", "-l", metavar="COLUMN")]

Learner = Annotated[
    str, _option("Which learner; auto tries them, gramian learners lists them.", metavar="NAME", panel=LEARNER)
]
Learners = Annotated[
    list[str] | None, _option("May be repeated to compare; auto when absent.", metavar="NAME", panel=LEARNER)
]
SETTING = "A setting of the learner, as gamma=0.1. May be repeated."
Set = Annotated[list[str] | None, _option(SETTING, "--set", metavar="NAME=VALUE", panel=LEARNER)]
KERNEL = "Learn in the feature space of a kernel: gaussian (of median width), gaussian:2.5, polynomial:2, …"
Kernel = Annotated[str | None, _option(KERNEL, metavar="KERNEL", panel=LEARNER)]
RANK = "With --kernel: the number of coordinates; 300 at most when absent."
Rank = Annotated[int | None, _option(RANK, metavar="R", panel=LEARNER, min=1)]
Seed = Annotated[int, _option("Seed of everything random.", metavar="N", panel=LEARNER, min=0)]


class Sides(StrEnum):
    """What an adapter maps."""

    query = "query"
    both = "both"


QueryVectors = Annotated[Path, typer.Argument(help="Vectors of queries, .npy (n, d).", metavar="QUERIES")]
DocumentVectors = Annotated[Path, typer.Argument(help="Vectors of documents, .npy (m, d).", metavar="DOCUMENTS")]
Answers = Annotated[
    Path | None, typer.Argument(help="Vectors of documents, where DATA are those of queries.", metavar="[DOCUMENTS]")
]
MATCHES = "CSV: a row of queries, a row of documents that answers it and, if need be, a weight; row by row when absent."
Matches = Annotated[Path | None, _option(MATCHES, "--matches", metavar="CSV")]
Side = Annotated[Sides, _option("What is mapped; with query an index of documents stays as it is.", "--side")]
Documents = Annotated[bool, _option("Of an adapter: the map of documents, not of queries.", "--documents")]
AdapterOutput = Annotated[Path, _option("Where to save the adapter.", "--output", "-o", metavar="FILE", panel=RESULT)]

Output = Annotated[Path, _option("Where to save the metric.", "--output", "-o", metavar="FILE", panel=RESULT)]
Neighbors = Annotated[int, _option("Neighbors that vote.", "--neighbors", "-k", metavar="K", panel=RESULT, min=1)]
Folds = Annotated[int, _option("Parts of the cross-validation.", "--folds", metavar="N", panel=RESULT, min=2)]
AsJson = Annotated[bool, _option("Print the numbers of every fold, for programs.", "--json", panel=RESULT)]
WRITTEN = "Where to write; standard output, as CSV, when absent."
Written = Annotated[Path | None, _option(WRITTEN, "--output", "-o", metavar="FILE")]
Drawn = Annotated[Path | None, _option("Draw the scores of all folds here.", "--plot", metavar="PNG", panel=RESULT)]
Picture = Annotated[Path | None, _option("Save a heat map of the matrix here.", "--plot", metavar="PNG")]
Folder = Annotated[Path, _option("Where to put what the demonstration makes.", "--out", "-o", metavar="FOLDER")]

TO = (
    "onnx, torch, sentence-transformers, sklearn, npz, json (the map); faiss, hnswlib, usearch (indexes); pgvector, "
    "qdrant, lancedb, milvus, chroma, duckdb, parquet, elasticsearch, opensearch, weaviate (tables)."
)
To = Annotated[str | None, _option(TO, "--to", metavar="TARGET", show_default=False)]
POINTS = "The points: .npy, .npz (X, ids), .csv, .parquet (columns, or one of vectors). Not for models."
Points = Annotated[Path | None, _option(POINTS, "--data", metavar="FILE")]
PLACE = "Where to write: a file, a folder (databases, sentence-transformers), an address, or - (pgvector)."
Place = Annotated[str | None, _option(PLACE, "--output", "-o", metavar="OUT")]
Check = Annotated[bool, _option("Ask what was written 100 queries and compare with ours.", "--check")]
CheckOnly = Annotated[bool, _option("Write nothing: check what is there.", "--check-only")]
Form = Annotated[
    str | None, _option("vector: E(x) is stored; query: x and xᵀMx, asked with q' = Mq.", metavar="FORM", panel=RESULT)
]
TableName = Annotated[str | None, _option("The table or collection; items when absent.", "--table", metavar="NAME")]
Kind = Annotated[str | None, _option("faiss: flat, ivf, hnsw, lsh or a factory string.", "--kind", metavar="KIND")]
Original = Annotated[bool | None, _option("Store the points beside the learned vectors.", "--original/--no-original")]
Ids = Annotated[str | None, _option("The column of ids; id where there is one.", "--id", metavar="COLUMN", panel=TABLE)]
Vectors = Annotated[str | None, _option("Parquet: the column of vectors.", "--column", metavar="COLUMN", panel=TABLE)]
Unlearned = Annotated[str | None, _option("Leave this column of labels out.", "--label", "-l", panel=TABLE)]

State = Annotated[Path, _option("Folder of the state, made when absent.", metavar="FOLDER", show_default=False)]
Eta = Annotated[float | None, _option("Step size of LEGO in a new folder; chosen when absent.", metavar="ETA")]
Bits = Annotated[int | None, _option("Bits of the hash in a new folder; 256 when absent.", metavar="B")]
Events = Annotated[
    Path | None, _option("Run this file of events and draw throughput, recall and loss.", metavar="FILE")
]
