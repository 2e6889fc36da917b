"""Facts in words, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfill.data.facts import Facts, ModeFacts

NUMBERS = {
    "yes/no": "yes or no",
    "counts": "counts",
    "scale": "a scale with two ends, such as stars or marks",
    "amounts": "positive amounts",
    "reals": "real numbers",
}


def lines(facts: Facts) -> list[str]:
    """What is known, one line per thing."""
    size = " x ".join(f"{m.dim} {m.length}" for m in facts.modes)
    out = [
        f"{size}: {facts.observed:,} of {facts.size:,} entries known ({facts.share:.1%})",
        f"numbers: {NUMBERS[facts.numbers]}, from {facts.low:.4g} to {facts.high:.4g}, "
        f"mean {facts.level:.4g}, standard deviation {facts.spread:.4g}" + (" (a picture)" if facts.picture else ""),
    ]
    out += [f"{m.dim}: {_mode(m)}" for m in facts.modes]
    if facts.gaps:
        out.append("gaps: " + ", ".join(f"{share:.0%} {name}" for name, share in facts.gaps.items()))
    if facts.noise > 0:
        out.append(f"noise: neighbours differ by about {facts.noise:.3g} at random")
    return out


def _mode(m: ModeFacts) -> str:
    """One mode in words."""
    if m.channels:
        words = ["a single one" if m.length == 1 else "few: taken as channels, or series without an order"]
    elif m.smooth:
        words = [f"smooth: neighbours differ by {m.rough:.0%} of what far entries do"]
    elif m.ordered and m.rough <= m.smoothest:
        words = [f"neighbours are a little alike ({m.rough:.0%} of what far entries differ by)"]
    elif m.ordered:
        words = [f"some series along it are smooth ({m.smoothest:.0%} of what far entries differ by), not all"]
    else:
        words = ["no order seen"]
    if m.steps > 1:
        words.append(f"uneven steps, the widest {m.steps:.3g} times the narrowest")
    if m.period is not None:
        words.append(f"repeats every {m.period}")
    if m.spreads > 5:
        words.append(f"standard deviations of its slices differ by a factor of {m.spreads:.3g}")
    if m.seen < m.length:
        words.append(f"{m.length - m.seen} of {m.length} without any known entry")
    return "; ".join(words)
