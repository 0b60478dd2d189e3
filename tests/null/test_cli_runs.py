"""Finding a run by what a person types, and the rules of acceptance."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from tilewright.certificate import Certificate, config_bytes, publish, repeat_command, sha256
from tilewright.cli.candidates import chosen_config
from tilewright.cli.output import CommandError
from tilewright.loop.folder import find_run, list_runs, new_run_folder, new_run_id
from tilewright.loop.journal import FILE, JournalError
from tilewright.loop.measured import verdict_obstacles
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import (
    Axis,
    Candidate,
    Check,
    Config,
    Measured,
    MeasuredTime,
    Rejected,
    Spec,
    TensorInput,
    TensorOutput,
    Workload,
)
from tilewright_sandbox.spec import load_spec, scaffold_spec

NAMES = ["20260101T000000Z-softmax-aaaa", "20260101T000000Z-softmax-aabb", "20260102T000000Z-rmsnorm-0001"]
SOURCE = """
import triton
import triton.language as tl

SPACE = {"BLOCK": [64, 128], "ROWS": [1, 2], "EXACT": [True, False], "num_warps": [4]}
WHERE = ["BLOCK >= 128"]


@triton.jit
def double(x_ptr, BLOCK: tl.constexpr):
    pass


def run(x, scale, *, BLOCK, ROWS, EXACT, num_warps):
    return x
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / FILE).touch()
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("word", "index"),
    [("latest", 2), (NAMES[0], 0), ("20260102", 2), ("20260101T000000Z-softmax-aab", 1)],
)
def test_a_run_is_found_by_id_beginning_or_latest(root: Path, word: str, index: int) -> None:
    assert find_run(word, root).name == NAMES[index]


def test_a_run_is_found_by_path(root: Path) -> None:
    assert find_run(str(root / NAMES[1]), root) == root / NAMES[1]


@pytest.mark.parametrize(
    ("word", "message"), [("20260101", "beginning of 2 runs — say more"), ("x", "no run is called")]
)
def test_unclear_or_unknown_runs_are_errors_that_name_others(root: Path, word: str, message: str) -> None:
    with pytest.raises(JournalError, match=message) as error:
        find_run(word, root)
    assert "20260101T000000Z-softmax-aabb" in str(error.value)


def test_a_run_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    run_id = new_run_id("softmax")
    with contextlib.suppress(RuntimeError), new_run_folder(tmp_path, run_id) as folder:
        (folder / FILE).touch()
        raise RuntimeError
    assert list_runs(tmp_path) == []
    run_id = new_run_id("softmax")
    with new_run_folder(tmp_path, run_id) as folder:
        (folder / FILE).touch()
        assert list_runs(tmp_path) == []
    assert [path.name for path in list_runs(tmp_path)] == [run_id]


def test_a_folder_that_cannot_be_written_is_an_error_with_a_mend(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(JournalError, match="set TILEWRIGHT_RUNS"), new_run_folder(tmp_path / "runs", "a-b-0000"):
        pass


def person(tmp_path: Path) -> tuple[Candidate, Path]:
    folder = scaffold_spec("my_op", tmp_path)
    candidate = parse_candidate(SOURCE, proposer="person")
    assert isinstance(candidate, Candidate), candidate
    return candidate, folder


def test_config_of_the_command_line_is_laid_over_the_default(tmp_path: Path) -> None:
    candidate, folder = person(tmp_path)
    spec = load_spec(folder).spec
    assert chosen_config([], spec, candidate) is None
    point = chosen_config(["ROWS=2, EXACT=False"], spec, candidate)
    assert point is not None
    assert point.root == {"BLOCK": 128, "ROWS": 2, "EXACT": False, "num_warps": 4}
    assert [type(value) for value in point.root.values()] == [int, int, bool, int]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("BLOCK", "is not NAME=VALUE"),
        ("BLOK=64", "did you mean BLOCK"),
        ("BLOCK=96", "choose from .64, 128."),
        ("EXACT=1", "choose from .True, False."),
        ("num_warps=four", "choose from .4."),
    ],
)
def test_config_that_is_no_point_of_space_is_refused(tmp_path: Path, word: str, message: str) -> None:
    candidate, folder = person(tmp_path)
    with pytest.raises(CommandError, match=message):
        chosen_config([word], load_spec(folder).spec, candidate)


