"""Right solutions with one edit that changes their meaning: the judge must reject every one (tests/mutants/README.md).

Builds are captures, and the judge's sessions are forks of it. A fixed third is left to TILEWRIGHT_ALL_MUTANTS=1.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mutants
import pytest

from tilewright.judge import JudgeProcess
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import STAGES, Candidate, Measured, Rejected
from tilewright_sandbox.spec import load_spec

pytest.importorskip("triton")


SPECS: Path = mutants.SPECS
MUTANTS: list[Any] = mutants.read_mutants()
SEEN_HERE = [mutant for mutant in MUTANTS if not mutant.needs_device]
NEED_A_DEVICE = [mutant for mutant in MUTANTS if mutant.needs_device]
RUN = STAGES[STAGES.index("launch") : STAGES.index("ir") + 1]
"""Stages at which a candidate that was built is rejected for what it computes."""
LEFT_OUT = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("TILEWRIGHT_ALL_MUTANTS") != "1", reason="TILEWRIGHT_ALL_MUTANTS=1 judges this third too"
    ),
]


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeProcess]:
    with mutants.start_judge() as process:
        yield process


def cases(selected: list[Any]) -> list[Any]:
    cases = []
    for place, mutant in enumerate(selected):
        marks = list(LEFT_OUT) if place % 3 == 1 else []
        if mutant.hole:
            marks.append(pytest.mark.xfail(strict=True, reason=mutant.hole, raises=AssertionError))
        cases.append(pytest.param(mutant, id=mutant.id, marks=marks))
    return cases


def test_every_spec_has_mutants_that_are_solutions_but_for_one_edit() -> None:
    assert {mutant.spec for mutant in MUTANTS} == {path.parent.name for path in SPECS.glob("*/spec.toml")}
    assert min(Counter(mutant.spec for mutant in SEEN_HERE if not mutant.hole).values()) >= 12
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        candidate = parse_candidate(mutant.source(), proposer="person", spec=load_spec(SPECS / mutant.spec).spec)
        assert isinstance(candidate, Candidate), f"{mutant.id}: {candidate.message}"


def test_an_edit_of_text_that_is_gone_is_refused() -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        mutants.Mutant("softmax", "gone", "online", "no such text", "", "").source()
    with pytest.raises(ValueError, match=r"occurs \d\d times"):
        mutants.Mutant("softmax", "everywhere", "online", "x", "", "").source()


@pytest.mark.parametrize("mutant", cases(SEEN_HERE))
def test_mutant_is_rejected_for_what_it_computes(
    mutant: Any, judge: JudgeProcess, record_property: Callable[[str, object], None]
) -> None:
    verdict = mutants.judge_mutant(mutant, judge)
    record_property("stage", verdict.stage if isinstance(verdict, Rejected) else "measured")
    assert isinstance(verdict, Rejected), f"measured, though {mutant.why}"
    assert verdict.stage in RUN, f"never ran: {verdict.stage}/{verdict.code}: {verdict.message}"
    assert verdict.code != "not_interpretable", verdict.message


@pytest.mark.parametrize("mutant", cases(NEED_A_DEVICE))
def test_what_needs_a_device_is_not_seen_here(mutant: Any, judge: JudgeProcess) -> None:
    """Were it rejected, `needs_device` would be out of date."""
    verdict = mutants.judge_mutant(mutant, judge)
    assert isinstance(verdict, Measured), f"{verdict.stage}/{verdict.code}: {verdict.message}"
