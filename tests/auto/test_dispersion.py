"""Counts that scatter more than Poisson's: the dispersion is found, and a fit that knows of it is nearer the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tensorfill import Observations
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import Run
from tensorfill.methods.defaults import dispersion, negative_binomial
from tensorfill.methods.lowrank.low_rank import LowRank

Array = NDArray[Any]


def drawn(r: float, seed: int = 0) -> tuple[Array, Array]:
    """(counts, their means), 12 x 15 x 60, three positive components."""
    rng = np.random.default_rng(seed)
    factors = [rng.gamma(0.6, 1.0, (n, 3)) for n in (12, 15, 60)]
    mean = np.einsum("ir,jr,kr->ijk", *factors)
    mean *= 5 / mean.mean()
    return rng.poisson(mean * rng.gamma(r, 1 / r, mean.shape)), mean


@pytest.mark.parametrize("r", [0.5, 3.0, 20.0])
def test_the_dispersion_is_found(r: float) -> None:
    counts, mean = drawn(r)
    assert dispersion(counts.ravel(), mean.ravel()) == pytest.approx(r, rel=0.35)


def test_poissons_counts_do_not_scatter_more() -> None:
    rng = np.random.default_rng(0)
    mean = rng.gamma(1.0, 5.0, 10_000)
    assert dispersion(rng.poisson(mean), mean) > 100


def test_weights_count() -> None:
    rng = np.random.default_rng(0)
    mean = np.full(4000, 10.0)
    t = np.concatenate([rng.poisson(mean[:2000]), rng.negative_binomial(1, 1 / 11, 2000)])
    first = np.repeat([1.0, 0.0], 2000)
    assert dispersion(t, mean, first) > 100
    assert dispersion(t, mean, 1 - first) < 2


def test_the_floor_is_in_the_unit_of_x() -> None:
    counts, _ = drawn(3.0)
    obs = Observations.from_dense(counts.astype(float))
    one, other = negative_binomial(obs, 2.0), negative_binomial(obs, 4.0)
    assert one.floor * 2 == pytest.approx(other.floor * 4)  # type: ignore[attr-defined]


def test_a_fit_that_knows_of_scatter_is_nearer_the_means() -> None:
    off = {False: 0.0, True: 0.0}
    for seed in range(3):
        counts, mean = drawn(1.0, seed)
        mask = np.random.default_rng(1).random(counts.shape) < 0.4
        obs = Observations.from_dense(np.where(mask, counts, 0).astype(float), mask)
        for known in off:
            fitted = LowRank(rank=4, overdispersed=known).fit(obs, Run(seed=0))
            assert fitted.settings["solver"] == "newton"
            off[known] += float(np.sqrt(np.mean((fitted.answer.at(np.argwhere(~mask)) - mean[~mask]) ** 2)))
    assert off[True] < 0.9 * off[False]


def test_both_are_tried_on_counts_alone() -> None:
    counts, _ = drawn(1.0)
    mask = np.random.default_rng(1).random(counts.shape) < 0.4
    obs = Observations.from_dense(np.where(mask, counts, 0).astype(float), mask)
    facts = compute_facts(obs)
    search = LowRank().variants(facts)
    first: Any = next(search)
    second: Any = search.send(1.0)
    assert (first.overdispersed, second.overdispersed, second.rank) == (False, True, first.rank)
    assert LowRank().initial_variants(facts) == 2
    assert LowRank(prior="poisson").initial_variants(facts) == 1


def test_it_is_found_out_once_for_the_same_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, _ = drawn(3.0)
    obs = Observations.from_dense(counts.astype(float), np.random.default_rng(0).random(counts.shape) < 0.5)
    facts, asked = compute_facts(obs), []
    monkeypatch.setattr(
        "tensorfill.methods.lowrank.low_rank.dispersion", lambda *args: asked.append(1) or dispersion(*args)
    )
    run = Run(facts=facts)
    first = [LowRank(rank=rank, overdispersed=True).fit(obs, run) for rank in (2, 3)]
    assert len(asked) == 1
    again = Observations.from_dense(counts.astype(float), np.random.default_rng(0).random(counts.shape) < 0.5)
    alone = LowRank(rank=3, overdispersed=True).fit(again, Run())  # it does not matter what was fitted before
    assert len(asked) == 2
    np.testing.assert_array_equal(first[1].answer.at(obs.indices[:50]), alone.answer.at(obs.indices[:50]))
