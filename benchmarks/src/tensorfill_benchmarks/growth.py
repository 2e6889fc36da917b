"""How time and memory grow: with the observations, the rank, the length of a mode, the order and the workers.

Every point is measured in a process of its own, whose largest resident size is the memory: Parquet files are read into
blocks (on disk, or with the workers of a Dask cluster on this machine), then one gradient of everything and one
second-order sweep over all modes are timed: by processor time, so that a busy machine does not count, and with workers
by the clock. Poisson counts, quadratic variation along the third mode.
"""

from __future__ import annotations

import csv
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from tensorfill.io.atomic import replace_file
from tensorfill.io.formats import FileError
from tensorfill_benchmarks import growth_data

LONGEST = (100_000, 50_000, 1_000)  # shape of the data along the axes that do not vary it
FROM = 1_000_000  # observations from which on slopes are fitted: below, what does not grow with them weighs in
TIMES = ("read_seconds", "gradient_seconds", "sweep_seconds")
AXES = ("observations", "rank", "length", "order", "workers")
TEXTS = ("axis", "shape")


@dataclass(frozen=True)
class Point:
    """A line of growth.csv; seconds and memory are None before it was measured."""

    axis: str
    observations: int
    rank: int
    shape: tuple[int, ...]
    workers: int = 0  # 0: one process, blocks on disk
    read_seconds: float | None = None
    gradient_seconds: float | None = None
    sweep_seconds: float | None = None
    peak_gb: float | None = None
    gradient_mb: float | None = None  # between workers
    gradient_formula_mb: float | None = None
    sweep_mb: float | None = None
    sweep_formula_mb: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What was asked for."""
        return self.axis, self.observations, self.rank, self.shape, self.workers

    @property
    def x(self) -> float:
        """Where it lies along its axis."""
        return {
            "observations": self.observations,
            "rank": self.rank,
            "length": max(self.shape),
            "order": len(self.shape),
            "workers": max(self.workers, 1),
        }[self.axis]


def points(most: float, rank: int, axes: Sequence[str], workers: Sequence[int]) -> list[Point]:
    """What is measured; `most`: observations of the largest."""
    sizes = [n for n in (10**5, 10**6, 2 * 10**6, 5 * 10**6, 10**7, 2 * 10**7, 5 * 10**7) if n <= most]
    some = int(min(most, 10**6))
    out = [Point("observations", n, rank, LONGEST) for n in sizes]
    out += [Point("rank", some, r, LONGEST) for r in (4, 8, 16, 32, 64)]
    out += [Point("length", some, 16, (n, n, 100)) for n in (1_000, 10_000, 100_000, 1_000_000)]
    out += [Point("order", some, 16, (5_000,) * order) for order in (2, 3, 4, 5)]
    out += [Point("workers", int(min(most, 2 * 10**7)), 16, LONGEST, w) for w in workers]
    return [p for p in out if p.axis in axes]


def run(
    out_dir: str | Path,
    wanted: Sequence[Point],
    tell: Callable[[Point], None] | None = None,
    *,
    again: bool = False,
) -> list[Point]:
    """Measure the points that growth.csv does not have (all with `again`), write it after each, then growth.png of all
    that it has; returns those that were wanted.
    """
    target = Path(out_dir) / "growth.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    done = {} if again else {p.key: p for p in read(target)}
    for point in wanted:
        if point.key in done:
            continue
        done[point.key] = measured(point)
        with replace_file(target, "w") as file:
            writer = csv.DictWriter(file, [f.name for f in fields(Point)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(p) | {"shape": "x".join(map(str, p.shape))} for p in done.values())
        if tell is not None:
            tell(done[point.key])
    draw(sorted(done.values(), key=lambda p: (AXES.index(p.axis), p.x)), Path(out_dir) / "growth.png")
    return [done[p.key] for p in wanted]


def read(path: Path) -> list[Point]:
    """What an earlier run measured."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [f.name for f in fields(Point)]
    if any(list(row) != names for row in rows):
        msg = f"{path} must have the columns {','.join(names)}; got others. Use another folder."
        raise FileError(msg)
    whole = {"observations", "rank", "workers"}
    out = []
    for row in rows:
        given: dict[str, Any] = {n: int(v) if n in whole else float(v) for n, v in row.items() if v and n not in TEXTS}
        shape = tuple(int(n) for n in row["shape"].split("x"))
        out.append(Point(**given, axis=row["axis"], shape=shape))
    return out


