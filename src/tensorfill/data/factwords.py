"""Facts in words, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfill.data.facts import Facts, ModeFacts

NUMBERS = {
    "yes/no": "yes or no",
    "counts": "counts",
    "scale": "a scale from lowest to highest, such as stars or grades",
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
        out.append("gaps: " + ", ".join(f"{name} {share:.0%}" for name, share in facts.gaps.items()))
    if facts.noise > 0:
        out.append(f"noise: about {facts.noise:.3g}, by the differences between neighbours")
    return out


def _mode(m: ModeFacts) -> str:
    """One mode in words."""
    if m.channels:
        words = ["only one" if m.length == 1 else "few: taken as channels, or as series in no order"]
    elif m.smooth:
        words = [f"smooth: neighbours differ {m.rough:.0%} as much as distant entries"]
    elif m.ordered and m.rough <= m.smoothest:
        words = [f"a little smooth: neighbours differ {m.rough:.0%} as much as distant entries"]
    elif m.ordered:
        words = [f"smooth for some series ({m.smoothest:.0%} as much as distant entries), not for all"]
    else:
        words = ["no smoothness seen"]
    if m.steps > 1:
        words.append(f"uneven steps, the widest {m.steps:.3g} times the narrowest")
    if m.period is not None:
        words.append(f"repeats every {m.period}")
    if m.spreads > 5:
        words.append(f"its slices have standard deviations up to {m.spreads:.3g} times as large as others")
    if m.seen < m.length:
        words.append(f"{m.length - m.seen} of {m.length} without any known entry")
    return "; ".join(words)
