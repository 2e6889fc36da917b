"""What the user chose on the page, checked; and the command and the Python lines that do the same."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorfill.registry import Settings, did_you_mean

LEVEL = 0.9  # of the error bars, as on the command line


@dataclass(frozen=True)
class Choice(Settings):
    """How to read the file, and how to fill its gaps; names as on the command line. None: chosen from the data."""

    dims: Sequence[str] | None = None
    value: str | None = None
    variable: str | None = None
    missing_value: float | str | None = None
    alpha_missing: bool = False
    prior: str | None = None
    rank: int | None = None
    method: str = "auto"
    effort: str = "normal"
    seed: int = 0
    error_bars: bool = False

    READING = ("dims", "value", "variable", "missing_value", "alpha_missing")

    @staticmethod
    def of(given: Mapping[str, Any]) -> Choice:
        """From JSON; blank means not given."""
        known = [f.name for f in dataclasses.fields(Choice)]
        for name in given:
            if name not in known:
                msg = f"what is chosen must be among {', '.join(known)}; got {name!r}.{did_you_mean(name, known)}"
                raise ValueError(msg)
        chosen = Choice(**{name: value for name, value in given.items() if value not in (None, "", [])})
        return dataclasses.replace(chosen, missing_value=number_or_text(chosen.missing_value))

    def with_fit(self, given: Mapping[str, Any]) -> Choice:
        """The same reading, filled in another way."""
        return Choice.of({**{name: getattr(self, name) for name in self.READING}, **given})

    @property
    def reading(self) -> dict[str, Any]:
        """What `data.files.read` takes, without what is left to it."""
        given = {name: getattr(self, name) for name in self.READING}
        return {name: value for name, value in given.items() if value not in (None, False)}

    @property
    def fitting(self) -> dict[str, Any]:
        """What `complete` takes, without its defaults."""
        names = ("prior", "rank", "method", "effort", "seed")
        default = Choice()
        given = {n: getattr(self, n) for n in names if getattr(self, n) != getattr(default, n)}
        return {**given, "error_bars": LEVEL} if self.error_bars else given


def number_or_text(given: float | str | None) -> float | str | None:
    """A number where it is one: blank cells may be marked by a text, too."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def offered() -> dict[str, list[tuple[str, str]]]:
    """Priors and methods to choose from, each with what it is for."""
    import tensorfill.choose.auto  # noqa: F401  registers the method `auto`
    from tensorfill.methods import METHODS
    from tensorfill.numerical import PRIORS

    priors = [(name, (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")) for name, cls in PRIORS.items()]
    return {"priors": priors, "methods": [(name, cls.use_when) for name, cls in METHODS.items() if name != "auto-best"]}


def stem(name: str) -> str:
    """The name without its ending, also without two of them: counts.csv.gz."""
    path = Path(name)
    path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return path.stem


def command(choice: Choice, name: str, out: str, mask: str | None) -> str:
    """The command line that does what the page did."""
    words = ["tensorfill", "complete", name, "-o", out]
    words += [] if mask is None else ["--mask", mask]
    for option, value in {**choice.reading, **choice.fitting}.items():
        flag = f"--{option.replace('_', '-')}"
        if option == "error_bars":
            words += [flag, f"{stem(out)}-error-bars.npy"]
        elif value is True:
            words.append(flag)
        else:
            words += [flag, ",".join(value) if isinstance(value, list | tuple) else _text(value)]
    return shlex.join(words)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value == float(f"{value:g}") else str(value)


def python(choice: Choice, name: str, out: str, mask: str | None) -> str:
    """The lines of Python that do what the page did."""
    reading = "".join(f", {k}={_literal(v)}" for k, v in choice.reading.items())
    fitting = "".join(f", {k}={_literal(v)}" for k, v in choice.fitting.items())
    names = "read, write" if mask is None else "read, read_mask, write"
    known = f"loaded = loaded.with_mask(read_mask({mask!r}, loaded.shape))\n" if mask is not None else ""
    return (
        f"import tensorfill as tfl\nfrom tensorfill.data.files import {names}\n\n"
        f"loaded = read({name!r}{reading})\n{known}"
        f"done = tfl.complete(loaded.observations(){fitting})\n"
        f"write({out!r}, done.completed, loaded)\n"
    )


def _literal(value: Any) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
