"""Every right solution that ships with a spec is measured, every wrong one is rejected at the stage it names.

Seeds are fixed: a large draw may show at one stage what the next draw shows only at a later one. Right ones are built
and run in a box, as `verify` does it; wrong ones, of which there are many, in forks of what has imported torch already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutants import start_judge
from warm_build import BuildHere

from tilewright.judge import JudgeProcess
from tilewright.verify import verify
from tilewright_sandbox.boxes import Session, probe_all
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Measured, Rejected
from tilewright_sandbox.spec import load_spec

SPECS = Path(__file__).parents[2] / "specs"
RIGHT = sorted(SPECS.glob("*/solutions/right/*.py"))
WRONG = sorted(SPECS.glob("*/solutions/wrong/*.py"))


def name(path: Path) -> str:
    return f"{path.parents[2].name}/{path.stem}"


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeProcess]:
    with JudgeProcess() as process:
        yield process


@pytest.fixture(scope="module")
def warm_judge() -> Iterator[JudgeProcess]:
    with start_judge() as process:
        yield process


@pytest.fixture(scope="module")
def box() -> str:
    return "bubblewrap" if any(r.name == "bubblewrap" and r.usable for r in probe_all()) else "process"


def verdict_on(
    path: Path, judge: JudgeProcess, box: str, blobs_path: Path, builder: Session | None = None
) -> Rejected | Measured:
    folder = load_spec(path.parents[2])
    candidate = parse_candidate(path.read_text(), proposer="person", spec=folder.spec)
    if isinstance(candidate, Rejected):
        return candidate
    seed = hashlib.sha256(name(path).encode()).hexdigest()[:32]
    return verify(
        folder, candidate, box=box, target="sm_90", judge=judge, blobs_path=blobs_path, seed=seed, builder=builder
    )


@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_solution_is_measured(path: Path, judge: JudgeProcess, box: str, tmp_path: Path) -> None:
    verdict = verdict_on(path, judge, box, tmp_path)
    assert isinstance(verdict, Measured), f"{verdict.stage}/{verdict.code}: {verdict.message}"
    assert verdict.evidence == "interpreter + compiled for sm_90"
    assert len(verdict.plans) == len(load_spec(path.parents[2]).spec.with_role("tune", "bench"))


@pytest.mark.parametrize("path", WRONG, ids=name)
def test_wrong_solution_is_rejected_at_the_stage_it_names(path: Path, warm_judge: JudgeProcess, tmp_path: Path) -> None:
    stage = path.read_text().split("\n")[0].removeprefix("# rejected at ").split(":")[0]
    verdict = verdict_on(path, warm_judge, "process", tmp_path, BuildHere())
    assert isinstance(verdict, Rejected), f"measured, but it is wrong: {path.read_text().splitlines()[0]}"
    assert verdict.stage == stage, f"rejected at {verdict.stage}/{verdict.code}: {verdict.message}"
    assert verdict.message
