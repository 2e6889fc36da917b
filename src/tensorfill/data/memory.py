"""One memory budget, checked before anything large is allocated: by readers, from the size that a file claims, and by
methods, from the size of the tensor.

Design: the limit is `max_memory` if that was given, else a share of the memory that is free at that moment. `ask`
reserves nothing: each call is compared with the whole budget, so one call must name all that is needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

SHARE = 0.5  # of what is free; the rest is for copies that libraries make, and for other programs
PER_KNOWN = 500.0  # bytes that most methods take for each known entry
SMALL = 2**25  # 32 MiB are given without looking, unless a limit was set
CHUNK = 2**20  # bytes read at a time
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?", re.IGNORECASE)

_limit: ContextVar[int | None] = ContextVar("max_memory", default=None)


class BudgetError(MemoryError):
    """More memory would be needed than may be taken; the message is a sentence."""


def size_of(given: int | float | str) -> int:
    """A size as bytes: 2_000_000_000, "2GB", "1.5 GiB"."""
    found = SIZE.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is not None and found[2].lower() in UNITS:
        size = float(found[1]) * UNITS[found[2].lower()]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        size = float(given)
    else:
        size = 0.0
    if not 0 < size < 2**63:
        msg = f'max_memory must be a size > 0, like "4GB" or a number of bytes; got {given!r}.'
        raise ValueError(msg)
    return int(size)


@contextmanager
def limit_memory(given: int | str | None) -> Iterator[None]:
    """At most so much memory inside; None leaves the limit as it is."""
    if given is None:
        yield
        return
    token = _limit.set(size_of(given))
    try:
        yield
    finally:
        _limit.reset(token)


def budget() -> int:
    """Bytes that may be taken now."""
    given = _limit.get()
    return int(SHARE * free()) if given is None else given


def most_in_memory() -> int:
    """So many known entries may be in memory, and be completed there by most methods."""
    return int(max(budget(), SMALL if _limit.get() is None else 0) / PER_KNOWN)


def ask(need: float, what: str) -> None:
    """Raise BudgetError if `what` ("a picture of 9 x 9 pixels") needs more bytes than may be taken."""
    given = _limit.get()
    if need <= (SMALL if given is None else given):
        return
    limit = budget()
    if need <= limit:
        return
    why = f"{SHARE:.0%} of what is free" if given is None else "the limit that was set"
    msg = (
        f"{what} would take about {words(need)} of memory, and {words(limit)} may be taken, {why}; "
        'allow more with --max-memory, in Python max_memory="8GB".'
    )
    raise BudgetError(msg)


def read_bounded(stream: Any, what: str, times: float = 1.0) -> bytes:
    """All bytes of a stream of unknown length; BudgetError as soon as `times` that length is more than may be taken."""
    parts, total = [], 0
    while part := stream.read(CHUNK):
        parts.append(part)
        total += len(part)
        ask(total * max(times, 2.0), what)  # twice: the parts, and all of them together
    return b"".join(parts)


def words(size: float) -> str:
    """`1.5 GB`, as people say it."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e3:.3g} kB"


# --- what is free -------------------------------------------------------------------------------------------------


def free() -> int:
    """Bytes that can be had now: what the system says is available, or less where a container allows less."""
    system = _linux()
    if system is None:  # others do not tell cheaply: half of what is built in
        try:
            system = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, ValueError, OSError):
            system = 2**32
    return max(min(system, *_container()), 0)


def _linux() -> int | None:
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return None if found is None else 1024 * int(found[1])


def _container() -> Iterator[int]:
    """Bytes that control groups (versions 2 and 1) leave, where they set a limit; 2^63 first, so that there is one."""
    yield 2**63
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        root = Path("/sys/fs/cgroup")
        try:
            yield int((root / most).read_text()) - int((root / used).read_text())
        except (OSError, ValueError):  # none, or "max"
            continue
