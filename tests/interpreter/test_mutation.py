"""Each check earns its place: replaced by one that passes, it lets a wrong candidate through, or leaves it to another.

Every candidate runs once; its observations are then judged with all checks, and with one of them blinded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.verify import build_plans, open_builder
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Check, CheckName, Config, Measured, Plan, Rejected
from tilewright_sandbox.jobs import JudgeRequest
from tilewright_sandbox.judge import verdict
from tilewright_sandbox.judge.observe import Observations
from tilewright_sandbox.judge.verdict import Clerk, apply_checks, gather
from tilewright_sandbox.spec import SpecFolder, load_spec

SEED = bytes(range(16))
HEAD = "import torch, triton\nimport triton.language as tl\n\nSPACE = {}\n\n@triton.jit\n"

SCALE_SPEC = """
schema = 1
name = "scale"
summary = "y = 2 relu(x)"
op = "scale"
[axes]
rows = { min = 1, max = 20 }
cols = { min = 1, max = 60 }
[inputs]
x = { shape = ["rows", "cols"], dtype = "float16" }
[outputs]
y = { shape = ["rows", "cols"], dtype = "float16" }
[[workloads]]
role = "tune"
axes = { rows = 16, cols = 32 }
"""
SCALE = "import torch\n\ndef reference(x):\n    return 2 * torch.relu(x)\n"

ROW_SUM_SPEC = """
schema = 1
name = "row_sum"
summary = "y = sum(x)"
op = "row_sum"
[axes]
rows = { min = 1, max = 20 }
cols = { min = 1, max = 140 }
[inputs]
x = { shape = ["rows", "cols"], dtype = "float32" }
[outputs]
y = { shape = ["rows"], dtype = "float32" }
[accept]
deterministic = true
[[workloads]]
role = "tune"
axes = { rows = 16, cols = 64 }
"""
ROW_SUM = "import torch\n\ndef reference(x):\n    return x.sum(-1)\n"

PRODUCT_SPEC = """
schema = 1
name = "product"
summary = "c = a @ b"
op = "product"
[axes]
n = { min = 1, max = 32 }
[inputs]
a = { shape = ["n", "n"], dtype = "float32" }
b = { shape = ["n", "n"], dtype = "float32" }
[outputs]
c = { shape = ["n", "n"], dtype = "float32" }
[[workloads]]
role = "tune"
axes = { n = 32 }
"""
PRODUCT = "import torch\n\ndef reference(a, b):\n    return a @ b\n"


def scale(line: str = "", value: str = "2 * tl.where(x < 0, 0.0, x)", out: str = "x.dtype") -> str:
    return (
        HEAD
        + f"""def k(x_ptr, y_ptr, cols, B: tl.constexpr):
    i = tl.program_id(0) * cols + tl.arange(0, B)
    m = tl.arange(0, B) < cols
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    {line or "pass"}
    tl.store(y_ptr + i, ({value}).to(y_ptr.dtype.element_ty), mask=m)

def run(x):
    y = torch.empty(x.shape, dtype={out}, device=x.device)
    k[(x.shape[0],)](x, y, x.shape[1], B=64)
    return y
"""
    )


def row_sum(first: int = 0, value: str = "tl.sum(x)", store: str = "tl.store") -> str:
    return (
        HEAD
        + f"""def k(x_ptr, y_ptr, cols, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + tl.program_id(0) * cols + i, mask=(i < cols) & (i >= {first}), other=0.0)
    {store}(y_ptr + tl.program_id(0), {value})

def run(x):
    y = torch.zeros((x.shape[0],), dtype=x.dtype, device=x.device)
    k[(x.shape[0],)](x, y, x.shape[1], B=256)
    return y
