"""How much memory is left, asked before much of it is taken: one sentence in place of a crash half way."""

import os
from collections.abc import Iterator

MUCH = 1 << 28
"""Bytes below which nobody asks."""


def require(size: float, owner: str, what: str, remedy: str) -> None:
    """Raise one sentence unless ``size`` bytes for ``what`` are there."""
    if size < MUCH:
        return
    free = available()
    if size > free:
        raise ValueError(f"{owner}: {what} take about {size / 1e9:.3g} GB, {free / 1e9:.3g} GB are free; {remedy}.")


def available() -> float:
    """Bytes that this process may still take: free on the machine, and within its own limit."""
    return min((*_machine(), *_limit()), default=float("inf"))


def _machine() -> Iterator[float]:
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            fields = dict(line.split(":", 1) for line in stream)
        yield 1024.0 * int(fields["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        if "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
            yield float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _limit() -> Iterator[float]:
    """What a limit of the address space leaves."""
    try:
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        with open("/proc/self/statm", encoding="ascii") as stream:
            resident = int(stream.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return
    if soft != resource.RLIM_INFINITY:
        yield float(max(soft - resident, 0))
