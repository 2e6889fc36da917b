"""What a user may give `auto`, checked: it restricts the methods that compete, and wins over what would be chosen."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.methods.base import METHODS, Method
from tensorfill.methods.checks import check_above, check_whole
from tensorfill.methods.defaults import prior_for
from tensorfill.methods.image.continuation import Continuation
from tensorfill.methods.image.field import Field
from tensorfill.methods.image.patchmatch import check_texture
from tensorfill.models import MODELS
from tensorfill.models.base import whole_numbers
from tensorfill.numerical.base import NumericalPrior
from tensorfill.registry import did_you_mean
from tensorfill.solvers.base import SOLVERS, Solver

# settings that only a fit of one has
OF_A_MODEL = ("model", "rank", "smooth", "ridge", "tv", "solver", "passes", "texture")
# Names that `candidates` had for methods before each had one of its own
FORMER: dict[str, tuple[str, ...]] = {
    "rows": ("knn",),
    "columns": ("gaussian",),
    "together": ("kalman",),
    "season": ("seasonal",),
    "posterior": ("bayes",),
    "models": ("tt", "tubal", "tucker", "tr"),
    "classical": ("halrtc", "lrtc-tnn", "t-ctv"),
    "timeline": ("interpolation", "smoother"),
}


@dataclass(frozen=True)
class AutoSettings(Method):
    """Settings of `auto`; None means "choose".

    Parameters
    ----------
    prior : numerical prior, an object or its name
    model : the low-rank form, a name from `tensorfill list models`
    rank : R; of other models than CP one number for all of their ranks, or each of them
    smooth : {mode or dimension name: rho} of quadratic variation along that mode; {} for none
    ridge : weight of the ridge on every factor
    tv : dimensionless weight of total variation on X itself (pictures and fields); 0 for none
    solver : a Solver or its name
    held_out : share of observed entries set aside to choose by; 0 for none. Of clean pictures none are
    starts : how many fits of a low-rank model from different starts take part
    passes : of self-similarity over a field, after the fit; 0 for none
    texture : "sharp" for holes of a picture filled with texture from elsewhere in it; "smooth" has less error
    candidates : names of the methods that may take part; those of `tensorfill list methods` that compete
    time : modes that are one time axis together, from the outer to the inner, e.g. ("day", "hour")
    """

    effort: ClassVar[str] = "normal"
    uses_weights: ClassVar[bool] = True
    uses_features: ClassVar[bool] = True

    prior: NumericalPrior | str | None = None
    model: str | None = None
    rank: int | Sequence[int] | None = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    held_out: float | None = None
    starts: int | None = None
    passes: int | None = None
    texture: str | None = None
    candidates: Sequence[str] | None = None
    time: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        check_above(self, 0, "ridge", "tv", included=True)
        check_whole(self, 1, "starts")
        check_whole(self, 0, "passes")
        if self.texture is not None:
            check_texture(self.texture)
            object.__setattr__(self, "texture", "sharp" if self.texture == "sharp" else None)  # else as usual
        if self.model is not None:
            MODELS[self.model]  # a misspelt one is refused with a sentence
        if not isinstance(self.rank, Sequence | np.ndarray):
            check_whole(self, 1, "rank")
        elif self.model in (None, "cp"):
            msg = f'rank of a CP model must be one whole number; got {self.rank!r}. Name another: model="tucker".'
            raise ValueError(msg)
        else:
            whole_numbers(self.rank, (len(self.rank),), "several of them")
        if self.held_out is not None and not 0 <= self.held_out < 1:
            msg = f"held_out must be a share between 0 and 1, 0 for none; got {self.held_out!r}."
            raise ValueError(msg)
        for mode, rho in (self.smooth or {}).items():
            if not 0 <= rho < np.inf:
                msg = f"smooth must hold weights >= 0; got {rho!r} for mode {mode!r}."
                raise ValueError(msg)
        if isinstance(self.solver, str):
            SOLVERS[self.solver]  # the same
        if self.candidates is not None:
            object.__setattr__(self, "candidates", present_names(self.candidates))

    def _given(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]

    def resolve(self, obs: Observations) -> Self:
        """Return the settings as these data have them: modes by number, ranks in full."""
        if self.prior is not None:
            prior = prior_for(obs, self.prior)
            obs.check_domain(prior.t_domain, type(prior).__name__)
        rank = self.rank
        if rank is not None and self.model is not None:
            rank = MODELS[self.model].check_rank(obs.shape, rank)
        time = None if self.time is None else tuple(obs.mode(key) for key in self.time)
        return replace(self, rank=rank, smooth=by_mode(obs, self.smooth), time=time)

    @property
    def asks_for_model(self) -> bool:
        """Was something given that only a low-rank fit has?"""
        return bool(self._given(*OF_A_MODEL))

    @property
    def restricts(self) -> bool:
        """Was anything given that restricts what competes?"""
        return bool(self._given(*OF_A_MODEL, "prior", "candidates", "starts"))

    def competitors(self, facts: Facts) -> tuple[list[Method], dict[str, str]]:
        """Return the methods that compete on such data, with what was given; and {name: why not} of the others."""
        able, refused = [], {}
        for name, cls in METHODS.items():
            if cls.competes:
                why = self._refuses(cls) or _cannot(cls, facts)
                if why is None:  # only then can it be made of what was given
                    why = (method := self.make(cls)).suits(facts)
                if why is None:
                    able.append(method)
                else:
                    refused[name] = why
        return able, refused

    def make(self, cls: type[Method]) -> Method:
        """Return the method with those of the settings that it has."""
        fields = {f.name for f in dataclasses.fields(cls) if f.init}
        names = [n for n in ("prior", *OF_A_MODEL) if n in cls.takes] + ["held_out", "starts", "time"]
        given: dict[str, Any] = {name: getattr(self, name) for name in self._given(*names) if name in fields}
        return cls(**given, **({"effort": self.effort} if "effort" in fields else {}))

    def _refuses(self, cls: type[Method]) -> str | None:
        """Why this method may not compete under what was given; None if it may."""
        if self.candidates is not None and cls.name not in self.candidates:
            return "not among the candidates asked for"
        for name in self._given("prior", *OF_A_MODEL):
            none = name in ("tv", "passes") and getattr(self, name) == 0  # asked for none, which it has
            if not none and name not in cls.takes:
                return f"it has no {name}, which was given"
        return None

    def check_unused(self, facts: Facts, features: Collection[str] = ()) -> None:
        """Refuse, with a sentence, what was given and would not be used."""
        why = Field(smooth=self.smooth).suits(facts)
        for name in ("tv", "passes"):
            if getattr(self, name) and why is not None:
                msg = (
                    f"{name} is for fields, and {why}; got {getattr(self, name)}. "
                    f"Leave it out, or name the smooth modes: smooth={{0: 1.0, 1: 1.0}}."
                )
                raise ValueError(msg)
        if self.texture is not None and (why := Continuation().suits(facts)) is not None:
            msg = f'texture="sharp" is for holes in pictures, and {why}. Leave it out.'
            raise ValueError(msg)
        able, refused = self.competitors(facts)
        if not able:
            asked = {name: why for name, why in refused.items() if not why.startswith("not among")} or refused
            words = "; ".join(f"{name}: {why}" for name, why in asked.items())
            msg = f"no candidate can make use of what was given ({words}). Give less."
            raise ValueError(msg)
        if features and not any(method.uses_features for method in able):
            msg = f"features are used by bayes, which cannot take part: {refused['bayes']}. Leave one of them out."
            raise ValueError(msg)


def _cannot(cls: type[Method], facts: Facts) -> str | None:
    """Why no method of this class may compete on such data; None if one may."""
    if facts.in_blocks and not cls.fits_blocks:
        return "it needs all observations in memory"
    return "it has no weights, which were given" if facts.weighted and not cls.uses_weights else None


def by_mode(obs: Observations, smooth: Mapping[int | str, float] | None) -> Mapping[int | str, float] | None:
    """{mode: rho} without zeros; a mode named twice is refused."""
    if smooth is None:
        return None
    modes = [obs.mode(k) for k in smooth]
    if len(set(modes)) < len(modes):
        msg = f"smooth must name each mode once; got {dict(smooth)}, of which two are the same mode."
        raise ValueError(msg)
    return {n: float(rho) for n, rho in zip(modes, smooth.values(), strict=True) if rho}


def present_names(candidates: Sequence[str]) -> tuple[str, ...]:
    """The names of methods that compete; those of former times still mean the same, with a warning."""
    names = [name for name, cls in METHODS.items() if cls.competes]
    out: list[str] = []
    for given in candidates:
        name = str(given).strip().lower()
        if name in FORMER:
            now = ", ".join(FORMER[name])
            warnings.warn(f"candidate {name!r} is now called {now}.", FutureWarning, stacklevel=find_stacklevel())
            out += FORMER[name]
        elif name in names:
            out.append(name)
        else:
            msg = f"candidate must be one of {', '.join(names)}; got {given!r}.{did_you_mean(name, names)}"
            raise ValueError(msg)
    return tuple(out)
