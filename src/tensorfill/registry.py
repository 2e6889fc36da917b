"""Names that users type, mapped to the classes they mean."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def did_you_mean(name: str, options: list[str]) -> str:
    """A hint for a misspelt name, or an empty string."""
    small = {option.lower(): option for option in reversed(options)}  # the first of two that differ in case alone
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
                msg = f"{self.kind} {name!r} is registered already, as {taken.__name__}."
                raise ValueError(msg)
            (self._items if listed else self._unlisted)[name] = cls
            if at is not None:
                names = [n for n in self._items if n != name]
                names.insert(at, name)
                self._items = {n: self._items[n] for n in names}
            cls.name = name  # type: ignore[attr-defined]
            return cls

        return add

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

    def names(self) -> list[str]:
        """Names to choose from, in order."""
        return list(self._items)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items
