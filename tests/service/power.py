"""Power loss: the calls of a process to the system are recorded, and a disk is made as it may be after any of them.

A disk keeps what was waited for (fsync). Of the rest it keeps, page by page or sector by sector, nothing, all or some;
of names that were not waited for nothing, all, those up to some moment, or any. ``strace`` records.
"""

import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PAGE, SECTOR = 4096, 512
CALLS = """
    open openat creat close dup dup2 dup3 fcntl read pread64 readv write pwrite64 writev pwritev lseek ftruncate
    truncate fallocate fsync fdatasync rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir
    copy_file_range sendfile
"""
IGNORED = {"read", "pread64", "readv"}
LINE = re.compile(r"^(\d+\.\d+) (\w+)\((.*)\)\s+= (-?\d+)(?: .*)?<(\d+\.\d+)>$")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
DATA = ("gone", "kept", "some pages", "some sectors")
"""What may become of data that were not waited for."""
ENTRIES = ("gone", "kept", "in order", "any")
"""What may become of names that were not waited for; "in order" is a file system with a journal."""


@dataclass
class Call:
    """A call to the system: its values, what it returned, and when."""

    name: str
    values: str
    result: int
    start: float
    end: float

    @property
    def texts(self):
        """Its strings, as bytes."""
        found = TEXT.findall(self.values)
        assert not any(cut for _, cut in found), "strace has cut a string"
        return [bytes.fromhex(text.replace("\\x", "")) for text, _ in found]

    @property
    def numbers(self):
        """Its values that are whole numbers, in their order, without the strings."""
        return [int(n) for n in re.findall(r"(?<![\w\\])-?\d+(?!\w)", TEXT.sub("", self.values))]


