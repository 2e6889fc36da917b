"""The checker of methods: what everything that fills gaps must hold to, tried on small data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NoReturn

import numpy as np

from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, Run, Unsuited, Variants
from tensorfill.result.completion import Completion
from tensorfill.result.packing import unpack

MOST_VARIANTS = 60  # a search that goes on for longer has no end


def check_method(method: Method, obs: Observations | None = None, *, seed: int = 0) -> None:
    """Raise an AssertionError that says what is wrong with `method`, if anything is.

    It is fitted to `obs`, or to a small table of two factors and noise if there is none: a finite answer for every
    entry, the same again by seed, blind to the order of entries in memory, saved and read back; data left as they were;
    settings that JSON can hold. Of a method that competes also: variants with names of their own that come to an end,
    costs above zero, shorter variants that are methods. Data that it does not suit must be refused with a sentence.
    """
    data = _table(seed) if obs is None else obs
    before = data.digest()
    try:
        done = method.fit(data, Run(seed))
    except (ValueError, Unsuited) as error:
        if len(str(error).split()) < 3:
            _fail(method, f"refused the data with {str(error)!r}, which is no sentence.")
        return
    if data.digest() != before:
        _fail(method, "changed the data that it was given.")
    _check_answer(method, done, data)
    again = method.fit(replace(data), Run(seed))
    where = np.argwhere(~data.mask)
    if not np.array_equal(again.answer.at(where), done.answer.at(where)):
        _fail(method, "gave two answers to the same seed.")
    json.dumps(method.settings(), default=str)
    if method.competes:
        _check_search(method, data)


def _table(seed: int) -> Observations:
    rng = np.random.default_rng(seed)
    T = 3 + rng.normal(size=(24, 2)) @ rng.normal(size=(2, 7)) + 0.1 * rng.normal(size=(24, 7))
    return Observations.from_dense(T, rng.random(T.shape) < 0.7)


def _fail(method: Method, sentence: str) -> NoReturn:
    msg = f"{type(method).__name__}: it {sentence}"
    raise AssertionError(msg)


def _check_answer(method: Method, done: Completion, obs: Observations) -> None:
    full, where = np.asarray(done.answer.full()), np.argwhere(~obs.mask)
    if full.shape != obs.shape:
        _fail(method, f"answered with shape {full.shape} to data of shape {obs.shape}.")
    if not np.isfinite(full).all():
        _fail(method, f"left {np.count_nonzero(~np.isfinite(full))} entries that are not finite.")
    small = 1e-8 * np.abs(full).max()
    if not np.allclose(done.answer.at(where), full[~obs.mask], rtol=1e-5, atol=small):
        _fail(method, "says something else at single entries (`at`) than everywhere (`full`).")
    arrays, meta = done.answer.pack()
    saved = unpack(arrays, {"kind": done.answer.kind, **meta})
    if not np.allclose(saved.at(where), done.answer.at(where), rtol=1e-6, atol=small):
        _fail(method, "has an answer that changes when it is saved and read back.")


def _check_search(method: Method, obs: Observations) -> None:
    facts = compute_facts(obs)
    if method.suits(facts) is not None:
        return
    labels = [v.label for v in _every(method, method.variants(facts))]
    if len(set(labels)) < len(labels):
        _fail(method, f"has variants of the same name: {labels}.")
    for variant in (v for v in _every(method, method.variants(facts)) if not v.cost(facts) > 0):
        _fail(method, f"says that a fit costs {variant.cost(facts)} seconds.")
    if not isinstance(method.shorter(facts, 0.01), Method):
        _fail(method, "has a shorter variant that is no method.")


def _every(method: Method, search: Variants) -> list[Method]:
    """All variants, each said to be better than the one before: the longest way."""
    out, loss = [next(search)], 1.0
    while len(out) < MOST_VARIANTS:
        loss *= 0.99
        try:
            out.append(search.send(loss))
        except StopIteration:
            return out
    _fail(method, f"has {MOST_VARIANTS} variants and more.")