SPEC = Spec(
    name="double", summary="y = 2 x", op="double", axes={"n": Axis(min=1, max=4096)},
    inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
    outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
    workloads=(Workload(role="bench", axes={"n": 64}),), reference_sha256="0" * 64,
)  # fmt: skip


def timed(
    low: float, *, uuid: str | None = "GPU-1", box: str = "bubblewrap", physics: str = "PASS", label: int = 64
) -> Measured:
    workload = Workload(role="bench", axes={"n": label})
    time = MeasuredTime(
        workload=workload,
        median_us=10,
        p10_us=9,
        p90_us=11,
        samples=100,
        baselines_us={"eager": 20.0},
        ratio=(low, low + 0.1, low + 0.2),
        roofline_us=5,
    )
    return Measured(
        candidate_id="0" * 16,
        config=Config({"BLOCK": 64}),
        evidence="device: NVIDIA H200",
        target="sm_90",
        device_uuid=uuid,
        checks=(Check(name="physics", status=physics, reason="" if physics == "PASS" else "no peaks"),),  # type: ignore[arg-type]
        rung="bitwise",
        times=(time,),
        box=box,
        seed_commitment="0" * 64,
        seed="00",
    )


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (timed(1.049), "the lower end of the speed-up is 1.049, less than min_speedup 1.05, at n=64"),
        (timed(1.3, label=65), "no time was measured at n=64"),
        (timed(1.3, box="process (unsafe)"), "the candidate was built in process (unsafe)"),
        (timed(1.3, physics="NOT_RUN"), "physics was not run: no peaks"),
        (
            Rejected(candidate_id="0" * 16, stage="budget", code="over_budget", message="c = 31."),
            "it was rejected at budget: c = 31.",
        ),
    ],
)
def test_every_obstacle_alone_blocks_acceptance(verdict: Measured | Rejected, reason: str) -> None:
    assert verdict_obstacles(verdict, SPEC) == (reason,)


def test_what_has_no_obstacle_is_published_with_its_verdict(tmp_path: Path) -> None:
    verdict = timed(1.3)
    assert verdict_obstacles(verdict, SPEC) == ()
    candidate, folder = person(tmp_path)
    certificate = Certificate(
        spec="my_op", spec_sha256="0" * 64, reference_sha256="0" * 64, kernel_sha256=sha256(SOURCE.encode()),
        config_sha256=sha256(config_bytes(verdict.config)), device="NVIDIA H200", device_uuid="GPU-1", target="sm_90",
        speedup=(1.3, 1.4, 1.5), verdict=verdict, timing=(), plans=(), versions={}, run="r",
        command=repeat_command("specs/my_op", Path("kernel.py"), verdict.config, "sm_90"),
    )  # fmt: skip
    path = publish(load_spec(folder), candidate, verdict.config, certificate)
    assert path == folder / "accepted" / "sm_90"
    assert (path / "kernel.py").read_text() == SOURCE
    assert json.loads((path / "config.json").read_text()) == {"BLOCK": 64}
    assert sha256((path / "config.json").read_bytes()) == certificate.config_sha256
    assert Certificate.model_validate_json((path / "certificate.json").read_bytes()) == certificate
    assert certificate.command == (
        "tilewright verify specs/my_op kernel.py --target sm_90 --judge device --config BLOCK=64"
    )


def test_a_device_verdict_without_times_is_no_win() -> None:
    bare = timed(1.3).model_copy(update={"times": ()})
    assert verdict_obstacles(bare, SPEC) == ("no time was measured at n=64",)
