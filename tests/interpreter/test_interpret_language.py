"""What Triton's language does under the interpreter with our hooks: reductions as trees, the device library, and the
constructs that it lacks, each named as unsupported rather than called the candidate's mistake."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from tilewright_sandbox.boxes.client import interpret
from tilewright_sandbox.boxes.framed_process import FramedProcess
from tilewright_sandbox.contract import Axis, Config, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.jobs import Interpreted, InterpretFailed, InterpretRequest

# The production worker serves one candidate; this one makes a fresh Interpreter a request.
SERVICE = """
import os, sys
os.environ["TRITON_INTERPRET"] = "1"
from tilewright_sandbox import wire
from tilewright_sandbox.jobs import InterpretRequest
from tilewright_sandbox.builder.interpret import Interpreter
out = os.fdopen(os.dup(1), "wb"); os.dup2(2, 1)
while True:
    body, blobs = wire.unpack(sys.stdin.buffer)
    reply, back = Interpreter().serve(InterpretRequest.model_validate_json(body), blobs)
    out.write(wire.pack(reply.model_dump_json().encode(), back)); out.flush()
"""
N = 1024
SPEC = Spec(
    name="elementwise",
    summary="y = f(x)",
    op="elementwise",
    axes={"n": Axis(min=1, max=1 << 20)},
    inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
    outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
    workloads=(Workload(role="tune", axes={"n": N}),),
    reference_sha256="0" * 64,
)
SOURCE = """
import torch, triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import gdc_wait
from triton.language.extra.cuda import libdevice as cuda_libdevice

@triton.jit
def add(a, b):
    return a + b

@triton.jit
def second(a, b):
    return b

@triton.jit
def merge(mean, square, count, mean_b, square_b, count_b):
    total = count + count_b
    delta = mean_b - mean
    return mean + delta * count_b / total, square + square_b + delta * delta * count * count_b / total, total

@triton.jit
def kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    BODY
    tl.store(y + at, v)

def run(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, N=x.numel())
    return y
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[FramedProcess]:
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    process = FramedProcess([sys.executable, "-I", "-c", SERVICE], env=environment, cwd="/", greets=False)
    yield process
    process.close()


def run_body(worker: FramedProcess, body: str, x: np.ndarray) -> np.ndarray | InterpretFailed:
    source = SOURCE.replace("BODY", body.replace("\n", "\n    "))
    request = InterpretRequest(source=source, spec=SPEC, config=Config({}), workload=SPEC.workloads[0], dtypes={})
    reply, blobs = interpret(worker, request, {"x": x.astype(np.float32).tobytes()})
    return np.frombuffer(blobs["output:y"], np.float32) if isinstance(reply, Interpreted) else reply


def computed(worker: FramedProcess, body: str, x: np.ndarray) -> np.ndarray:
    answer = run_body(worker, body, x)
    assert isinstance(answer, np.ndarray), answer
    return answer


def test_a_custom_reduction_runs_as_a_tree(worker: FramedProcess) -> None:
    """A sequential float32 sum of 1024 ones and 2²⁴ stays at 2²⁴; a tree loses at most its first pair."""
    x = np.ones(N)
    x[0] = 2.0**24
    total = computed(worker, "v = v * 0 + tl.reduce(v, 0, add)", x)[0]
    assert abs(total - (2.0**24 + N - 1)) <= 2
    generator = np.random.default_rng(7)
    x = generator.standard_normal(N).astype(np.float32) + 100
    body = "mean, square, count = tl.reduce((v, v * 0, v * 0 + 1), 0, merge)\nv = v * 0 + square / count"
    variance = computed(worker, body, x)[0]
    assert abs(variance / x.astype(np.float64).var() - 1) < 1e-5


def test_a_reduction_keeps_the_order_and_the_axes(worker: FramedProcess) -> None:
    x = np.arange(N)
    assert np.all(computed(worker, "v = v * 0 + tl.reduce(v, 0, second)", x) == N - 1)
    body = (
        "rows = tl.reduce(v.reshape(32, 32), AXIS, add, keep_dims=True)\nv = (v.reshape(32, 32) * 0 + rows).reshape(N)"
    )
    for axis in (0, 1):
        expected = np.broadcast_to(x.reshape(32, 32).sum(axis, keepdims=True), (32, 32))
        assert np.array_equal(computed(worker, body.replace("AXIS", str(axis)), x).reshape(32, 32), expected)
    assert np.all(computed(worker, "v = v * 0 + tl.reduce(v.reshape(32, 32), None, add)", x) == x.sum())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_custom_scan_is_the_cumulative_sum(worker: FramedProcess, reverse: bool, axis: int) -> None:
    x = np.arange(N) % 13
    body = f"v = tl.associative_scan(v.reshape(32, 32), {axis}, add, reverse={reverse}).reshape(N)"
    square = x.reshape(32, 32)
    flipped = np.flip(square, axis) if reverse else square
    expected = np.cumsum(flipped, axis)
    expected = np.flip(expected, axis) if reverse else expected
    assert np.array_equal(computed(worker, body, x).reshape(32, 32), expected)
    latest = computed(worker, body.replace("add", "second"), x).reshape(32, 32)
    assert np.array_equal(latest, square)


LIBRARY = {"tanh": math.tanh, "erf": math.erf, "expm1": math.expm1, "rsqrt": lambda v: v**-0.5, "isnan": math.isnan}


@pytest.mark.parametrize("spelling", ["libdevice", "cuda_libdevice"])
@pytest.mark.parametrize("name", LIBRARY)
def test_device_library(worker: FramedProcess, spelling: str, name: str) -> None:
    x = np.linspace(0.01, 4, N).astype(np.float32)
    expected = np.array([LIBRARY[name](float(value)) for value in x], np.float32)
    assert np.array_equal(computed(worker, f"v = {spelling}.{name}(v).to(tl.float32)", x), expected)


