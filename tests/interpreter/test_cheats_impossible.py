"""What tests/cheats/impossible.toml claims: cheats that a candidate file cannot express here, tried all the same.

Where a candidate has to tell what it found in its box, it raises, and the rejection's message carries it out. Such
candidates are run for their outputs alone, as `interpret` runs them: the rules on source, which are read in a build,
would stop them before they reach the box's walls.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright.verify import build_plans, default_config, open_builder
from tilewright_sandbox.boxes import probe_all
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Plan, Rejected
from tilewright_sandbox.jobs import AuditReport, AuditRequest, Judged, JudgeRequest
from tilewright_sandbox.spec import load_spec

SOFTMAX = load_spec(Path(__file__).parents[2] / "specs" / "softmax")
HONEST = """
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]
# BEFORE

@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row + cols, (e / tl.sum(e, 0)).to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    # INSIDE
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
"""


def softmax(*, before: str = "", inside: str = "") -> Candidate:
    """The honest softmax, with lines put at its top level and into run."""
    lines = "\n    ".join(inside.strip("\n").split("\n"))
    source = HONEST.replace("# BEFORE", before.strip("\n")).replace("# INSIDE", lines)
    candidate = parse_candidate(source, proposer="person", spec=SOFTMAX.spec)
    assert isinstance(candidate, Candidate), candidate
    return candidate


@pytest.fixture(scope="module")
def box() -> str:
    return "bubblewrap" if any(r.name == "bubblewrap" and r.usable for r in probe_all()) else "process"


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeProcess]:
    with JudgeProcess() as process:
        yield process


@pytest.fixture
def isolated(box: str) -> str:
    if box == "process":
        pytest.skip("no isolating box on this machine")
    return box


ONE_WORKLOAD = SOFTMAX.spec.model_copy(update={"workloads": SOFTMAX.spec.with_role("tune")})


def plans_of(candidate: Candidate, box: str, blobs_path: Path) -> tuple[Plan, ...] | Rejected:
    config = default_config(SOFTMAX.spec, candidate)
    assert config is not None
    with open_builder(box, trusted=False) as session:
        return build_plans(session, ONE_WORKLOAD, candidate, config, "sm_90", blobs_path)


def without_id(plans: tuple[Plan, ...] | Rejected) -> list[bytes]:
    assert not isinstance(plans, Rejected), plans.message
    return [plan.model_copy(update={"candidate_id": "-"}).canonical() for plan in plans]


def said(candidate: Candidate, box: str, judge: JudgeProcess, blobs_path: Path) -> str:
    """The message with which run gave up in its box."""
    config = default_config(SOFTMAX.spec, candidate)
    assert config is not None
    request = JudgeRequest(
        spec_path=str(SOFTMAX.path), source=candidate.source, proposer=candidate.proposer, config=config, plans=(),
        blobs_path=str(blobs_path), target="sm_90", box=box, depth="screen",
    )  # fmt: skip
    refused = judge.ask(request, Judged).verdict
    assert isinstance(refused, Rejected)
    assert (refused.stage, refused.code) == ("launch", "raised"), refused.message
    return refused.message


@pytest.fixture(scope="module")
def honest(box: str, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return without_id(plans_of(softmax(), box, tmp_path_factory.mktemp("blobs")))


def test_patched_clocks_stay_in_the_builder(honest: list[bytes], box: str, tmp_path: Path) -> None:
    patched = softmax(
        before="""

stream = type(torch.cuda.current_stream())
stream.synchronize = lambda self: None
stream.query = lambda self: True
"""
    )
    started = time.perf_counter()
    plans = without_id(plans_of(patched, box, tmp_path))
    assert plans == honest, "the Plan of a candidate that patches clocks is the honest one's"
    assert time.perf_counter() - started > 0.1, "and this process's clock goes on as before"


def test_a_counter_beyond_the_capture_never_fires(honest: list[bytes], box: str, tmp_path: Path) -> None:
    late = softmax(before="CALLS = []", inside="CALLS.append(1)\nif len(CALLS) > 1000:\n    n_rows //= 2")
    assert without_id(plans_of(late, box, tmp_path)) == honest


def test_a_cache_on_the_tensor_is_never_found(honest: list[bytes], box: str, tmp_path: Path) -> None:
    kept = softmax(inside='if hasattr(x, "answer"):\n    return x.answer\nx.answer = y')
    assert without_id(plans_of(kept, box, tmp_path)) == honest


def test_a_plan_cannot_write_an_input(box: str, tmp_path: Path) -> None:
    refused = plans_of(softmax(inside="x.zero_()"), box, tmp_path)
    assert isinstance(refused, Rejected)
    assert (refused.stage, refused.code) == ("structure", "input_mutated")


def test_a_candidate_names_no_tolerance_baseline_or_clock() -> None:
    assert set(Candidate.model_fields) == {"id", "source", "space", "where", "trials", "proposer", "title", "parent"}
    told = softmax(before='TOLERANCE = 1.0\nBASELINES = ["eager"]\nLIMITS = {"element_mean_zero": 1e9}')
    plain = softmax()
    assert (told.space, told.where, told.trials) == (plain.space, plain.where, plain.trials)


def test_the_judge_never_imports_the_builder() -> None:
    """Importing all of the judge loads nothing that executes a candidate."""
    code = (
        "import pkgutil, importlib, sys, tilewright_sandbox.judge as judge\n"
        "for module in pkgutil.iter_modules(judge.__path__):\n"
        "    if module.name != '__main__':\n"
        "        importlib.import_module(f'tilewright_sandbox.judge.{module.name}')\n"
        "print([name for name in sys.modules if name.startswith('tilewright_sandbox.builder')])\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_the_reference_is_not_in_the_box(isolated: str, judge: JudgeProcess, tmp_path: Path) -> None:
    looked_for = [str(SOFTMAX.path.resolve() / "reference.py"), str(Path(__file__).resolve())]
    found = softmax(
        inside=f"""
