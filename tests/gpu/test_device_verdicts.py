"""Right solutions are measured on the device, wrong ones rejected, and what a verdict says is whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright.verify import verify
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Measured, MeasuredTime, Rejected
from tilewright_sandbox.spec import load_spec

SPECS = Path(__file__).parents[2] / "specs"
RIGHT = sorted(SPECS.glob("*/solutions/right/*.py"))
WRONG = sorted(SPECS.glob("*/solutions/wrong/*.py"))


def name(path: Path) -> str:
    return f"{path.parents[2].name}/{path.stem}"


def verdict_on(
    path: Path, judge: JudgeProcess, target: str, blobs: Path, *, timed: bool = False
) -> Rejected | Measured:
    folder = load_spec(path.parents[2])
    candidate = parse_candidate(path.read_text(), proposer="templates", spec=folder.spec)
    if isinstance(candidate, Rejected):
        return candidate
    return verify(
        folder, candidate, target=target, judge=judge, blobs_path=blobs, on="device", box="process", timed=timed
    )


@pytest.mark.gpu
@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_solution_is_measured(path: Path, judge: JudgeProcess, target: str, tmp_path: Path) -> None:
    verdict = verdict_on(path, judge, target, tmp_path)
    assert isinstance(verdict, Measured), f"{verdict.stage}/{verdict.code}: {verdict.message}"
    assert verdict.evidence.startswith("device: ")
    assert verdict.device_uuid
    assert hashlib.sha256(bytes.fromhex(verdict.seed)).hexdigest() == verdict.seed_commitment


@pytest.mark.gpu
@pytest.mark.parametrize("path", WRONG, ids=name)
def test_wrong_solution_is_rejected(path: Path, judge: JudgeProcess, target: str, tmp_path: Path) -> None:
    assert isinstance(verdict_on(path, judge, target, tmp_path), Rejected)


@pytest.mark.gpu
def test_a_timed_verdict_holds_every_figure(judge: JudgeProcess, target: str, tmp_path: Path) -> None:
    verdict = verdict_on(SPECS / "rmsnorm/solutions/right/row_in_registers.py", judge, target, tmp_path, timed=True)
    assert isinstance(verdict, Measured), verdict
    times = [time for time in verdict.times if isinstance(time, MeasuredTime)]
    assert [time.workload.role for time in times] == ["bench", "bench"]
    for time in times:
        assert set(time.baselines_us) == {"eager", "compile", "max-autotune"}
        assert time.ratio[0] <= time.ratio[1] <= time.ratio[2]
        assert time.baselines_us[time.strongest] == min(time.baselines_us.values())
        assert 0.9 * time.roofline_us < time.median_us
        assert time.noise is not None
        assert time.noise[0] < 1.02
        assert time.noise[2] > 0.98
    physics = next(check for check in verdict.checks if check.name == "physics")
    assert physics.status == "PASS"
