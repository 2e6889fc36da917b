"""A short part of each kind of attack with every run of the tests; `make attack` is the whole of it."""

import os

import numpy as np
import pytest

from attack.__main__ import KINDS, table
from attack.arena import Wrong, in_own_words, outcome_of, peak, run_cases

CASES = {
    "files": 40,
    "parts": 12,
    "settings": 200,
    "calls": 30,
    "kills": 1,
    "disks": 1,
    "memory": 1,
    "threads": 1,
    "places": 1,
    "structure": 70,
    "properties": 4,
    "app": 2,
    "formulas": 100,
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the attack forks")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_goes_bad(kind):
    tally = run_cases(f"attack.{kind}", 240.0, seed=1, most=CASES[kind])
    assert tally.bad == []
    assert tally.cases == CASES[kind]
    assert f"| {kind} | {tally.cases} |" in table([tally])


def test_what_goes_bad_is_seen():
    def raw():
        return [][1]

    def wrong():
        raise Wrong("a value changed")

    def refused():
        import tensorfill as tfl

        tfl.complete(3.0)

    assert outcome_of(raw).startswith("IndexError at test_attack.py")
    assert outcome_of(wrong) == "a value changed"
    assert outcome_of(refused) == "sentence"
    assert outcome_of(lambda: None) == "answer"
    assert not in_own_words(RuntimeError())


def test_crashes_and_hangs_are_one_bad_case_each(tmp_path, monkeypatch):
    (tmp_path / "misbehaves.py").write_text(
        "import os, time\nclass Cases:\n    hang = 0.3\n    def __init__(self, seed): pass\n"
        "    def make(self, k):\n"
        "        does = [lambda: None, lambda: os.kill(os.getpid(), 11), lambda: time.sleep(60)]\n"
        "        return f'#{k}', does[k % 3]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    tally = run_cases("misbehaves", 120.0, most=4)
    assert tally.bad == ["#1: crash, exit code -11", "#2: hangs for more than 0.3 s"]
    assert (tally.cases, tally.answers) == (4, 2)


def test_memory_beyond_the_budget_is_seen():
    before = peak()[0]
    np.ones(20 * 2**20)
    assert peak()[1] - before > 150 * 2**20
    assert peak()[1] - before < 50 * 2**20  # the most since the last look
