"""`judge` end to end without plans: what it answers where a candidate cannot be run, is screened, or is honest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tilewright_sandbox.contract import Config, Measured, Rejected, SandboxUnavailable
from tilewright_sandbox.jobs import JudgeRequest
from tilewright_sandbox.judge.checks import CHECKS
from tilewright_sandbox.judge.observe import Observations
from tilewright_sandbox.judge.oracle import Oracle
from tilewright_sandbox.judge.reference import Reference
from tilewright_sandbox.judge.verdict import judge
from tilewright_sandbox.spec import load_spec

SOFTMAX = Path(__file__).parents[2] / "specs" / "softmax"
SEED = "00" * 16


def softmax(body: str, where: str = "[]", launch: str = "") -> str:
    return f"""import torch, triton
import triton.language as tl

SPACE = {{"BLOCK": [1024]}}
WHERE = {where}

@triton.jit
def rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < cols
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf")).to(tl.float32)
    {body}
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)

def run(x, *, BLOCK):
    {launch or "pass"}
    y = torch.empty_like(x)
    rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK)
    return y
"""


HONEST = "e = tl.exp(x - tl.max(x)); y = e / tl.sum(e)"


def verdict_on(source: str, **options: Any) -> Rejected | Measured:
    settings: dict[str, Any] = {"plans": (), "blobs_path": "/nowhere", "seed": SEED} | options
    request = JudgeRequest(
        spec_path=str(SOFTMAX), source=source, proposer="templates", config=Config({"BLOCK": 1024}), target="sm_90",
        box="process", **settings,
    )  # fmt: skip
    return judge(request, load_spec(SOFTMAX))


def test_honest_candidate_is_judged_within_its_where_and_the_exclusions_are_counted() -> None:
    measured = verdict_on(softmax(HONEST, where='["cols <= BLOCK", "cols % 2 == 0"]'), seed=None)
    assert isinstance(measured, Measured), measured.message
    assert measured.evidence == "interpreter"
    facts = {check.name: check.facts for check in measured.checks}
    assert int(facts["shapes"]["shapes_infeasible"]) > 0
    assert 0 < float(facts["shapes"]["shapes_domain_share"]) < 0.6
    assert 0 < float(facts["budget"]["worst_c"]) <= 16
    assert len(bytes.fromhex(measured.seed)) == 16
    assert measured.seed != SEED
    assert any("ir was not run" in why for why in measured.obstacles), "no plan was given, so no TTIR was read"


def test_screening_leaves_the_rest_not_run_and_blocks_acceptance() -> None:
    measured = verdict_on(softmax(HONEST, where='["cols <= BLOCK"]'), depth="screen")
    assert isinstance(measured, Measured)
    left = {check.name for check in measured.checks if check.status == "NOT_RUN" and check.mandatory}
    assert left >= {"lattice", "transforms", "shapes", "gradients", "physics"}


def test_what_the_interpreter_cannot_run_is_not_measured() -> None:
    asm = 'y = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)'
    rejected = verdict_on(softmax(asm))
    assert isinstance(rejected, Rejected)
    assert (rejected.stage, rejected.code) == ("launch", "not_interpretable")
    assert "Judge it on a GPU" in rejected.message


def test_a_launcher_that_raises_is_rejected_with_the_case() -> None:
    rejected = verdict_on(softmax(HONEST, launch='assert x.shape[1] % 2 == 0, "rows must be even"'))
    assert isinstance(rejected, Rejected)
    assert rejected.stage == "launch"
    assert "rows must be even" in rejected.message
    assert "rows=5,cols=61" in str(rejected.evidence["case"])


def test_where_that_admits_no_shape_is_rejected_without_a_run() -> None:
    rejected = verdict_on(softmax(HONEST, where='["cols > 20000"]'))
    assert isinstance(rejected, Rejected)
    assert (rejected.stage, rejected.code) == ("shapes", "no_feasible_shape")


@pytest.mark.parametrize(("infeasible", "slow", "status"), [(3, 0, "FAIL"), (0, 3, "NOT_RUN"), (3, 3, "NOT_RUN")])
def test_where_is_blamed_only_for_what_it_excludes(infeasible: int, slow: int, status: str) -> None:
    folder = load_spec(SOFTMAX)
    seen = Observations(folder.spec, Config({}), (), {}, Oracle(folder.spec, Reference(folder), bytes(16)))
    seen.notes |= {"shapes_run": 0, "shapes_infeasible": infeasible, "shapes_too_slow": slow}
    check = CHECKS["shapes"](seen)
    assert check.status == status
    assert ("WHERE excludes every shape" in check.reason) == (slow == 0)
    assert ("too slow" in check.reason) == (slow > 0)
    assert check.mandatory


def test_message_of_wrong_values_says_what_where_and_in_which_case() -> None:
    rejected = verdict_on(softmax("e = tl.exp(x - tl.max(x)); y = e / (tl.sum(e) + 1)"))
    assert isinstance(rejected, Rejected)
    assert rejected.stage == "budget"
    assert rejected.evidence["first"] == "[0, 0]"
    for part in ("y[0, 0] is 0.", "should be 0.", "every element", "rows=5,cols=61 float32"):
        assert part in rejected.message
    assert [check.name for check in rejected.checks] == ["structure", "memory", "determinism", "budget", "ir"]


READS_THE_ROW_BEFORE = (
    f"{HONEST}; row = tl.program_id(0); before = tl.load(y_ptr + (row - 1) * cols, mask=row > 0, other=1.0); "
    "y = tl.where(before >= 0.0, y, 0.0)"
)
WAITS_FOR_THE_ROW_BEFORE = f"""{HONEST}
    row = tl.program_id(0)
    while (row > 0) & (tl.load(done_ptr + row - 1, mask=row > 0, other=1) == 0):
        pass
    tl.atomic_xchg(done_ptr + row, 1)"""
FLAGS = "done = torch.zeros(x.shape[0], dtype=torch.int32, device='cuda')"


def test_outputs_that_hang_on_the_order_of_programs_are_rejected() -> None:
    rejected = verdict_on(softmax(READS_THE_ROW_BEFORE))
    assert isinstance(rejected, Rejected)
    assert (rejected.stage, rejected.code) == ("determinism", "order_of_programs"), rejected.message
    assert "the last program runs first" in rejected.message


def test_programs_that_wait_for_earlier_ones_are_not_judged_on_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright_sandbox.judge.observe.RUN_TIMEOUT_S", 3.0)
    waits = softmax(WAITS_FOR_THE_ROW_BEFORE, where='["cols <= BLOCK"]', launch=FLAGS)
    waits = waits.replace("cols, BLOCK: tl", "done_ptr, cols, BLOCK: tl").replace(
        "y, x.shape[1],", "y, done, x.shape[1],"
    )
    measured = verdict_on(waits, depth="screen")
    assert isinstance(measured, Measured), measured.message
    (check,) = [check for check in measured.checks if check.name == "determinism"]
    assert (check.status, check.mandatory) == ("NOT_RUN", True)
    assert "programs wait" in check.reason


def test_a_plan_whose_ttir_is_missing_is_the_machines_failure(tmp_path: Path) -> None:
    kernel: dict[str, Any] = {
        "name": "rows", "cubin_sha256": "0" * 64, "ttir_sha256": "1" * 64, "num_warps": 4, "num_stages": 1,
        "shared_bytes": 0, "signature": [],
        "resources": {"registers": 1, "spill_bytes": 0, "stack_bytes": 0, "shared_bytes": 0, "cubin_bytes": 1},
    }  # fmt: skip
    plan: dict[str, Any] = {
        "spec_sha256": "0" * 64, "candidate_id": "0" * 16, "config": {"BLOCK": 1024}, "target": "sm_90",
        "workload": {"role": "tune", "axes": {"rows": 1, "cols": 1}}, "dtypes": {}, "versions": {}, "compiled": True,
        "buffers": [], "kernels": [kernel], "steps": [], "inputs": {}, "outputs": {},
    }  # fmt: skip
    with pytest.raises(SandboxUnavailable, match="TTIR is missing"):
        verdict_on(softmax(HONEST), plans=(plan,), blobs_path=str(tmp_path))
