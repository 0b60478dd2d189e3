"""Verify, end to end: the box's word is on every verdict, a seed repeats one, and failures go to their own channel."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright.verify import open_builder, verify
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Config, Measured, Plan, Rejected, SandboxUnavailable
from tilewright_sandbox.spec import SpecError, find_spec, load_spec

SOFTMAX = load_spec(find_spec("softmax", Path(__file__).parents[2]))
SEED = "00112233445566778899aabbccddeeff"


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeProcess]:
    with JudgeProcess() as process:
        yield process


def solution(name: str, proposer: str = "person") -> Candidate:
    parsed = parse_candidate((SOFTMAX.path / "solutions" / name).read_text(), proposer=proposer, spec=SOFTMAX.spec)
    assert isinstance(parsed, Candidate), parsed
    return parsed


def test_a_right_kernel_is_measured_and_its_seed_repeats_the_verdict(judge: JudgeProcess, tmp_path: Path) -> None:
    right = solution("right/row_in_registers.py")
    verdicts = []
    with open_builder("process", trusted=False) as builder:
        for _ in range(2):
            verdict = verify(
                SOFTMAX, right, box="process", target="sm_90", judge=judge, blobs_path=tmp_path, seed=SEED,
                depth="screen", builder=builder,
            )  # fmt: skip
            assert isinstance(verdict, Measured), verdict
            verdicts.append(verdict)
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].box == "process (unsafe)"
    assert any("unsafe" in obstacle for obstacle in verdicts[0].obstacles)
    assert (verdicts[0].seed, verdicts[0].target) == (SEED, "sm_90")
    assert verdicts[0].evidence == "interpreter + compiled for sm_90"
    assert len(verdicts[0].plans) == len(SOFTMAX.spec.with_role("tune", "bench"))
    for sha256 in verdicts[0].plans:
        plan = Plan.model_validate_json((tmp_path / sha256).read_bytes())
        assert plan.sha256 == sha256
        assert all((tmp_path / kernel.cubin_sha256).is_file() for kernel in plan.kernels)


def test_a_wrong_kernel_is_rejected_with_its_box(judge: JudgeProcess, tmp_path: Path) -> None:
    wrong = solution("wrong/base_two.py")
    verdict = verify(
        SOFTMAX, wrong, box="process", target="sm_90", judge=judge, blobs_path=tmp_path, depth="screen"
    )  # fmt: skip
    assert isinstance(verdict, Rejected)
    assert (verdict.stage, verdict.box) == ("budget", "process (unsafe)")


def test_a_config_that_does_not_fit_space_is_rejected_at_source(judge: JudgeProcess, tmp_path: Path) -> None:
    right = solution("right/row_in_registers.py")
    verdict = verify(
        SOFTMAX, right, config=Config({"TILE": 1}), box="process", target="sm_90", judge=judge, blobs_path=tmp_path
    )
    assert isinstance(verdict, Rejected)
    assert (verdict.stage, verdict.code) == ("source", "config_mismatch")
    assert "TILE" in verdict.message


def test_a_broken_reference_is_the_specs_failure(judge: JudgeProcess, tmp_path: Path) -> None:
    shutil.copytree(SOFTMAX.path, tmp_path / "softmax")
    folder = load_spec(tmp_path / "softmax")
    text = folder.reference_path.read_text()
    head, _, _ = text.partition("return ")
    folder.reference_path.write_text(f"{head}raise ValueError('broken on purpose', x)\n")
    with pytest.raises(SpecError, match="broken on purpose"):
        verify(
            load_spec(folder.path), solution("right/row_in_registers.py"), box="process", target="sm_90", judge=judge,
            blobs_path=tmp_path / "blobs", depth="screen",
        )  # fmt: skip


def test_without_a_box_that_isolates_a_persons_file_is_not_run(
    judge: JudgeProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="--sandbox process"):
        verify(SOFTMAX, solution("right/online.py"), target="sm_90", judge=judge, blobs_path=tmp_path)
