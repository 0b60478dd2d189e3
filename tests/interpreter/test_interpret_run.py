"""One run under the interpreter: layouts, poison, margins, allocations, and what a launcher may not do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest

from tilewright_sandbox.boxes import client
from tilewright_sandbox.boxes.framed_process import FramedProcess
from tilewright_sandbox.contract import Axis, Config, Dtype, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.jobs import Interpreted, InterpretFailed, InterpretRequest
from tilewright_sandbox.poison import first_overwritten, poison_bytes

# The production worker serves one candidate; this one makes a fresh Interpreter a request, to save 40 starts.
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
HEAD = "import torch, triton\nimport triton.language as tl\n"
ROWS = (
    HEAD
    + """
@triton.jit
def double(x, y, columns, x_row, x_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_row + at * x_column, mask=at < columns)
    tl.store(y + row * columns + at, 2 * value, mask=at < columns)

def run(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    double[(x.shape[0],)](x, y, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
    return y
"""
)


@pytest.fixture(scope="module")
def worker() -> Iterator[FramedProcess]:
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    process = FramedProcess([sys.executable, "-I", "-c", SERVICE], env=environment, cwd="/", greets=False)
    yield process
    process.close()


def spec_of(shape: tuple[int, ...], dtype: Dtype = "float32", outputs: int = 1) -> Spec:
    axes = {f"a{axis}": extent for axis, extent in enumerate(shape)}
    return Spec(
        name="double",
        summary="y = 2 x",
        op="double",
        axes={name: Axis(min=1, max=1 << 20) for name in axes},
        inputs=(TensorInput(name="x", shape=tuple(axes), dtype=dtype),),
        outputs=tuple(TensorOutput(name=f"y{i}", shape=tuple(axes), dtype=dtype) for i in range(outputs)),
        workloads=(Workload(role="tune", axes=axes),),
        reference_sha256="0" * 64,
    )


def interpret(
    worker: FramedProcess, source: str, x: Any, spec: Spec | None = None, **options: Any
) -> tuple[Interpreted | InterpretFailed, dict[str, bytes]]:
    spec = spec or spec_of(x.shape, x.dtype.name)
    config = Config(options.pop("config", {}))
    settings = {"dtypes": {}, "timeout_s": 20} | options
    request = InterpretRequest(source=source, spec=spec, config=config, workload=spec.workloads[0], **settings)
    return client.interpret(worker, request, {"x": x.tobytes()})


def refused(worker: FramedProcess, body: str, x: Any = None, **options: Any) -> tuple[str, str]:
    reply, _ = interpret(worker, HEAD + body, np.ones((2, 8), np.float32) if x is None else x, **options)
    assert isinstance(reply, InterpretFailed), reply
    assert reply.rejected.message
    return reply.rejected.stage, reply.rejected.code


@pytest.mark.parametrize("layout", ["contiguous", "strided", "offset"])
@pytest.mark.parametrize("poison", ["nan", "inf", "large", "zero"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_layouts_and_poison_leave_the_result_alone(
    worker: FramedProcess, layout: str, poison: Literal["nan", "inf", "large", "zero"], dtype: Dtype
) -> None:
    x = np.arange(3 * 37).reshape(3, 37).astype(dtype)
    reply, blobs = interpret(worker, ROWS, x, layout=layout, poison=poison)
    assert isinstance(reply, Interpreted), reply
    assert np.array_equal(np.frombuffer(blobs["output:y0"], dtype).reshape(x.shape), 2 * x)
    assert blobs["input:x"] == x.tobytes()
    assert (reply.launches, reply.aten, reply.aliases) == (("double",), ("empty",), {})
    gaps = {"contiguous": 0, "strided": x.nbytes, "offset": x.itemsize}[layout]
    assert len(blobs["margin:x"]) == 512 + gaps
    for name in ("margin:x", "margin:t0"):
        assert first_overwritten(poison, dtype, blobs[name]) is None


def test_what_is_not_written_is_poison(worker: FramedProcess) -> None:
    source = HEAD + "def run(x):\n    return torch.empty_like(x), torch.zeros_like(x), torch.full_like(x, 3)\n"
    x = np.ones((2, 8), np.float32)
    reply, blobs = interpret(worker, source, x, spec_of(x.shape, outputs=3), poison="large")
    assert isinstance(reply, Interpreted)
    assert blobs["output:y0"] == poison_bytes("large", "float32", x.nbytes)
    assert blobs["output:y1"] == bytes(x.nbytes)
    assert np.array_equal(np.frombuffer(blobs["output:y2"], np.float32), np.full(16, 3))
    assert set(blobs) >= {"margin:t0", "margin:t1", "margin:t2"}


def test_a_gap_that_is_written_shows_in_the_margin(worker: FramedProcess) -> None:
    source = (
        HEAD
        + """
@triton.jit
def stray(x, y):
    tl.store(x + 1, 5.0)
    tl.store(y, 1.0)
def run(x):
    y = torch.zeros_like(x)
    stray[(1,)](x, y)
    return y
"""
    )
    reply, blobs = interpret(worker, source, np.ones((2, 8), np.float32), layout="strided", poison="zero")
    assert isinstance(reply, Interpreted)
    assert first_overwritten("zero", "float32", blobs["margin:x"]) is not None
    assert blobs["input:x"] == np.ones(16, np.float32).tobytes()


def test_an_input_that_is_written_or_returned_shows(worker: FramedProcess) -> None:
    source = HEAD + "def run(x):\n    x.zero_()\n    return x.view(x.shape)\n"
    reply, blobs = interpret(worker, source, np.ones((2, 8), np.float32))
    assert isinstance(reply, Interpreted)
    assert reply.aliases == {"y0": "x"}
    assert blobs["input:x"] == bytes(64)


OFFSETS = {
    "x + at + 1": ("out_of_bounds_read", "x", 64),
    "x - 1 + at": ("out_of_bounds_read", "x", -4),
    "tl.where(at < 8, x + at, y + at + 100)": ("out_of_bounds_read", "t0", 432),
}


@pytest.mark.parametrize("address", OFFSETS)
def test_reads_outside_a_buffer_are_named(worker: FramedProcess, address: str) -> None:
    source = (
        HEAD
        + f"""
@triton.jit
def stray(x, y):
    at = tl.arange(0, 16)
    tl.store(y + at, tl.load({address}))
def run(x):
    y = torch.empty_like(x)
    stray[(1,)](x, y)
    return y
"""
    )
    reply, _ = interpret(worker, source, np.ones((2, 8), np.float32))
    assert isinstance(reply, InterpretFailed)
    rejected, (code, buffer, offset) = reply.rejected, OFFSETS[address]
    assert (rejected.stage, rejected.code) == ("memory", code)
    assert rejected.evidence["offset_bytes"] == offset
    assert (rejected.evidence["buffer"], rejected.evidence["kernel"]) == (buffer, "stray")
    assert "candidate.py:7" in rejected.message


def test_a_read_far_outside_does_not_crash_the_worker(worker: FramedProcess) -> None:
    body = "@triton.jit\ndef far(x):\n    tl.store(x, tl.load(x + 1_000_000_000))\ndef run(x):\n    far[(1,)](x)\n"
    assert refused(worker, body) == ("memory", "out_of_bounds_read")


@pytest.mark.parametrize("store", ["tl.store(y + at + 1, 1.0)", "tl.atomic_add(y + at + 1, 1.0)"])
def test_writes_outside_a_buffer_are_named_and_masks_are_honoured(worker: FramedProcess, store: str) -> None:
    body = f"""
@triton.jit
def stray(y):
    at = tl.arange(0, 16)
    {store}
def run(x):
    y = torch.zeros_like(x)
    stray[(1,)](y)
    return y
"""
    assert refused(worker, body) == ("memory", "out_of_bounds_write")
    masked = body.replace("1.0)", "1.0, mask=at < 15)")
    reply, blobs = interpret(worker, HEAD + masked, np.ones((2, 8), np.float32))
    assert isinstance(reply, Interpreted)
    assert np.frombuffer(blobs["output:y0"], np.float32).tolist() == [0.0] + [1.0] * 15


def test_a_workspace_of_an_unusual_dtype(worker: FramedProcess) -> None:
    body = "def run(x):\n    w = torch.empty(5, dtype=torch.uint32, device='cuda')\n    return torch.zeros_like(x)\n"
    reply, blobs = interpret(worker, HEAD + body, np.ones((2, 8), np.float32), poison="inf")
    assert isinstance(reply, Interpreted), reply
    assert first_overwritten("inf", "uint8", blobs["margin:t0"]) is None


def test_nothing_to_compute(worker: FramedProcess) -> None:
    body = "def run(x):\n    return torch.empty_like(x)[:0], x[:0].contiguous()\n"
    x = np.ones((2, 8), np.float32)
    reply, blobs = interpret(worker, HEAD + body, x, spec_of(x.shape, outputs=2))
    assert isinstance(reply, Interpreted), reply
    assert [array.shape for array in reply.outputs] == [(0, 8), (0, 8)]
    assert blobs["output:y1"] == b""


REFUSALS = {
    "return x * 2": ("policy", "aten_not_allowed"),
    "return torch.softmax(x, 1)": ("policy", "aten_not_allowed"),
    "return torch.mm(x, x.t())": ("policy", "aten_not_allowed"),
    "return torch.full_like(x, x[0, 0].item())": ("capture", "reads_value"),
    "return torch.full_like(x, float(x[0, 0]))": ("capture", "reads_value"),
    "return torch.tensor(x.tolist())": ("capture", "reads_value"),
    "return x if x[0, 0] > 0 else x": ("policy", "aten_not_allowed"),
    "try:\n        x * 2\n    except Exception:\n        pass\n    return x": ("policy", "aten_not_allowed"),
    "raise ValueError('no')": ("launch", "raised"),
    "raise SystemExit(0)": ("launch", "raised"),
    "return None": ("structure", "output_type"),
    "return x, x": ("structure", "output_count"),
    "torch.cuda.Stream()": ("policy", "stream_not_allowed"),
}


@pytest.mark.parametrize("body", REFUSALS)
def test_refusals(worker: FramedProcess, body: str) -> None:
    assert refused(worker, f"def run(x):\n    {body}\n") == REFUSALS[body]


LIES = """
class Rows(tuple):
    __iter__ = lambda self: iter(())
    __getitem__ = __len__ = lambda self, *place: 1 / 0

class Lying(torch.Tensor):
    detach = lambda self: torch.ones(1)

def lie(y):
    for name in ("detach", "contiguous", "reshape", "view", "numpy", "tobytes", "is_contiguous", "untyped_storage",
                 "data_ptr", "numel", "is_floating_point", "stride", "cpu", "flatten", "clone"):
        setattr(y, name, lambda *args: 1 / 0)
    return y

def run(x):
    y = torch.zeros_like(x)
    lie(x)
    RETURNS
"""


@pytest.mark.parametrize(
    "returns", ["return lie(y)", "return Rows([lie(y)])", "return lie(torch.nn.Parameter(y, False))"]
)
def test_nothing_that_the_candidate_put_on_a_tensor_runs_afterwards(worker: FramedProcess, returns: str) -> None:
    x = np.ones((2, 8), np.float32)
    reply, blobs = interpret(worker, HEAD + LIES.replace("RETURNS", returns), x)
    assert isinstance(reply, Interpreted), reply
    assert (reply.outputs[0].shape, reply.outputs[0].dtype, reply.outputs[0].contiguous) == ((2, 8), "float32", True)
    assert blobs["output:y0"] == bytes(64)
    assert blobs["input:x"] == x.tobytes()


def test_methods_patched_on_the_class_are_not_asked(worker: FramedProcess) -> None:
    body = """
def run(x):
    y, kind = torch.zeros_like(x), torch.Tensor
    kind.detach = kind.numpy = kind.contiguous = kind.reshape = kind.view = lambda *args: 1 / 0
    return y
"""
    own = FramedProcess([sys.executable, "-I", "-c", SERVICE], env={"OMP_NUM_THREADS": "1"}, cwd="/", greets=False)
    reply, blobs = interpret(own, HEAD + body, np.ones((2, 8), np.float32))
    own.close()
    assert isinstance(reply, Interpreted), reply
    assert blobs["output:y0"] == bytes(64)


@pytest.mark.parametrize("returns", ["return y.as_subclass(Lying)", "return 1", "return [x.shape]"])
def test_only_plain_tensors_are_outputs(worker: FramedProcess, returns: str) -> None:
    body = LIES.replace("    lie(x)\n", "").replace("RETURNS", returns)
    assert refused(worker, body) == ("structure", "output_type")


def test_contractions_follow_the_specs_library(worker: FramedProcess) -> None:
    source = HEAD + "def run(x):\n    return torch.mm(x, x)\n"
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    spec = spec_of(x.shape)
    allowed = spec.model_copy(update={"accept": spec.accept.model_copy(update={"library": ("mm",)})})
    reply, blobs = interpret(worker, source, x, allowed)
    assert isinstance(reply, Interpreted)
    assert np.array_equal(np.frombuffer(blobs["output:y0"], np.float32).reshape(4, 4), x @ x)
    assert refused(worker, source, x, spec=spec) == ("policy", "aten_not_allowed")


def test_the_launcher_sees_a_gpu(worker: FramedProcess) -> None:
    body = """
def run(x):
    assert x.is_cuda and not x.is_cpu and x.device.type == "cuda" and x.get_device() == 0
    assert torch.cuda.get_device_capability(x.device) == (9, 0)
    assert torch.cuda.get_device_properties(x.device).multi_processor_count > 100
    with torch.cuda.device(x.device):
        y = torch.empty(x.shape, device="cuda:0", dtype=x.dtype)
    y.copy_(x.to("cuda").cuda().to(torch.float16))
    return y
"""
    reply, _ = interpret(worker, HEAD + body, np.ones((2, 8), np.float32))
    assert isinstance(reply, Interpreted), reply


@pytest.mark.parametrize("swallow", [False, True])
def test_a_run_without_end_is_stopped_from_inside(worker: FramedProcess, swallow: bool) -> None:
    loop = "    try:\n        while True: pass\n    except BaseException: pass\n" if swallow else ""
    body = f"def run(x):\n{loop}    while True: pass\n"
    reply, _ = interpret(worker, HEAD + body, np.ones((2, 8), np.float32), timeout_s=0.3)
    assert isinstance(reply, InterpretFailed)
    assert (reply.rejected.stage, reply.rejected.code) == ("launch", "timeout")


def test_bfloat16_never_reaches_the_interpreter(worker: FramedProcess) -> None:
    spec = spec_of((2, 8), "bfloat16")
    reply, _ = interpret(worker, ROWS, np.zeros((2, 8), np.float16), spec)
    assert isinstance(reply, InterpretFailed)
    assert reply.unsupported
    twin, _ = interpret(worker, ROWS, np.zeros((2, 8), np.float32), spec, dtypes={"x": "float32"})
    assert isinstance(twin, Interpreted)