def measured(point: Point) -> Point:
    """The point, measured in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="tensorfill-growth-") as folder:
        growth_data.write(Path(folder), point.observations, point.shape)
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(point, folder, there))
        child.start()
        there.close()
        try:
            return here.recv()
        except EOFError as error:
            child.join()
            msg = f"the process that measured {point} ended with code {child.exitcode}."
            raise RuntimeError(msg) from error
        finally:
            child.join()


def _child(point: Point, folder: str, pipe: Any) -> None:
    with _cluster(point.workers):
        pipe.send(_measure(point, folder))


@contextmanager
def _cluster(workers: int) -> Iterator[None]:
    """So many processes with one thread each; none for 0."""
    if not workers:
        yield
        return
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        yield


def _measure(point: Point, folder: str) -> Point:
    import resource  # of Unix alone

    from tensorfill.blocks import Partitions
    from tensorfill.blocks.draw import Draw
    from tensorfill.blocks.opening import open_data
    from tensorfill.interelement.quadratic import penalties
    from tensorfill.models.init import initial_factors
    from tensorfill.partitioned import Partitioned
    from tensorfill.solvers.newton import sweeps_of

    dims, N = growth_data.names(len(point.shape)), len(point.shape)
    clock = perf_counter if point.workers else process_time
    began = clock()
    parts = open_data(str(Path(folder) / "*.parquet"), dims=dims, value="n", draw=Draw(), large=0)
    assert isinstance(parts, Partitions)
    smooth = {2: 1.0} if N > 2 else {}
    problem = Partitioned.on_blocks(
        parts, point.rank, prior="poisson", interelement=penalties(N, smooth, 1.0), dtype=np.float64, quiet=True
    )
    start = initial_factors(problem, "scaled", np.random.default_rng(0))
    problem.value_and_grad(start)  # compiles, and sorts along the longest mode
    read = clock() - began
    before = _between_workers(point)
    gradient = _fastest(lambda: problem.value_and_grad(start), 2, clock)
    after = _between_workers(point)
    for n in range(N):
        parts.gather(nothing, None, n)  # sorts along the other modes
    sweeps = sweeps_of(problem)
    apart = _between_workers(point)
    # twice: compiled loops are loaded when they are first needed, here or by a worker, which takes a second or more
    sweep = _fastest(lambda: sweeps.bold(problem, start), 2, clock)
    end = _between_workers(point)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    parts.close()
    point = replace(point, read_seconds=read, gradient_seconds=gradient, sweep_seconds=sweep, peak_gb=peak)
    if not point.workers:
        return point
    by_formula = traffic(point)
    return replace(
        point,
        gradient_mb=(after - before) / 2,
        sweep_mb=(end - apart) / 2,
        gradient_formula_mb=by_formula[0],
        sweep_formula_mb=by_formula[1],
    )


def _between_workers(point: Point) -> float:
    """Megabytes that workers have had from one another so far."""
    if not point.workers:
        return 0.0
    from distributed import default_client

    return sum(default_client().run(_received).values()) / 1e6


def _received(dask_worker: Any) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def traffic(point: Point) -> tuple[float, float]:
    """Megabytes between workers of one gradient and one sweep, by the formula of docs/scale.md, for Poisson."""
    total, number = sum(point.shape), 8e-6 * point.rank
    short, away = total - max(point.shape), point.workers - 1
    if not away:
        return 0.0, 0.0
    others = [total - n for n in point.shape]
    return 2 * number * short * away, number * away * (others[0] + 2 * sum(others[1:]))


def nothing(block: Any, shared: None, own: None) -> tuple[None, None]:
    """No work: the block is only made."""
    return None, None


def _fastest(work: Callable[[], Any], times: int, clock: Callable[[], float]) -> float:
    seconds = []
    for _ in range(times):
        began = clock()
        work()
        seconds.append(clock() - began)
    return min(seconds)


def slope(some: Sequence[Point], what: str, least: float = 0.0) -> float:
    """d log what / d log x over the points from x = `least` on; NaN for fewer than two."""
    x, y = (np.array(v, dtype=float) for v in ([p.x for p in some], [getattr(p, what) for p in some]))
    keep = x >= least
    return float(np.polyfit(np.log(x[keep]), np.log(y[keep]), 1)[0]) if keep.sum() > 1 else float("nan")


def draw(done: Sequence[Point], path: Path) -> None:
    """Time and memory along every axis, log against log, with the slopes."""
    from matplotlib.figure import Figure

    axes = list(dict.fromkeys(p.axis for p in done))
    figure = Figure(figsize=(4.2 * len(axes), 4), layout="constrained")
    for plot, axis in zip(np.atleast_1d(figure.subplots(1, len(axes))), axes, strict=True):
        some = [p for p in done if p.axis == axis]
        least = FROM if axis == "observations" else 0.0
        for what, label in (*((t, t.split("_")[0]) for t in TIMES), ("peak_gb", "memory, GB")):
            found = slope(some, what, least)
            plot.plot([p.x for p in some], [getattr(p, what) for p in some], "o-", label=f"{label}: slope {found:.2f}")
        plot.set(xscale="log", yscale="log", xlabel=axis, ylabel="seconds, GB")
        x = sorted({p.x for p in some})
        if x[-1] < 100 * x[0]:  # powers of ten would be too few, and their parts overlap
            plot.set_xticks(x, [f"{v:g}" for v in x])
            plot.set_xticks([], minor=True)
        plot.grid(alpha=0.3)
        plot.legend(fontsize=8)
    with replace_file(path) as file:
        figure.savefig(file, dpi=120)