"""
    )


def product(precision: str) -> str:
    return (
        HEAD
        + f"""def k(a_ptr, b_ptr, c_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at, m = i[:, None] * n + i[None, :], (i[:, None] < n) & (i[None, :] < n)
    a = tl.load(a_ptr + at, mask=m, other=0.0)
    b = tl.load(b_ptr + at, mask=m, other=0.0)
    tl.store(c_ptr + at, tl.dot(a, b, input_precision="{precision}"), mask=m)

def run(a, b):
    c = torch.empty_like(a)
    k[(1,)](a, b, c, a.shape[0], B=32)
    return c
"""
    )


WRONG: dict[str, tuple[str, str, str, bool]] = {
    "structure": (SCALE_SPEC, SCALE, scale(out="torch.float32"), False),
    "memory": (SCALE_SPEC, SCALE, scale(line="tl.store(x_ptr + i, x * 3, mask=m)"), False),
    "determinism": (ROW_SUM_SPEC, ROW_SUM, row_sum(store="tl.atomic_add"), True),
    "budget": (ROW_SUM_SPEC, ROW_SUM, row_sum(first=1), False),
    "lattice": (ROW_SUM_SPEC, ROW_SUM, row_sum(value="tl.sum(x) * 1.0000001192092896"), False),
    "transforms": (SCALE_SPEC, SCALE, scale(value="2 * tl.where(x > 0, x, 0.0)"), False),
    "shapes": (SCALE_SPEC, SCALE, scale(value="tl.where(cols == 1, 1, 2) * tl.where(x < 0, 0.0, x)"), False),
    "ir": (PRODUCT_SPEC, PRODUCT, product("tf32"), True),
}
"""By the check that must reject it: spec, reference, source, and whether the check reads compiled kernels."""
ACCEPTED_WITHOUT = {"structure", "memory", "determinism", "lattice", "transforms", "shapes", "ir"}
"""Nothing else sees what these see. What `budget` sees, `shapes` sees too, later and slower."""
HONEST: dict[str, tuple[str, str, str, bool]] = {
    "scale": (SCALE_SPEC, SCALE, scale(), False),
    "row_sum": (ROW_SUM_SPEC, ROW_SUM, row_sum(), True),
    "product": (PRODUCT_SPEC, PRODUCT, product("ieee"), True),
}


class Seen:
    """A candidate's observations and what turns checks into a verdict."""

    def __init__(self, folder: SpecFolder, candidate: Candidate, plans: tuple[Plan, ...], blobs: Path) -> None:
        self.request = JudgeRequest(
            spec_path=str(folder.path), source=candidate.source, proposer="templates", config=Config({}), plans=plans,
            blobs_path=str(blobs), target="sm_90", box="process", seed=SEED.hex(),
        )  # fmt: skip
        self.clerk = Clerk(self.request, folder.spec, candidate, SEED)
        observations = gather(self.request, folder, candidate, SEED, lambda seen: False)
        assert observations is not None
        self.observations: Observations = observations

    def verdict(self) -> Rejected | Measured:
        return self.clerk.decide(apply_checks(self.observations, tuple(verdict.CHECKS)), self.observations)


def observe(tmp_path: Path, spec: str, reference: str, source: str, compiled: bool) -> Seen:
    path = tmp_path / re.findall(r'name = "(\w+)"', spec)[0]
    path.mkdir()
    (path / "spec.toml").write_text(spec + spec[spec.index("[[workloads]]") :].replace('"tune"', '"bench"'))
    (path / "reference.py").write_text(reference)
    folder = load_spec(path)
    candidate = parse_candidate(source, proposer="templates", spec=folder.spec)
    assert isinstance(candidate, Candidate), candidate.message
    plans: tuple[Plan, ...] | Rejected = ()
    if compiled:
        with open_builder("process", trusted=True) as session:
            plans = build_plans(session, folder.spec, candidate, Config({}), "sm_90", tmp_path / "blobs")
        assert not isinstance(plans, Rejected), plans.message
    return Seen(folder, candidate, plans, tmp_path / "blobs")


def passing(name: CheckName) -> Callable[[Observations], Check]:
    return lambda seen: Check(name=name, status="PASS")


@pytest.mark.parametrize("stage", WRONG)
def test_wrong_candidate_is_rejected_by_its_check_and_not_without_it(
    stage: CheckName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = observe(tmp_path, *WRONG[stage])
    rejected = seen.verdict()
    assert isinstance(rejected, Rejected)
    assert rejected.stage == stage, rejected.message
    assert rejected.message.endswith(".")
    assert rejected.code
    assert len(rejected.checks) == (1 if stage == "structure" else len(verdict.CHECKS))

    monkeypatch.setitem(verdict.CHECKS, stage, passing(stage))
    blinded = seen.verdict()
    if stage in ACCEPTED_WITHOUT:
        assert isinstance(blinded, Measured), f"{blinded.stage}: {blinded.message}"
    else:
        assert isinstance(blinded, Rejected)
        assert blinded.stage != stage


@pytest.mark.parametrize("name", HONEST)
def test_honest_candidate_passes_and_its_obstacles_are_what_was_not_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = observe(tmp_path, *HONEST[name])
    measured = seen.verdict()
    assert isinstance(measured, Measured), f"{measured.stage}: {measured.message}"
    assert {check.name for check in measured.checks} == set(verdict.CHECKS)
    assert measured.seed_commitment == hashlib.sha256(SEED).hexdigest()
    assert measured.seed == SEED.hex()
    assert "unsafe" in measured.box
    assert measured.rung == ("bitwise" if name == "scale" else "within budget")
    for check in measured.checks:
        if check.name in ("structure", "memory", "determinism", "budget", "transforms", "shapes", "lattice"):
            assert check.status == "PASS", f"{check.name}: {check.reason}"

    asked = replace(seen.observations, spec=seen.observations.spec.model_copy(
        update={"accept": seen.observations.spec.accept.model_copy(update={"grad": ("x",)})}
    ))  # fmt: skip
    seen.observations = asked
    for blocking in ("gradients", "physics"):
        with_it = seen.verdict()
        assert isinstance(with_it, Measured)
        assert any(blocking in why for why in with_it.obstacles)
        monkeypatch.setitem(verdict.CHECKS, blocking, passing(blocking))
        without = seen.verdict()
        assert isinstance(without, Measured)
        assert not any(blocking in why for why in without.obstacles)
