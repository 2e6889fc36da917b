"""Names that users type, mapped to the classes they mean; and the settings they give, checked for their types."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import math
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


# Names that other libraries use, and what they are called here: for hints in error messages
ALSO = {"gaussian": "normal", "gauss": "normal", "counts": "poisson", "count": "poisson", "binary": "bernoulli"}
ALSO |= {"logistic": "bernoulli-logit", "iterations": "max_iter", "n_iter": "max_iter", "epochs": "max_iter"}
ALSO |= {"random_state": "seed", "n_components": "rank", "timeout": "seconds", "max_time": "seconds"}
ALSO |= {"missing": "mask", "missing_mask": "mask", "observed": "mask", "known": "mask", "period": "fold"}
ALSO |= {"forecast": "horizon", "confidence": "error_bars"}


def did_you_mean(name: str, options: list[str]) -> str:
    """A hint for a misspelt name, or for what others call it; or an empty string."""
    meant = ALSO.get(str(name).lower())
    if meant in options:
        return f" Did you mean {meant!r}?"
    small = {option.lower(): option for option in reversed(options)}  # if two differ in case alone, the first wins
    close = difflib.get_close_matches(str(name).lower(), list(small), n=1)
    return f" Did you mean {small[close[0]]!r}?" if close else ""


class Registry(Generic[T]):
    """An ordered map from a name to a class; misspelt names get a suggestion.

    Being registered means being tested: the test grids run over every entry.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, type[T]] = {}
        self._unlisted: dict[str, type[T]] = {}

    def register(self, name: str, *, listed: bool = True, at: int | None = None) -> Callable[[type[T]], type[T]]:
        """Class decorator: make the class available under `name`, at the end of the list or `at` a place in it.

        An unlisted class is found by its name (so that a saved one loads), but is not among the names to
        choose from: it cannot be made without arguments.
        """

        def add(cls: type[T]) -> type[T]:
            taken = {**self._items, **self._unlisted}.get(name)
            if taken is not None:
                msg = (
                    f"a new {self.kind} must have a new name; got {name!r}, which is {taken.__name__}. Choose another."
                )
                raise ValueError(msg)
            (self._items if listed else self._unlisted)[name] = cls
            if at is not None:
                names = [n for n in self._items if n != name]
                names.insert(at, name)
                self._items = {n: self._items[n] for n in names}
            cls.name = name  # type: ignore[attr-defined]  # classes of all registries have one
            return cls

        return add

    def sort(self, first: Sequence[str]) -> None:
        """Put these names first, in this order."""
        self._items = {n: self._items[n] for n in (*first, *(n for n in self._items if n not in first))}

    def __getitem__(self, name: str) -> type[T]:
        key = str(name).strip().lower()
        if key in self._items:
            return self._items[key]
        if key in self._unlisted:
            return self._unlisted[key]
        hint = did_you_mean(key, list(self._items))
        msg = f"{self.kind} must be one of {', '.join(self._items)}; got {name!r}.{hint}"
        raise ValueError(msg)

    def make(self, given: Any, **settings: Any) -> T:
        """An instance: from a name, or `given` itself when it is an instance already."""
        if isinstance(given, str):
            return self[given](**settings)
        return given

    def items(self) -> list[tuple[str, type[T]]]:
        """Names and classes to choose from, in order."""
        return list(self._items.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a package and of the folders in it, so that what they register is there."""
    for name in sorted(module.name for module in pkgutil.walk_packages(path, f"{package}.")):
        if not name.rsplit(".", 1)[-1].startswith("_"):
            importlib.import_module(name)


def names_in_modules(package: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that has the public names of its modules."""

    def find(name: str) -> Any:
        for key, module in list(sys.modules.items()):
            if key.startswith(f"{package}.") and not name.startswith("_") and name in vars(module):
                return vars(module)[name]
        msg = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(msg)

    return find


# --- settings -----------------------------------------------------------------------------------------------------


def _is_number(given: Any) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool) and not math.isnan(given)


def _is_whole(given: Any) -> bool:
    return isinstance(given, Integral) and not isinstance(given, bool)


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A check of lists, tuples and one-dimensional arrays."""

    def check(given: Any) -> bool:
        array = getattr(given, "ndim", 1) == 1 and not isinstance(given, str | bytes | Mapping)
        return array and hasattr(given, "__len__") and hasattr(given, "__iter__") and all(map(fits, given))

    return check


# {a type as it stands in an annotation: (what it is called, does a value fit)}; other types are not checked here
TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "bool": ("True or False", lambda given: isinstance(given, bool)),
    "str": ("text", lambda given: isinstance(given, str)),
    "PathLike[str]": ("a path", lambda given: isinstance(given, os.PathLike)),
    "None": ("None", lambda given: given is None),
    "Callback": ("a function", callable),
    "NumericalPrior": ("a NumericalPrior", lambda given: hasattr(given, "nll") and not isinstance(given, type)),
    "Solver": ("a Solver", lambda given: callable(getattr(given, "step", None)) and not isinstance(given, type)),
    "Stopping": ("a Stopping", lambda given: type(given).__name__ == "Stopping"),
    "Sequence[float]": ("a list of numbers", _list_of(_is_number)),
    "tuple[float, float]": ("two numbers", lambda given: _list_of(_is_number)(given) and len(given) == 2),
    "tuple[float, ...]": ("a list of numbers", _list_of(_is_number)),
    "Sequence[str]": ("a list of names", _list_of(lambda given: isinstance(given, str))),
    "Sequence[int]": ("a list of whole numbers", _list_of(_is_whole)),
    "Mapping[int | str, float]": (
        'a dictionary {mode: number}, e.g. {"hour": 1.0}',
        lambda given: isinstance(given, Mapping) and all(map(_is_number, given.values())),
    ),
    "Collection[int | str]": (
        "a list of modes",
        lambda given: isinstance(given, Collection) and not isinstance(given, str | bytes),
    ),
}
PARTS = re.compile(r"[\w.]+(?:\[[^\]]*\])?")  # of `int | Mapping[int | str, float] | None`


def check_setting(name: str, given: Any, annotation: str) -> None:
    """Raise TypeError unless the value is of one of the types that the annotation names; unknown types are accepted."""
    kinds = PARTS.findall(annotation)
    if any(kind not in TYPES for kind in kinds) or any(TYPES[kind][1](given) for kind in kinds):
        return
    words = [TYPES[kind][0] for kind in kinds]
    must = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    got = f"the class {given.__name__}; write {given.__name__}()" if isinstance(given, type) else repr(given)
    msg = f"{name} must be {must}; got {got}."
    raise TypeError(msg)


class Settings:
    """Base of dataclasses that users fill in: types are checked first, so that further checks can compare numbers."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Check what `__init__` is about to be given."""
        fields = {f.name: str(f.type) for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]  # of subclasses
        for name, value in {**dict(zip(fields, given, strict=False)), **named}.items():
            if name in fields:
                check_setting(name, value, fields[name])
        return super().__new__(cls)