from os.path import exists
raise LookupError(f"found {{[path for path in {looked_for} if exists(path)]}}")
"""
    )
    assert "found []" in said(found, isolated, judge, tmp_path)
    assert all(Path(path).exists() for path in looked_for)


def test_packages_are_read_only_in_the_box(isolated: str, judge: JudgeProcess, tmp_path: Path) -> None:
    """torch writes files from C++, where no audit hook sees it; the mount stops it."""
    writes = softmax(
        inside="""
folder = torch.__file__.rpartition("/")[0]
try:
    torch.save({"a": 1}, folder + "/sitecustomize.py")
except Exception as error:
    raise PermissionError(f"kept out: {error}")
"""
    )
    message = said(writes, isolated, judge, tmp_path)
    assert "kept out" in message
    assert "Read-only file system" in message or "cannot be opened" in message, message


def test_no_secret_in_the_box(
    isolated: str, judge: JudgeProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-found")
    found = softmax(
        inside="""
import os
names = sorted(name for name in os.environ if "KEY" in name or "TOKEN" in name or "SECRET" in name)
processes = sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())
raise LookupError(f"found {names} and {len(processes)} processes")
"""
    )
    message = said(found, isolated, judge, tmp_path)
    assert "found []" in message
    assert int(message.split(" and ")[1].split()[0]) < 10, "only the box's own processes are seen"


def test_files_of_one_session_are_not_in_the_next(isolated: str, judge: JudgeProcess, tmp_path: Path) -> None:
    leaves = softmax(
        inside="""
from os.path import exists
seen = exists("/tmp/answer.pt")
torch.save({"answer": 1}, "/tmp/answer.pt")
left = exists("/tmp/answer.pt")
raise LookupError(f"seen {seen}, left {left}")
"""
    )
    for _ in range(2):
        assert "seen False, left True" in said(leaves, isolated, judge, tmp_path)
    assert not Path("/tmp/answer.pt").exists()


SEARCH = """
COUNT = 5 * 61


def answers(objects, referents):
    found, seen = 0, set()
    for owner in objects():
        for thing in referents(owner):
            if id(thing) in seen or type(thing).__name__ not in ("bytes", "bytearray", "ndarray"):
                continue
            seen.add(id(thing))
            data = bytes(thing) if type(thing).__name__ != "ndarray" else thing.tobytes()
            if len(data) == 4 * COUNT:
                values = memoryview(data).cast("f")
                found += all(abs(sum(values[row * 61 : row * 61 + 61]) - 1.0) < 1e-3 for row in range(5))
    return found
"""
LOOK = """
import gc
if x.shape == (5, 61):
    raise LookupError(f"found {answers(gc.get_objects, gc.get_referents)} answers")
"""


def test_no_expected_output_in_the_worker(box: str, judge: JudgeProcess, tmp_path: Path) -> None:
    """Under the interpreter inputs are real, so there the worker is searched: for arrays of bytes whose rows add up to
    one, as an answer's would. The search is shown to find one that is planted."""
    planted = f"PLANTED = [{struct.pack('f', 1 / 61)!r} * 305]"
    for before, count in ((planted, 1), ("", 0)):
        candidate = softmax(before=SEARCH + before, inside=LOOK)
        assert f"found {count} answers" in said(candidate, box, judge, tmp_path)


def test_an_output_that_equals_everything_is_no_tensor(box: str, tmp_path: Path) -> None:
    equal = softmax(before="class Equal:\n    def __eq__(self, other):\n        return True", inside="return Equal()")
    refused = plans_of(equal, box, tmp_path)
    assert isinstance(refused, Rejected)
    assert (refused.stage, refused.code) == ("structure", "output_type")


@pytest.mark.parametrize(
    ("returns", "finding"),
    [
        ("x - x + weight - weight", "varies"),
        ("x * torch.rand_like(x) + weight", "deterministic"),
        ("x + weight - weight", "heeds inputs"),
        ("torch.sigmoid(1e-9 * x + 1e-9 * weight)", "not degenerate"),
    ],
    ids=["constant (H1)", "random (G5, H7)", "an input without effect (H4)", "a constant within rounding (H1)"],
)
def test_the_audit_refuses_specs_that_invite_cheats(
    returns: str, finding: str, judge: JudgeProcess, tmp_path: Path
) -> None:
    beside = (Path(__file__).parents[1] / "cheats" / "specs" / "relu_uniform" / "spec.toml").read_text()
    folder = tmp_path / "relu_uniform"
    folder.mkdir()
    (folder / "spec.toml").write_text(beside.replace('fill = "uniform"', 'fill = "normal"'))
    (folder / "reference.py").write_text(
        "from __future__ import annotations\n\nimport torch\nfrom torch import Tensor\n\n\n"
        f"def reference(x: Tensor, weight: Tensor) -> Tensor:\n    return {returns}\n"
    )
    report = judge.ask(AuditRequest(spec_path=str(folder)), AuditReport)
    failed = [found.name for found in report.findings if found.status == "FAIL"]
    assert not report.sound
    assert finding.replace(" ", "_") in [name.replace(" ", "_") for name in failed], report.findings
