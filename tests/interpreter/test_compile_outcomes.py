"""Outcomes of compiling: limits of the target, Triton's errors, time limits, kernels shared by jobs, repeatability."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("triton")

from tilewright_sandbox.builder.build import serve_build
from tilewright_sandbox.contract import (
    Axis,
    Config,
    ConfigValue,
    Plan,
    Pointer,
    SandboxUnavailable,
    Spec,
    TensorInput,
    TensorOutput,
    Workload,
)
from tilewright_sandbox.jobs import BuildJob, BuildReply, BuildRequest, Built, NotBuilt

SOFTMAX = """
import torch
import triton
import triton.language as tl


@triton.jit
def exponentials(v):
    return tl.exp(v - tl.max(v, 0))


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < n
    e = exponentials(tl.load(x_ptr + at, mask=inside, other=float("-inf")).to(tl.float32))
    tl.store(y_ptr + at, e / tl.sum(e, 0), mask=inside)


def run(x, *, BLOCK, num_warps=4, maxnreg=None, unused=0):
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps, maxnreg=maxnreg)
    return y
"""
MATMUL = """
import torch
import triton
import triton.language as tl


@triton.jit
def gram(x_ptr, y_ptr, N, BLOCK: tl.constexpr, BK: tl.constexpr):
    rows, ks = tl.arange(0, BLOCK), tl.arange(0, BK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, N, BK):
        a = tl.load(x_ptr + rows[:, None] * N + (k + ks)[None, :])
        b = tl.load(x_ptr + rows[None, :] * N + (k + ks)[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(y_ptr + rows[:, None] * N + rows[None, :], acc.to(tl.bfloat16))


def run(x, *, BLOCK, BK, num_warps, num_stages):
    y = torch.empty_like(x)
    gram[(1,)](x, y, x.shape[1], BLOCK, BK, num_warps=num_warps, num_stages=num_stages)
    return y
"""


def spec_of(dtype: str = "bfloat16") -> Spec:
    return Spec(
        name="softmax",
        summary="rows",
        op="softmax",
        axes={"m": Axis(min=1, max=1 << 20), "n": Axis(min=1, max=1 << 20)},
        inputs=(TensorInput(name="x", shape=("m", "n"), dtype=dtype),),  # type: ignore[arg-type]
        outputs=(TensorOutput(name="y", shape=("m", "n"), dtype=dtype),),  # type: ignore[arg-type]
        workloads=(Workload(role="tune", axes={"m": 256, "n": 1024}),),
        reference_sha256="0" * 64,
    )


def job(n: int = 1024, compile: bool = True, **config: ConfigValue) -> BuildJob:
    return BuildJob(config=Config(config), workload=Workload(role="tune", axes={"m": 256, "n": n}), compile=compile)


def build(
    source: str, *jobs: BuildJob, target: str = "sm_90", timeout_s: float = 60.0
) -> tuple[BuildReply, dict[str, bytes]]:
    request = BuildRequest(source=source, spec=spec_of(), jobs=jobs, target=target, compile_timeout_s=timeout_s)
    return serve_build(request)


def rejected(reply: BuildReply, index: int = 0) -> NotBuilt:
    outcome = reply.outcomes[index]
    assert isinstance(outcome, NotBuilt), outcome
    return outcome


def built(reply: BuildReply, index: int = 0) -> Built:
    outcome = reply.outcomes[index]
    assert isinstance(outcome, Built), outcome
    return outcome


def test_shared_memory_beyond_the_target_gives_the_figures() -> None:
    tile = {"BLOCK": 256, "BK": 64, "num_warps": 8, "num_stages": 4}
    reply, _ = build(MATMUL, job(**tile), job(**{**tile, "BLOCK": 64}), target="sm_80")
    found = rejected(reply).rejected
    assert (found.stage, found.code) == ("compile", "out_of_resources")
    assert found.evidence["resource"] == "shared memory"
    assert found.evidence["limit"] == 163 << 10
    assert int(found.evidence["needed"]) > 163 << 10
    assert built(reply, 1).plan.kernels[0].shared_bytes <= 163 << 10


def test_more_threads_than_a_block_has() -> None:
    found = rejected(build(SOFTMAX, job(BLOCK=1024, num_warps=64))[0]).rejected
    assert found.stage == "compile"
    assert found.evidence.get("limit") == 1024, found


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("e / tl.sum(e, 0)", "e / missing(e, 0)", 17, "missing"),
        ("tl.max(v, 0)", "tl.maximal(v, 0)", 9, "maximal"),
        ("tl.arange(0, BLOCK) < n", "tl.arange(0, BLOCK - 1) < n", 15, "power of 2"),
    ],
)
def test_an_error_of_triton_names_the_line_of_the_candidate(before: str, after: str, line: int, words: str) -> None:
    source = SOFTMAX.replace(before, after)
    assert source != SOFTMAX
    found = rejected(build(source, job(BLOCK=1024))[0]).rejected
    assert (found.stage, found.code, found.evidence["line"]) == ("compile", "triton_error", line), found.message
    assert words in found.message
    assert len(found.message) < 700
    assert "Traceback" not in found.message


def test_a_launcher_that_never_returns_is_killed_with_its_children() -> None:
    source = SOFTMAX.replace("    y = torch.empty_like(x)\n", "    while True:\n        pass\n")
    started = time.monotonic()
    found = rejected(build(source, job(BLOCK=1024), timeout_s=1.0)[0]).rejected
    assert (found.stage, found.code, found.evidence["step"]) == ("compile", "timeout", "capture")
    assert time.monotonic() - started < 8
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_compile_that_takes_too_long_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    unrolled = MATMUL.replace("for k in range(0, N, BK)", "for k in tl.static_range(0, 65536, BK)")
    jobs = (
        job(BLOCK=128, BK=16, num_warps=4, num_stages=1),
        job(compile=False, BLOCK=64, BK=16, num_warps=4, num_stages=1),
    )
    reply, _ = build(unrolled, *jobs, timeout_s=2.0)
    found = rejected(reply).rejected
    assert (found.stage, found.code, found.evidence["step"]) == ("compile", "timeout", "compile")
    assert found.config == jobs[0].config
    assert not built(reply, 1).plan.compiled
    assert list(tmp_path.iterdir()) == []


def test_jobs_that_need_the_same_kernel_share_one_compile() -> None:
    jobs = [job(BLOCK=1024, unused=0), job(BLOCK=1024, unused=1), job(n=2048, BLOCK=1024), job(n=999, BLOCK=1024)]
    reply, blobs = build(SOFTMAX, *jobs)
    kernels = [built(reply, index).plan.kernels[0] for index in range(4)]
    assert kernels[0] == kernels[1] == kernels[2]
    assert kernels[3].cubin_sha256 != kernels[0].cubin_sha256  # 999 is not divisible by 16
    assert [built(reply, index).compile_s > 0 for index in range(4)] == [True, False, False, True]
    assert len(blobs) == 4


def test_spills_are_counted() -> None:
    plain, tight = job(BLOCK=4096, num_warps=1, n=4096), job(BLOCK=4096, num_warps=1, n=4096, maxnreg=32)
    reply, _ = build(SOFTMAX, plain, tight)
    free, spilled = (built(reply, index).plan.kernels[0].resources for index in range(2))
    assert spilled.registers == 32 < free.registers
    assert spilled.spill_bytes > 100
    assert spilled.stack_bytes > 0
    assert spilled.instructions["STL"] > 0


def test_a_plan_for_each_target_and_dtype() -> None:
    for target in ("sm_80", "sm_100"):
        plan = built(build(SOFTMAX, job(BLOCK=1024), target=target)[0]).plan
        assert (plan.target, plan.kernels[0].signature) == (target, ("*bf16", "*bf16", "i32"))
    twin = BuildJob(
        config=Config({"BLOCK": 64}), workload=Workload(role="twin", axes={"m": 3, "n": 50}), dtypes={"x": "float32"}
    )
    plan = built(build(SOFTMAX, twin)[0]).plan
    assert plan.outputs["y"].dtype == plan.inputs["x"].dtype == "float32"
    assert plan.kernels[0].signature[0] == "*fp32"


def test_an_unknown_target_is_refused() -> None:
    assert rejected(build(SOFTMAX, job(BLOCK=1024), target="sm_70")[0]).rejected.code == "target_not_supported"


REPEAT = """
import hashlib, json, sys
from tilewright_sandbox.builder.build import serve_build
from tilewright_sandbox.jobs import BuildRequest
reply, blobs = serve_build(BuildRequest.model_validate_json(sys.stdin.read()))
plans = [hashlib.sha256(outcome.plan.canonical()).hexdigest() for outcome in reply.outcomes]
print(json.dumps([plans, sorted(hashlib.sha256(blob).hexdigest() for blob in blobs.values())]))
"""


def test_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    jobs = (job(BLOCK=1024), job(n=999, BLOCK=1024, num_warps=8))
    request = BuildRequest(source=SOFTMAX, spec=spec_of(), jobs=jobs, target="sm_90").model_dump_json()
    answers = []
    for seed, folder in (("1", tmp_path), ("2", Path("/"))):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "HOME": str(folder)}
        done = subprocess.run(
            [sys.executable, "-c", REPEAT],
            input=request,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(json.loads(done.stdout))
    plans, blobs = answers[0]
    assert answers[0] == answers[1]
    assert len(plans) == 2
    assert len(blobs) == 4
    assert hashlib.sha256(b"").hexdigest() not in blobs


def test_a_failure_of_the_machine_is_not_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/dev/null")
    with pytest.raises(SandboxUnavailable):
        build(SOFTMAX, job(BLOCK=1024))


def test_alignment_in_the_ttir_is_that_of_the_view() -> None:
    views = SOFTMAX.replace("y = torch.empty_like(x)", "y = torch.empty_like(x)\n    x = x[:, OFFSET:]").replace(
        "unused=0", "OFFSET=0"
    )
    reply, blobs = build(views, *(job(BLOCK=1024, OFFSET=offset) for offset in (0, 1, 8)))
    plans = [built(reply, index).plan for index in range(3)]
    assert [plan.launches[0].arguments[0] for plan in plans] == [Pointer(buffer=0, offset_bytes=n) for n in (0, 2, 16)]
    heads = [blobs[plan.kernels[0].ttir_sha256].decode().split("attributes")[0] for plan in plans]
    aligned = ["%x_ptr: !tt.ptr<bf16> {tt.divisibility = 16 : i32}" in head for head in heads]
    assert aligned == [True, False, True]


def test_a_plan_survives_json() -> None:
    source = SOFTMAX.replace("torch.empty_like(x)", "torch.full_like(x, float('-inf'))")
    plan = built(build(source, job(BLOCK=1024))[0]).plan
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    assert Plan.model_validate_json(plan.canonical()).sha256 == plan.sha256


WARP_SPECIALISED = """
import torch
import triton
import triton.language as tl


@triton.jit
def summed(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, 10, warp_specialize=True):
        acc += tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK)).to(tl.float32)
    tl.store(y_ptr + tl.arange(0, BLOCK), acc.to(tl.bfloat16))


