"""Bad values for every argument of every public callable: it answers, or one sentence names the owner.

Nothing crashes, hangs, changes its arguments or is left half changed. A few values are tried here, many more with
``-m slow``; ``python -m tests.attack.test_callables SEED`` counts them.
"""

import contextlib
import copy
import os
import re
import signal
import sys
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from gramian.beside import Sidecar
from gramian.service import Client, Space
from tests.attack.callables import FOLDER, INSIDE, NO_CALL, NOT_ASKED, NOT_WALKED, calls
from tests.attack.outside import FOLDER as BESIDE
from tests.attack.outside import space

LIMIT_S = 20
"""CPU seconds after which a call hangs."""
ENDLESS = {"max_iter", "n_init", "reselect", "n_pretrain", "rounds", "n_splits", "n_pairs", "n", "n_bits", "n_dims"}
"""A huge number of rounds or points is what was asked for."""
SENTENCE = re.compile(r"^([A-Za-z_][\w.]*|This [A-Za-z]+ instance is not fitted yet.*): .+", re.DOTALL)
CHECKS = (os.sep + "gramian" + os.sep, os.path.join("sklearn", "utils"))
"""Where a sentence that has the words of another package may come from."""
EVERY = 17
"""Here one value in so many is tried, other ones for each argument."""


def bad_values(seed=0):
    """Values by name, made anew: a call may not change them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 4))
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "None": None,
        "a string": "word",
        "no string": "",
        "bytes": b"x",
        "NaN": np.nan,
        "infinity": np.inf,
        "minus infinity": -np.inf,
        "minus one": -1,
        "zero": 0,
        "one": 1,
        "a half": 0.5,
        "many": 10**30,
        "huge": 1e300,
        "tiny": 1e-300,
        "True": True,
        "a complex number": 1j,
        "an object": object(),
        "a function": lambda *given: None,
        "an empty list": [],
        "a tuple": (1,),
        "a dict": {"a": 1},
        "a set": {1, 2},
        "a list of strings": ["a", "b"],
        "a ragged list": [[1.0, 2.0], [3.0]],
        "no points": np.zeros((0, 4)),
        "no features": np.zeros((24, 0)),
        "a vector": rng.normal(size=4),
        "a long vector": rng.normal(size=24),
        "integers": rng.integers(0, 24, size=24),
        "negative integers": -rng.integers(1, 24, size=24),
        "large ids": np.array([2**63 + 5] * 24, dtype=np.uint64),
        "points": X,
        "read-only points": frozen,
        "float32 points": X.astype(np.float32),
        "points of another width": X[:, :3].copy(),
        "points with NaN": np.where(np.arange(96).reshape(24, 4) == 5, np.nan, X),
        "points with infinity": np.where(np.arange(96).reshape(24, 4) == 5, np.inf, X),
        "huge points": X * 1e200,
        "tiny points": X * 1e-200,
        "complex points": X + 1j,
        "points of text": X.astype(str).astype(object),
        "objects": np.array([object()] * 24),
        "three axes": rng.normal(size=(3, 2, 4)),
        "sparse points": sparse.csr_array(X),
        "a date": np.array(["2020-01-01"] * 24, dtype="datetime64[D]"),
        "a table": pd.DataFrame(X, columns=list("abcd")),
        "a table with gaps": pd.DataFrame(X).astype("Float64").mask(X > 1),
        "a column of text": pd.Series(["a", "b"] * 12),
        "no value": pd.NA,
        "sparse columns": sparse.csc_matrix(X),
        "sparse lists": sparse.lil_array(X),
        "a masked array": np.ma.masked_greater(X, 1.0),
        "half precision": X.astype(np.float16),
        "small integers": (10 * X).astype(np.int8),
        "a span of time": np.timedelta64(3, "D"),
        "what cannot be written": Unwritable(),
    }


class Unwritable:
    """A value that a sentence cannot show."""

    def __repr__(self):
        raise RuntimeError("no words")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A word may be a path: what a call makes there is not left beside the code."""
    monkeypatch.chdir(tmp_path)


class Hung(BaseException):
    """A call that takes too long."""


@contextlib.contextmanager
def limited(seconds=LIMIT_S):
    def stop(*given):
        raise Hung

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def same(a, b):
    """Whether two values hold the same numbers."""
    if sparse.issparse(a):
        return all(same(value, vars(b)[name]) for name, value in vars(a).items() if isinstance(value, np.ndarray))
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and not isinstance(a, str):
        return len(a) == len(b) and all(map(same, a, b))
    return True