def test_device_library_of_two_operands_and_scalars(worker: FramedProcess) -> None:
    x = np.linspace(0.5, 2, N).astype(np.float32)
    assert np.array_equal(
        computed(worker, "v = libdevice.pow(v, 3.0)", x), (x.astype(np.float64) ** 3).astype(np.float32)
    )
    assert np.array_equal(computed(worker, "v = libdevice.atan2(v, v)", x), np.full(N, math.pi / 4, np.float32))


ASSEMBLY = 'v = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [v], dtype=tl.float32, is_pure=True, pack=1)'
UNSUPPORTED = {
    ASSEMBLY: "inline_asm",
    "v = v.to(tl.bfloat16).to(tl.float32)": "bfloat16",
    "v = v + tl.zeros((N,), tl.bfloat16)": "bfloat16",
    "v = v.to(tl.float8e4nv).to(tl.float32)": "fp8e4nv",
    "v = libdevice.erfinv(v)": "libdevice.erfinv",
    "v = tl.atomic_xchg(y + at, v)": "nsupported",
    "tl.make_tensor_descriptor(y, [N], [1], [N]).atomic_add([0], v)": "create_descriptor_reduce",
    "gdc_wait()": "_semantic",
}


@pytest.mark.parametrize("body", UNSUPPORTED)
def test_what_the_interpreter_lacks_is_not_the_candidates_mistake(worker: FramedProcess, body: str) -> None:
    answer = run_body(worker, body, np.ones(N))
    assert isinstance(answer, InterpretFailed)
    assert UNSUPPORTED[body] in answer.unsupported
    assert (answer.rejected.stage, answer.rejected.code) == ("launch", "unsupported")
    assert "candidate.py:" in answer.rejected.message


@pytest.mark.parametrize(
    "body", ["v = v + missing_name", "tl.static_assert(N == 7)", "v = v.reshape(3, 5)", "v = 1 / (N - N)"]
)
def test_a_mistake_is_not_called_unsupported(worker: FramedProcess, body: str) -> None:
    answer = run_body(worker, body, np.ones(N))
    assert isinstance(answer, InterpretFailed)
    assert (answer.unsupported, answer.rejected.code) == ("", "raised")
    assert json.loads(answer.rejected.model_dump_json())["message"].startswith("candidate.py:")


WORKS = [
    "for i in range(0, 4):\n    v += i - 1.5",
    "for i in tl.range(0, 4, num_stages=3):\n    v += i - 1.5",
    "for i in tl.static_range(4):\n    v += i - 1.5",
    "for i in range(2, 14, 4):\n    v += (i.to(tl.int64) - 6).to(tl.float32)",
    "for i in tl.range(tl.program_id(0), 3):\n    v += i.to(tl.float32) - 1",
    "for i in range(3, 0, -1):\n    v += i.to(tl.float32) - 2",
    "i = 0\nwhile i < 3:\n    i += 1\n    v += i - 2",
    "v = tl.load(tl.make_block_ptr(x, (N,), (1,), (0,), (N,), (0,)), boundary_check=(0,), padding_option='zero')",
    "v = tl.make_tensor_descriptor(x, [32, 32], [32, 1], [32, 32]).load([0, 0]).reshape(N)",
    "v = tl.trans(tl.trans(v.reshape(32, 32))).reshape(N)",
    "eye = (tl.arange(0, 32)[:, None] == tl.arange(0, 32)[None, :]).to(tl.float32)\n"
    "v = tl.dot(v.reshape(32, 32), eye, input_precision='ieee').reshape(N)",
    "v = tl.flip(tl.flip(v, 0), 0)",
    "v = tl.gather(v, at, 0)",
    "v = tl.where(at >= 0, v, 0.0) + 0 * tl.sum(tl.sort(v), 0)",
]


@pytest.mark.parametrize("body", WORKS)
def test_language_that_works(worker: FramedProcess, body: str) -> None:
    """Each of these is the identity."""
    x = np.arange(N) % 17 + 1
    assert np.array_equal(computed(worker, body, x), x)


def test_the_index_of_a_loop_has_the_type_that_a_device_gives_it(worker: FramedProcess) -> None:
    """2¹⁶ · 2¹⁶ is 0 in int32, which the index has where all bounds are small; a bound in int64 makes it 2³²."""
    body = "for i in range(65536, {bound}):\n    v = (v * 0 + i * i).to(tl.float32)"
    assert np.all(computed(worker, body.format(bound="65537"), np.ones(N)) == 0)
    assert np.all(computed(worker, body.format(bound="tl.full((), 65537, tl.int64)"), np.ones(N)) == 2.0**32)


def test_a_fused_multiply_add_rounds_once(worker: FramedProcess) -> None:
    """Against exact rational arithmetic, near halfway cases too: x² − 1 where the product alone would round."""
    generator = np.random.default_rng(3)
    x = (1 + generator.integers(-(2**20), 2**20, N) * 2.0**-23).astype(np.float32)
    for addend in (-1.0, 3 * 2.0**-30, 2.0**-60, 1e30):
        exact = [Fraction(float(value)) ** 2 + Fraction(float(np.float32(addend))) for value in x]
        found = computed(worker, f"v = tl.fma(v, v, v * 0 + {addend})", x)
        for got, want in zip(found, exact, strict=True):
            neighbours = (np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf)))
            assert all(abs(Fraction(float(got)) - want) <= abs(Fraction(float(n)) - want) for n in neighbours)
    assert np.isnan(computed(worker, "v = tl.fma(v, v, v - float('inf') * v)", x * np.inf)).all()
