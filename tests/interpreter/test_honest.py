"""Honest kernels of unusual shape are measured: what a naive checker refuses, and this one must not.

The first lines of a file in tests/honest name its spec, what is unusual, and why a naive checker would refuse it; one
that Triton's interpreter cannot run says so in a third line. REFUSED are kernels that are refused today and should not
be: each entry is a defect with its cause, and a verdict that turns right fails here until the entry is taken out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright.verify import verify
from tilewright_sandbox.boxes import probe_all
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Measured, Rejected
from tilewright_sandbox.jobs import AuditReport, AuditRequest
from tilewright_sandbox.spec import SpecFolder, load_spec

HONEST = Path(__file__).parents[1] / "honest"
SHIPPED = Path(__file__).parents[2] / "specs"
FILES = sorted(HONEST.glob("*.py"))
SPECS = sorted(path.parent for path in HONEST.glob("specs/*/spec.toml"))
HEADER = re.compile(
    r"# honest on (?P<spec>[a-z][a-z0-9_]*): (?P<what>.+)\n"
    r"# naive checkers refuse it because: (?P<why>.+)\n"
    r"(?:# needs a device: (?P<device>.+)\n)?"
)
REFUSED: dict[str, str] = {
    "attention_half_probabilities": "budget: an intermediate is rounded to half, where the reference keeps float32",
}


@dataclass(frozen=True)
class Header:
    spec: str
    what: str
    why: str
    device: str | None


def header(path: Path) -> Header:
    match = HEADER.match(path.read_text())
    assert match is not None, f"{path.name} does not begin with the lines that name its spec and what is unusual"
    return Header(**match.groupdict())


def folder_of(name: str) -> SpecFolder:
    own = HONEST / "specs" / name
    return load_spec(own if own.is_dir() else SHIPPED / name)


def params() -> list[object]:
    """Every file; those of REFUSED as strict failures with their cause."""
    return [
        pytest.param(
            path, id=path.stem, marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason=REFUSED[path.stem])
        )
        if path.stem in REFUSED
        else pytest.param(path, id=path.stem)
        for path in FILES
    ]


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeProcess]:
    with JudgeProcess() as process:
        yield process


@pytest.fixture(scope="module")
def box() -> str:
    return "bubblewrap" if any(r.name == "bubblewrap" and r.usable for r in probe_all()) else "process"


@pytest.mark.parametrize("path", params())
def test_honest_kernel_is_measured(path: Path, judge: JudgeProcess, box: str, tmp_path: Path) -> None:
    said = header(path)
    folder = folder_of(said.spec)
    candidate = parse_candidate(path.read_text(), proposer="person", spec=folder.spec)
    assert isinstance(candidate, Candidate), candidate.message
    seed = hashlib.sha256(path.stem.encode()).hexdigest()[:32]
    verdict = verify(folder, candidate, box=box, target="sm_90", judge=judge, blobs_path=tmp_path, seed=seed)
    if said.device is not None and isinstance(verdict, Rejected):
        # The judge is reached only after every Plan was captured and compiled for sm_90.
        assert (verdict.stage, verdict.code) == ("launch", "not_interpretable"), verdict.message
        assert any(tmp_path.iterdir())
        return
    assert isinstance(verdict, Measured), f"{verdict.stage}/{verdict.code}: {verdict.message}"
    assert verdict.evidence == "interpreter + compiled for sm_90"
    assert len(verdict.plans) == len(folder.spec.with_role("tune", "bench"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_spec_of_the_corpus_is_worth_searching(path: Path, judge: JudgeProcess) -> None:
    report = judge.ask(AuditRequest(spec_path=str(path), seed=0), AuditReport)
    assert [f"{finding.name}: {finding.message}" for finding in report.findings if finding.status != "PASS"] == []


def test_corpus_is_as_wide_as_it_says() -> None:
    """At least fifty files, every shipped spec among them, every spec of the corpus used, no entry of REFUSED stale."""
    specs = {header(path).spec for path in FILES}
    assert len(FILES) >= 50
    assert specs >= {path.parent.name for path in SHIPPED.glob("*/spec.toml")} | {path.name for path in SPECS}
    assert REFUSED.keys() <= {path.stem for path in FILES}
