"""What the user chose on the page, checked; and the command and the Python lines that do the same."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorfill.io.files import number_or_text
from tensorfill.registry import Settings, did_you_mean
from tensorfill.result.outputs import LEVEL

# What sentences of the library call an option, and what the page calls it
PAGE_WORDS = [
    (r" \(on the command line: [^)]*\)", ""),
    (r" \(in Python [^)]*\)+", ""),
    (r"--dims a,b,c --value v", '"Columns that name the entry" and "Column of values"'),
    (r"--dims(?: a,b,c)?", '"Columns that name the entry"'),
    (r"--value\b", '"Column of values"'),
    (r"(?:with )?--variable", 'under "Variable"'),
    (r"--missing-value(?= -?\d| must)", "the value that means missing,"),
    (r"--missing-value", '"Value that means missing"'),
    (r"leave --alpha-missing out", "keep its transparent pixels"),
    (r"Give a mask \(--mask F\)", "Choose a mask file"),
    (r"--fold\b", '"Fold an axis"'),
    (r"--max-gap\b", '"Longest gap to fill"'),
    (r"(?:--)?\bhorizon\b", '"Steps to forecast"'),
    (r"give (?:time=|--time), of .*?, from the outer to the inner", 'choose it under "Time axis"'),
    (r"\{'(\w+)': (\d+)\}", r"\1=\2"),
    (r"say what it is(?::| with) --format(?: \([^)]*\))?", "give the file the ending of its format"),
    (r",? or --format\b", ""),
    (r"; fill_unseen=True \(--fill-unseen\) fills them", ""),
    (r'\bprior="?([\w-]+)"?', r'"Kind of numbers": \1'),
    (r'\bmethod="?([\w-]+)"?', r'"Method": \1'),
    (r'\beffort="?([\w-]+)"?', r'"Effort": \1'),
    (r"\brank=(\d+)", r'"Rank": \1'),
]


COLOURS = {"black": 0, "white": 255}  # of pixels that may be taken as missing


@dataclass(frozen=True)
class Options(Settings):
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
    time: str | None = None
    max_gap: int | None = None
    horizon: int | None = None
    fold: str | None = None

    READING = ("dims", "value", "variable", "missing_value", "alpha_missing")
    FITTING = ("prior", "rank", "method", "effort", "seed")
    TIME = ("time", "max_gap", "horizon", "fold")

    @staticmethod
    def of(given: Mapping[str, Any]) -> Options:
        """From JSON; blank means not given."""
        known = [f.name for f in dataclasses.fields(Options)]
        for name in given:
            if name not in known:
                msg = f"what is chosen must be among {', '.join(known)}; got {name!r}.{did_you_mean(name, known)}"
                raise ValueError(msg)
        chosen = Options(**{name: value for name, value in given.items() if value not in (None, "", [])})
        return dataclasses.replace(chosen, missing_value=number_or_text(chosen.missing_value))

    def with_fit(self, given: Mapping[str, Any]) -> Options:
        """The same reading, filled in another way."""
        return Options.of({**{name: getattr(self, name) for name in self.READING}, **given})

    def _given(self, names: Sequence[str]) -> dict[str, Any]:
        """Those of the options that are not left to the program."""
        default = Options()
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(default, name)}

    @property
    def reading(self) -> dict[str, Any]:
        """What `io.files.read` takes."""
        return self._given(self.READING)

    @property
    def fitting(self) -> dict[str, Any]:
        """What `complete` takes."""
        return self._given(self.FITTING) | ({"error_bars": LEVEL} if self.error_bars else {})

    @property
    def about_time(self) -> dict[str, Any]:
        """What `plan_time` takes."""
        return self._given(self.TIME)


def in_page_words(sentence: str) -> str:
    """The sentence with the fields of the page in place of options of the command line and of Python."""
    for pattern, words in PAGE_WORDS:
        sentence = re.sub(pattern, words, sentence)
    return sentence


def list_choices() -> dict[str, list[tuple[str, str]]]:
    """Priors and methods to choose from, each with what it is for."""
    import tensorfill.auto.auto  # noqa: F401  registers the method `auto`
    from tensorfill.methods import METHODS
    from tensorfill.numerical.base import PRIORS

    priors = [(name, (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")) for name, cls in PRIORS.items()]
    return {"priors": priors, "methods": [(name, cls.use_when) for name, cls in METHODS.items() if name != "auto-best"]}


def stem(name: str) -> str:
    """The name without its ending, also without two of them: counts.csv.gz."""
    path = Path(name)
    path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return path.stem


def bars_name(name: str, table: bool) -> str:
    """The file of the error bars: of a table with text a table of its numbers."""
    return f"{stem(name)}-error-bars.{'csv' if table else 'npy'}"


def command(choice: Options, name: str, out: str, mask: str | None, table: bool = False) -> str:
    """The command line that does what the page did."""
    words = ["tensorfill", "complete", name, "-o", out]
    words += [] if mask is None else ["--mask", mask]
    for option, value in {**choice.reading, **choice.fitting, **choice.about_time}.items():
        flag = f"--{option.replace('_', '-')}"
        if option == "error_bars":
            words += [flag, bars_name(out, table)]
        elif value is True:
            words.append(flag)
        else:
            words += [flag, ",".join(value) if isinstance(value, list | tuple) else _text(value)]
    return shlex.join(words)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value == float(f"{value:g}") else str(value)


def python(choice: Options, name: str, out: str, mask: str | None, table: bool = False) -> str:
    """The lines of Python that do what the page did."""
    if table:
        return (
            "import tensorfill as tfl\nfrom tensorfill.io.mixed import MixedTable\n\n"
            f"table = MixedTable.read({name!r}{arguments(choice.reading)})\n"
            f"done = tfl.complete(table.frame{arguments(choice.fitting)})\n"
            f"table.write({out!r}, done.completed)\n"
        )
    names = "read, write" if mask is None else "read, read_mask, write"
    imports = f"import numpy as np\nimport tensorfill as tfl\nfrom tensorfill.io.files import {names}\n"
    known = f"loaded = loaded.with_mask(read_mask({mask!r}, loaded.shape))\n" if mask is not None else ""
    settings, output = arguments(choice.fitting), "loaded"
    if choice.about_time:
        imports += "from tensorfill.io.timeplan import plan_time\n"
        known += f"plan = plan_time(loaded, loaded.observations(){arguments(choice.about_time)})\n"
        settings, output = f"{settings}, **plan.settings", "plan.output"
    return (
        f"{imports}\nloaded = read({name!r}{arguments(choice.reading)})\n{known}"
        f"done = tfl.complete(loaded.observations(){settings})\nwrite({out!r}, np.asarray(done), {output})\n"
    )


def arguments(given: Mapping[str, Any]) -> str:
    """The settings as they stand in a call of Python, after other arguments."""
    return "".join(f", {name}={list(v) if isinstance(v, tuple) else v!r}" for name, v in given.items())
