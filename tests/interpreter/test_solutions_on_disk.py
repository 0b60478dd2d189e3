"""The solutions that ship with specs, as files: they parse, say what they are and cover the stages. Nothing is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright.verify import default_config
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import STAGES, Candidate, Rejected
from tilewright_sandbox.spec import load_spec

SPECS = Path(__file__).parents[2] / "specs"
FOLDERS = sorted(path.parent for path in SPECS.glob("*/spec.toml"))
REACHED_WITHOUT_A_GPU = (
    "source", "policy", "capture", "compile", "launch",
    "structure", "memory", "budget", "lattice", "transforms", "shapes", "ir",
)  # fmt: skip


def stage_of(path: Path) -> str:
    match = re.match(r"# rejected at ([a-z]+): \S.*\n", path.read_text())
    assert match, f"{path} must start with `# rejected at <stage>: <why>`"
    assert match[1] in STAGES, f"{path} names no stage: {match[1]}"
    return match[1]


def wrong_solutions(folder: Path) -> list[Path]:
    return sorted(folder.glob("solutions/wrong/*.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_spec_has_two_right_solutions_and_four_wrong_ones_of_three_stages(folder: Path) -> None:
    assert len(list(folder.glob("solutions/right/*.py"))) >= 2
    assert len(wrong_solutions(folder)) >= 4
    assert len({stage_of(path) for path in wrong_solutions(folder)}) >= 3


def test_the_wrong_solutions_cover_every_stage_reached_without_a_gpu() -> None:
    assert {stage_of(path) for folder in FOLDERS for path in wrong_solutions(folder)} >= set(REACHED_WITHOUT_A_GPU)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_solutions_parse_and_their_first_trial_is_feasible_unless_the_source_is_what_is_wrong(folder: Path) -> None:
    spec = load_spec(folder).spec
    for path in sorted(folder.glob("solutions/*/*.py")):
        candidate = parse_candidate(path.read_text(), proposer="person", spec=spec)
        if path.parent.name == "wrong" and stage_of(path) == "source":
            assert isinstance(candidate, Rejected), path
            assert candidate.stage == "source"
        else:
            assert isinstance(candidate, Candidate), f"{path}: {candidate}"
            config = default_config(spec, candidate)
            assert config is not None, path
            assert not candidate.trials or config == candidate.trials[0], path