def kept(value):
    """A copy to compare with later."""
    with contextlib.suppress(Exception):
        return copy.deepcopy(value)
    return value


def state(owner):
    """What an instance holds: values by name, arrays as bytes; of a space, the number of its events."""
    if isinstance(owner, Space | Client):
        return {"seq": space().seq}
    if isinstance(owner, Sidecar):
        return {"clicks": owner.report()["clicks"]}
    found = vars(owner) if hasattr(owner, "__dict__") else {}
    return {k: v.tobytes() if isinstance(v, np.ndarray) and v.dtype != object else id(v) for k, v in found.items()}


def complaint(call, argument, kind, value):
    """What is wrong with the outcome of a call with one bad value, None when nothing is."""
    owner, values = call.fresh()
    values[argument] = value
    copies, before = {name: kept(given) for name, given in values.items()}, state(owner)
    where = f"{call.name}({argument}={kind})"
    try:
        with limited(), contextlib.chdir(BESIDE), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call.run(owner, values)
    except Hung:
        return f"{where}: hangs"
    except Exception as error:
        after = state(owner)
        changed = [name for name, held in before.items() if after.get(name) != held and not name.startswith("_")]
        if changed:
            return f"{where}: failed and changed {changed}"
        if not is_said(error, call):
            return f"{where}: {type(error).__name__}: {' '.join(str(error).split()):.110}"
    if not all(same(copies[name], values[name]) for name in values):
        return f"{where}: changed its arguments"
    return None


def is_said(error, call):
    """Whether an error is a sentence of ours; another package's words for it must still come from a check."""
    if call.borrows and isinstance(error, RuntimeError) and "SDML" in str(error):
        return True  # what metric-learn raises there
    if not isinstance(error, ValueError | TypeError | ImportError | OSError):
        return False
    if isinstance(error, ImportError):
        return "gramian[" in str(error)
    if call.borrows and not one_sentence(str(error)):
        return any(part in traceback.extract_tb(error.__traceback__)[-1].filename for part in CHECKS)
    return one_sentence(str(error))


def one_sentence(text):
    """``Owner: …``, a path and what is wrong with the file there, or scikit-learn's "This … is not fitted yet"."""
    whole = bool(SENTENCE.match(text)) or text.startswith((f"{FOLDER}{os.sep}", f"{BESIDE}{os.sep}"))
    return (whole and "\n" not in text.strip()) or text.startswith("This ")


def complaints(call, every=1, first=0, seed=0):
    """All that is wrong with one call; and how many values were tried."""
    found, tried = [], 0
    for place, argument in enumerate(call.asked):
        for number, (kind, value) in enumerate(bad_values(seed).items()):
            if (number + place + first) % every or (kind in ("many", "huge") and argument in ENDLESS):
                continue
            tried += 1
            found.append(complaint(call, argument, kind, value))
    return [text for text in found if text], tried


@pytest.mark.filterwarnings("ignore")
def test_good_calls_are_good_and_leave_their_arguments_alone():
    for name, call in calls().items():
        owner, values = call.fresh()
        copies = {key: kept(value) for key, value in values.items()}
        try:
            call.run(owner, values)
        except ImportError as error:
            assert one_sentence(str(error)) or "gramian[" in str(error)
        assert all(same(copies[key], values[key]) for key in values), name


def test_every_exception_from_the_walk_has_a_reason():
    assert all({**NOT_WALKED, **NO_CALL, **NOT_ASKED}.values()) and not any(name.startswith("_") for name in INSIDE)


def test_a_few_bad_values_everywhere():
    found, total = [], 0
    for first, call in enumerate(calls().values()):
        wrong, tried = complaints(call, EVERY, first)
        found += wrong
        total += tried
    assert len(found) < 0.005 * total, "\n".join(found)
    assert not [text for text in found if "changed" in text or "hangs" in text]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_all_bad_values_everywhere(seed):
    found, total = [], 0
    for call in calls().values():
        wrong, tried = complaints(call, seed=seed)
        found += wrong
        total += tried
    assert len(found) < 0.005 * total, "\n".join(found)


if __name__ == "__main__":
    found, total = 0, 0
    for name, call in calls().items():
        if len(sys.argv) < 3 or name.startswith(tuple(sys.argv[2:])):
            wrong, tried = complaints(call, seed=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
            total += tried
            found += len(wrong)
            print(*wrong, sep="\n", flush=True)
    print(f"{found} of {total}")