def run(x, *, BLOCK, num_ctas):
    y = torch.empty_like(x)
    summed[(1,)](x, y, x.shape[1], BLOCK=BLOCK, num_ctas=num_ctas)
    return y
"""
ASSEMBLY_OF_TWO = SOFTMAX.replace(
    "e / tl.sum(e, 0)",
    'tl.inline_asm_elementwise("mov $0, $1;", "=r,r", [e], dtype=tl.float32, is_pure=True, pack=4)',
)


def test_an_assertion_of_the_compiler_is_passed_on() -> None:
    found = rejected(build(WARP_SPECIALISED, job(BLOCK=128, num_ctas=2))[0]).rejected
    assert (found.stage, found.code) == ("compile", "triton_error")
    assert "remote CTA is not supported" in found.message
    found = rejected(build(ASSEMBLY_OF_TWO, job(BLOCK=1024))[0]).rejected
    assert (found.stage, found.code, found.evidence["cause"]) == ("compile", "compiler_crashed", "SIGABRT")
    assert "cannot return struct" in found.message


def test_a_crash_names_the_line_that_ran() -> None:
    source = SOFTMAX.replace("    y = torch.empty_like(x)", "    crash()\n    y = torch.empty_like(x)").replace(
        "import torch\n", "import torch\nfrom faulthandler import _sigsegv as crash\n"
    )
    with mock.patch("tilewright_sandbox.builder.build.check_source", return_value=None):
        found = rejected(build(source, job(BLOCK=1024))[0]).rejected
    assert (found.stage, found.code, found.evidence["cause"]) == ("capture", "launcher_crashed", "SIGSEGV")
    assert re.search(r'Segmentation fault.*"candidate.py", line \d+ in run', found.message), found.message


def test_a_machine_on_which_every_capture_dies_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def install(target: str) -> None:
        raise AttributeError("module 'torch' has no attribute 'renamed'")

    monkeypatch.setattr("tilewright_sandbox.builder.capture.install", install)
    with pytest.raises(SandboxUnavailable, match=r"captures crash .*exit code 1.*no attribute 'renamed'"):
        build(SOFTMAX, job(BLOCK=1024))
