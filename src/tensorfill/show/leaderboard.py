"""The contest in words: what answers, why, what else was tried, and what was not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorfill.result.record import COLUMN_MEANS

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion
    from tensorfill.result.record import LeaderboardRow

LEAST = 0.005  # weight from which on a method is named as a part of the answer


def members(done: Completion) -> list[LeaderboardRow]:
    """The rows that make the answer, the largest part first."""
    return sorted((row for row in done.tried if row.weight >= LEAST), key=lambda row: -row.weight)


def answered_by(done: Completion) -> str:
    """What made the answer, of those that `auto` tried: a name, or the members of an ensemble; else an empty text."""
    parts = members(done)
    if not parts:
        return str(done.settings.get("candidate", ""))
    return " + ".join(f"{row.weight:.0%} {row.name}" if len(parts) > 1 else row.name for row in parts)


def why(done: Completion) -> str:
    """Why the answer is what it is, without a full stop; empty where nothing competed."""
    ran = [row for row in done.tried if np.isfinite(row.error)]
    parts = members(done)
    if not ran:
        return ""
    if done.settings.get("candidate") == COLUMN_MEANS:
        return "nothing that was tried was better than the column means on held-out entries"
    if len(parts) > 1:
        alone = f"the best alone was {ran[0].name} ({ran[0].measured})"
        return f"an ensemble of {len(parts)}, weighted by how well they predict held-out entries together; {alone}"
    if not parts:
        return ""
    if parts[0].method == "means" and parts[0] is not ran[0]:
        return f"no model was clearly better than the means ({parts[0].measured}) on held-out entries"
    others = [row for row in ran if row.method != parts[0].method]
    best = min(others, key=lambda row: row.error, default=None)
    told = f"it did best on held-out entries ({parts[0].measured})"
    if best is None or best.error <= parts[0].error:  # the order is by two errors, of which this is one
        return told
    return f"{told}; the best of other methods: {best.name} ({best.measured})"


def leaderboard(done: Completion) -> list[tuple[str, str, str, str]]:
    """(method, held-out error, seconds, weight in the answer or why it has none) of every row of `done.tried` that was
    tried: first those that ran to the end, best first.
    """
    return [
        (row.name, row.measured, f"{row.seconds:.2f}", row.note or _share(row.weight))
        for row in done.tried
        if was_tried(row)
    ]


def was_tried(row: LeaderboardRow) -> bool:
    """Was it fitted to anything?"""
    return bool(np.isfinite(row.error) or row.seconds > 0)


def not_tried(done: Completion) -> list[tuple[list[str], str]]:
    """[(names, why)] of the methods that were not tried, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for row in done.tried:
        if not was_tried(row):
            reasons.setdefault(row.note, []).append(row.name)
    return [(names, reason) for reason, names in reasons.items()]


def _share(weight: float) -> str:
    return f"{weight:.0%}" if weight >= LEAST else ""
