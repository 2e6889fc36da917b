"""What there is to choose from, as rows of words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tensorfill.registry import did_you_mean
from tensorfill.terminal import BAD_USAGE, OK, UserError


class What(StrEnum):
    """What can be listed."""

    priors = "priors"
    interelement = "interelement"
    solvers = "solvers"
    methods = "methods"
    models = "models"
    candidates = "candidates"
    formats = "formats"


def first_line(cls: type[Any]) -> str:
    """The first line of a docstring, without its full stop."""
    return (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")


def rows(what: What) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(column names, one row for each)."""
    from tensorfill.interelement.base import INTERELEMENT
    from tensorfill.io.files import FORMATS
    from tensorfill.methods import METHODS
    from tensorfill.models import MODELS
    from tensorfill.numerical.base import PRIORS
    from tensorfill.solvers.base import SOLVERS

    if what is What.priors:
        return ("prior", "for", "data"), [(n, first_line(c), c().t_domain.phrase) for n, c in PRIORS.items()]
    if what is What.interelement:
        return ("inter-element prior", "meaning"), [(n, first_line(c)) for n, c in INTERELEMENT.items()]
    if what is What.solvers:
        steady = {True: "never rises", False: "may rise"}
        return ("solver", "how", "objective"), [(n, first_line(c), steady[c.monotone]) for n, c in SOLVERS.items()]
    if what is What.methods:
        head = ("method", "reference", "assumes", "use when")
        return head, [(n, c.reference, c.assumes, c.use_when) for n, c in METHODS.items()]
    if what is What.models:
        return ("model", "what", "rank"), [(n, first_line(c), c.ranks_are) for n, c in MODELS.items()]
    if what is What.candidates:
        return ("candidate", "how", "assumes"), [
            (n, first_line(c), c.assumes) for n, c in METHODS.items() if c.competes
        ]
    return ("format", "endings", "what"), [(n, " ".join(c.endings), c.description) for n, c in FORMATS.items()]


@dataclass(frozen=True)
class List:
    """`tensorfill list WHAT`."""

    what: str

    def run(self) -> int:
        """Show it; returns the exit code."""
        from tensorfill.cli.show import show_table

        if self.what not in list(What):
            names = [str(name) for name in What]
            got = f"{self.what!r}.{did_you_mean(self.what, names)}" if self.what else f"nothing. Try: list {names[0]}"
            msg = f"what to list must be one of {', '.join(names)}; got {got}"
            raise UserError(msg, BAD_USAGE)
        show_table(*rows(What(self.what)))
        return OK
