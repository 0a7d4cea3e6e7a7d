"""A space and a .gram file read by the pages that document them, with the standard library and numpy alone."""

import ast
import json
import sqlite3
import zipfile
import zlib

import numpy as np


def npy(data):
    """The array in the bytes of a .npy file of version 1."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    length = int.from_bytes(data[8:10], "little")
    head = ast.literal_eval(data[10 : 10 + length].decode("latin1"))
    X = np.frombuffer(data[10 + length :], head["descr"])
    return X.reshape(head["shape"], order="F" if head["fortran_order"] else "C")


def gram(path):
    """Kind and state of the value in a file: plain data, arrays, and (kind, state) of the values within."""
    with zipfile.ZipFile(path) as archive:
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
        header = json.loads(archive.read("header.json"))
        assert (header["format"], header["version"]) == ("gramian", 1)

        def value(node):
            if isinstance(node, list):
                return [value(one) for one in node]
            if not isinstance(node, dict):
                return node
            if "array" in node:
                return npy(archive.read(f"{node['array']}.npy"))
            if "dict" in node:
                return {name: value(one) for name, one in node["dict"].items()}
            if "csr" in node:
                return "csr", value(node["csr"])
            return node["kind"], value(node["state"])

        return value(header["value"])


def space(folder):
    """What a closed space holds, by collection: items, clicks, versions and which of them answers; and its events."""
    db = sqlite3.connect(f"file:{folder / 'space.db'}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    tables = {name: rows(db, name) for name in ("events", "collections", "items", "parts", "feedback", "versions")}
    db.close()
    events = [(row["seq"], row["op"], json.loads(row["data"])) for row in tables["events"]]
    assert [seq for seq, _, _ in events] == list(range(1, len(events) + 1))
    found = {}
    for own in tables["collections"]:
        inside = {name: [row for row in tables[name] if row["collection"] == own["number"]] for name in IN}
        X = np.concatenate([vectors(folder, part, own["n_features"]) for part in inside["parts"]] or [np.zeros((0, 1))])
        items = {r["id"]: (X[r["row"]].astype(float).tolist(), json.loads(r["meta"] or "{}")) for r in inside["items"]}
        clicks = {r["seq"]: (query(r), r["item"], bool(r["liked"]), r["undone"]) for r in inside["feedback"]}
        metrics = {r["number"]: gram(folder / "metrics" / r["file"])[1]["components"] for r in inside["versions"]}
        found[own["name"]] = {"items": items, "clicks": clicks, "metrics": metrics, "active": own["active"]}
    return found, events


IN = ("items", "parts", "feedback", "versions")


def rows(db, table):
    """All rows of a table in the order of its key, each as its checksum says; vectors have one of their own."""
    listed = db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
    for row in listed:
        values = [row[name] for name in row.keys() if name != "row_sum" and (table, name) != ("parts", "x")]  # noqa: SIM118
        assert row["row_sum"] == zlib.crc32("\x1f".join(map(repr, values)).encode()), (table, values)
    return listed


def vectors(folder, part, width):
    """The rows of a part, in a file or in the database."""
    data = part["x"] if part["file"] is None else (folder / "vectors" / part["file"]).read_bytes()
    X = np.frombuffer(data, part["dtype"]).reshape(-1, width) if part["file"] is None else npy(data)
    assert zlib.crc32(X.tobytes()) == part["sum"] and len(X) == part["n_rows"]
    return X


def query(row):
    """What a click was about: an item, or a vector."""
    return row["query_id"] if row["query_x"] is None else np.frombuffer(row["query_x"]).tolist()
