"""Every fault of the device is a typed rejection, and the next job is clean within 10 s."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright.verify import prepare, verify
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Measured, Rejected
from tilewright_sandbox.jobs import Judged, JudgeRequest
from tilewright_sandbox.spec import load_spec

HERE = Path(__file__).parent
FOLDER = load_spec(HERE.parents[1] / "specs/relu_bias")
FAULTS = sorted((HERE / "faults").glob("*.py"))
HONEST = (FOLDER.path / "solutions/right/flat.py").read_text()


def candidate(source: str) -> Candidate:
    found = parse_candidate(source, proposer="templates", spec=FOLDER.spec)
    assert isinstance(found, Candidate), found
    return found


def screening(target: str, blobs: Path) -> JudgeRequest | Rejected:
    """An honest candidate, built for a short verdict."""
    return prepare(
        FOLDER, candidate(HONEST), target=target, blobs_path=blobs, depth="screen", on="device", box="process"
    )


def clean_verdict(judge: JudgeProcess, target: str, blobs: Path) -> float:
    """Seconds until an honest job was judged after a fault."""
    request = prepare(
        FOLDER, candidate(HONEST), target=target, blobs_path=blobs, depth="screen", on="device", box="process"
    )
    assert not isinstance(request, Rejected), request
    begun = time.monotonic()
    answer = judge.ask(request, Judged)
    assert isinstance(answer.verdict, Measured), answer.verdict
    return time.monotonic() - begun


@pytest.mark.gpu
@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_fault_is_typed_and_the_next_job_is_clean(path: Path, judge: JudgeProcess, target: str, tmp_path: Path) -> None:
    codes = path.read_text().splitlines()[0].removeprefix("# code ").partition(":")[0].split("|")
    verdict = verify(
        FOLDER, candidate(path.read_text()), target=target, judge=judge, blobs_path=tmp_path, on="device", box="process"
    )
    assert isinstance(verdict, Rejected), verdict
    assert verdict.code in codes, verdict
    assert verdict.stage == "launch"
    assert clean_verdict(judge, target, tmp_path) < 10


@pytest.mark.gpu
@pytest.mark.parametrize("damage", ["truncated", "garbage", "other_bytes"])
def test_damaged_cubin_is_refused(damage: str, judge: JudgeProcess, target: str, tmp_path: Path) -> None:
    request = prepare(
        FOLDER, candidate(HONEST), target=target, blobs_path=tmp_path, depth="screen", on="device", box="process"
    )
    assert not isinstance(request, Rejected), request
    kernel = request.plans[0].kernels[0]
    whole = (tmp_path / kernel.cubin_sha256).read_bytes()
    damaged = {
        "truncated": whole[: len(whole) // 2],
        "garbage": b"\x00" * 4096,
        "other_bytes": whole[:-8] + b"overlaid",
    }
    (tmp_path / kernel.cubin_sha256).write_bytes(damaged[damage])
    verdict = judge.ask(request, Judged).verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.stage, verdict.code) == ("launch", "blob_differs")


@pytest.mark.gpu
def test_a_flood_of_nan_is_wrong_values(judge: JudgeProcess, target: str, tmp_path: Path) -> None:
    source = HONEST.replace("tl.store(y_ptr + index, y.to", "tl.store(y_ptr + index, (y * float('nan')).to")
    assert source != HONEST
    verdict = verify(
        FOLDER, candidate(source), target=target, judge=judge, blobs_path=tmp_path, on="device", box="process"
    )
    assert isinstance(verdict, Rejected)
    assert verdict.stage in ("memory", "budget"), verdict