def recorded(module, *values, env=None):
    """The calls of ``python -m module values``, in the order in which they ended."""
    place = Path(values[-1]).parent / "trace"
    place.mkdir()
    what = [
        "strace",
        "-ff",
        "--seccomp-bpf",
        "-qq",
        "-xx",
        "-s",
        str(1 << 28),
        "-T",
        "-e",
        f"trace={','.join(CALLS.split())}",
    ]
    when = ["--absolute-timestamps=format:unix,precision:ns", "--syscall-times=ns", "-e", "signal=none"]
    command = [*what, *when, "-o", str(place / "t"), sys.executable, "-m", module, *map(str, values)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    calls = []
    for path in place.iterdir():
        for line in path.read_text().splitlines():
            match = LINE.match(line)
            if match is None or int(match[4]) < 0:  # one that failed did nothing
                continue
            start, name, inside, result, seconds = match.groups()
            calls.append(Call(name, inside, int(result), float(start), float(start) + float(seconds)))
    shutil.rmtree(place)
    return sorted(calls, key=lambda call: call.start if call.name in ("close", "write") else call.end)


@dataclass
class File:
    """What the process wrote, and what of it was waited for."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list = field(default_factory=list)
    size: int = 0

    def content(self, keep, rng):
        """The bytes that a disk may have."""
        data = bytearray(self.durable)
        for _, at, piece in self.pending:
            for begin, end in blocks(at, len(piece or b""), PAGE if keep == "some pages" else SECTOR):
                if keep == "kept" or (keep != "gone" and rng.random() < 0.5):
                    put(data, begin, piece and piece[begin - at : end - at])
        return bytes(data)


def blocks(at, length, size):
    """Where the blocks of some bytes begin and end."""
    edges = sorted({at, at + length, *range(at // size * size + size, at + length, size)})
    return zip(edges[:-1], edges[1:]) if length else [(at, at)]


def put(data, at, piece):
    """Write some bytes, also behind the end; None cuts off what is behind."""
    if piece is None:
        del data[at:]
        return
    if len(data) < at:
        data.extend(bytes(at - len(data)))
    data[at : at + len(piece)] = piece


@dataclass
class Folder:
    """Names as the process sees them and as they were waited for, and changes since: number, name, what it is."""

    now: dict = field(default_factory=dict)
    durable: dict = field(default_factory=dict)
    pending: list = field(default_factory=list)

    def entries(self, keep, journal, rng):
        """The names that a disk may have."""
        names = dict(self.durable)
        for number, name, thing in self.pending:
            kept = {"gone": False, "kept": True, "in order": number <= journal, "any": rng.random() < 0.5}[keep]
            if kept and thing is None:
                names.pop(name, None)
            elif kept:
                names[name] = thing
        return names


class Disk:
    """A folder as the calls of a process change it; ``said`` is what the process had written to its output."""

    def __init__(self, root):
        self.root, self.tree = Path(root), Folder()
        self.handles = {1: "out"}
        self.said, self.number, self.journal = b"", 0, 0

    def find(self, path):
        """The file or folder at a path, None outside of the root or where nothing is."""
        here = self.tree
        for name in self.parts(path) or ():
            here = here.now.get(name) if isinstance(here, Folder) else None
        return here if self.parts(path) is not None else None

    def parts(self, path):
        path = Path(path.decode() if isinstance(path, bytes) else path)
        path = path if path.is_absolute() else Path.cwd() / path
        return path.relative_to(self.root).parts if path.is_relative_to(self.root) else None

    def name(self, path, thing):
        """Let a path be something, or nothing (None)."""
        *above, name = self.parts(path)
        folder = self.find(self.root.joinpath(*above))
        self.number += 1
        folder.pending.append((self.number, name, thing))
        if thing is None:
            folder.now.pop(name, None)
        else:
            folder.now[name] = thing

    def happen(self, call):
        """One call; whether it changed what is on the disk."""
        make = getattr(self, f"do_{ALIASES.get(call.name, call.name)}", None)
        assert make is not None or call.name in IGNORED, call
        return bool(make and make(call))

    def do_open(self, call):
        path = call.texts[-1]
        inside = self.parts(path) is not None and b"\0" not in path
        thing = self.find(path) if inside else None
        changed = False
        if inside and thing is None:
            thing, changed = File(), True
            self.name(path, thing)
        if isinstance(thing, File) and "O_TRUNC" in call.values and thing.size:
            raise AssertionError("a file is truncated in its place")
        self.handles[call.result] = None if thing is None else [thing, 0]
        return changed

    def do_close(self, call):
        self.handles.pop(call.numbers[0], None)

    def do_dup(self, call):
        self.handles[call.result] = self.handles.get(call.numbers[0])

    def do_fcntl(self, call):
        if "F_DUPFD" in call.values:
            self.do_dup(call)

    def do_lseek(self, call):
        handle = self.handles.get(call.numbers[0])
        if handle:
            handle[1] = call.result

    def do_write(self, call):
        handle, data = self.handles.get(call.numbers[0]), b"".join(call.texts)[: call.result]
        if handle == "out":
            self.said += data
            return False
        if not handle:
            return False
        file, at = handle
        positioned = call.name.startswith("p")
        at = call.numbers[-1] if positioned else at
        file.pending.append((call.end, at, data))
        file.size = max(file.size, at + len(data))
        if not positioned:
            handle[1] = at + len(data)
        return True

    def do_ftruncate(self, call):
        handle, size = self.handles.get(call.numbers[0]), call.numbers[-1]
        if not handle:
            return False
        file = handle[0]
        file.pending.append((call.end, size, None if size < file.size else b""))
        file.size = size
        return True

    def do_fsync(self, call):
        handle = self.handles.get(call.numbers[0])
        if not handle:
            return False
        thing = handle[0]
        self.journal = self.number  # a journal is written as a whole
        if isinstance(thing, Folder):
            thing.durable, thing.pending = dict(thing.now), []
            return True
        for end, at, piece in thing.pending:
            if end <= call.start:
                put(thing.durable, at, piece)
        thing.pending = [write for write in thing.pending if write[0] > call.start]
        return True

    def do_rename(self, call):
        source, target = call.texts
        if self.parts(source) is None:
            return False
        thing = self.find(source)
        self.name(target, thing)
        self.name(source, None)
        return True

    def do_unlink(self, call):
        path = Path(call.texts[-1].decode())
        if not path.is_absolute() and "AT_FDCWD" not in call.values and call.name == "unlinkat":
            raise AssertionError("relative to a folder")
        if self.parts(path) is None:
            return False
        self.name(path, None)
        return True

    def do_mkdir(self, call):
        if self.parts(call.texts[-1]) is None:
            return False
        self.name(call.texts[-1], Folder())
        return True

    def image(self, target, data, entries, rng):
        """Write what the disk may have to a folder."""
        journal = rng.randint(self.journal, self.number)

        def write(folder, place):
            place.mkdir(exist_ok=True)
            for name, thing in folder.entries(entries, journal, rng).items():
                if isinstance(thing, Folder):
                    write(thing, place / name)
                else:
                    (place / name).write_bytes(thing.content(data, rng))

        write(self.tree, Path(target))


ALIASES = {"openat": "open", "creat": "open", "fdatasync": "fsync", "pwrite64": "write", "writev": "write"}
ALIASES |= {"pwritev": "write", "dup2": "dup", "dup3": "dup", "fallocate": "ftruncate", "truncate": "truncated"}
ALIASES |= {"renameat": "rename", "renameat2": "rename", "unlinkat": "unlink", "rmdir": "unlink", "mkdirat": "mkdir"}


def losses(calls, root, seed=0):
    """Endless (disk, data, entries, generator): the disk at a random moment, and what shall become of the rest."""
    rng = random.Random(seed)
    changing = [number for number, changed in enumerate(map(Disk(root).happen, calls)) if changed]
    while True:
        disk, moment = Disk(root), rng.choice(changing)
        for call in calls[: moment + rng.randint(0, 1)]:
            disk.happen(call)
        yield disk, rng.choice(DATA), rng.choice(ENTRIES), rng
