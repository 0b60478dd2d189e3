"""Every kernel that the templates write runs right under Triton's interpreter, on awkward shapes and awkward values.

The worker is the builder's interpreter: allocations are poisoned with NaN, and margins around every buffer are watched.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tilewright.propose import ProposalContext
from tilewright.propose.templates import as_candidate, written
from tilewright_sandbox.boxes import client
from tilewright_sandbox.boxes.framed_process import FramedProcess
from tilewright_sandbox.contract import Candidate, Config, Dtype, ScalarInput, Spec, Workload, resolve_shape
from tilewright_sandbox.jobs import Interpreted, InterpretRequest
from tilewright_sandbox.judge.reference import PromoteFloats, Reference
from tilewright_sandbox.judge.trace import trace, trace_function
from tilewright_sandbox.spec import load_spec

ROOT = Path(__file__).parents[2]
_loader = importlib.util.spec_from_file_location("unseen_references", ROOT / "tests" / "unseen" / "references.py")
assert _loader is not None
assert _loader.loader is not None
unseen = importlib.util.module_from_spec(_loader)
_loader.loader.exec_module(unseen)

SPECS = sorted(path.parent.name for path in (ROOT / "specs").glob("*/spec.toml"))
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
UNIT = {"float32": 2.0**-24, "float16": 2.0**-11}
SMALL = {"BLOCK": 512, "ROWS": 4, "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32, "PROGRAMS": 132, "GROUP_M": 4}
Run = Callable[[dict[str, Any]], tuple[Tensor, ...]]


@pytest.fixture(scope="module")
def worker() -> Iterator[FramedProcess]:
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    process = FramedProcess([sys.executable, "-I", "-c", SERVICE], env=environment, cwd="/", greets=False)
    yield process
    process.close()


def reference_of(name: str) -> tuple[Spec, list[Candidate], Run]:
    """The spec, every form that the templates write for it, and the reference in float64."""
    if name in SPECS:
        folder = load_spec(ROOT / "specs" / name)
        spec, graph, run = folder.spec, trace(folder), Reference(folder).run_float64
    else:
        spec, function = unseen.CASES[name]
        graph = trace_function(function, spec)

        def run(inputs: Any) -> tuple[Tensor, ...]:
            with PromoteFloats():
                result = function(*inputs.values())
            return result if isinstance(result, tuple) else (result,)

    context = ProposalContext(spec, graph, "sm_90")
    return spec, [as_candidate(form, context) for form in written(context)], run


def bindings(spec: Spec) -> list[dict[str, int]]:
    """One element; a prime; a block and one more. Beyond the domain's choices too: kernels must not care."""
    if "spatial" in spec.axes:
        return [{"batch": 2, "channels": 24, "spatial": 1}, {"batch": 1, "channels": 64, "spatial": 131}]
    if "h" in spec.axes:
        return [{"batch": 1, "h": 1, "w": 3}, {"batch": 2, "h": 7, "w": 11}]
    if "K" in spec.axes:
        return [dict.fromkeys(spec.axes, 1), {"B": 2, "T": 5, "M": 17, "N": 33, "K": 67}]
    row, column = list(spec.axes)[:2]
    return [{row: 3, column: 1}, {row: 5, column: 127}, {row: 2, column: 513}]


def draw(spec: Spec, axes: dict[str, int], dtype: Dtype) -> dict[str, Any]:
    torch.manual_seed(sum(axes.values()))
    inputs: dict[str, Any] = {}
    for item in spec.inputs:
        if isinstance(item, ScalarInput):
            inputs[item.name] = item.value
        elif item.fill == "index":
            below = resolve_shape((item.index_below or 1,), axes)[0]
            inputs[item.name] = torch.randint(0, below, resolve_shape(item.shape, axes))
        else:
            inputs[item.name] = torch.randn(resolve_shape(item.shape, axes)).to(getattr(torch, dtype))
    return inputs


def small_config(candidate: Candidate) -> Config:
    """The first trial, with tiles so small that every loop and mask is met."""
    first = candidate.trials[0].root
    return Config({name: SMALL.get(name, value) for name, value in first.items()})


def interpret(
    worker: FramedProcess, spec: Spec, candidate: Candidate, axes: dict[str, int], inputs: dict[str, Any], dtype: Dtype,
    layout: Any = "contiguous",
) -> list[Tensor]:  # fmt: skip
    axes = {name: axes[name] if axis.min != axis.max else axis.min for name, axis in spec.axes.items()}
    tensors = {name: value for name, value in inputs.items() if isinstance(value, Tensor)}
    request = InterpretRequest(
        source=candidate.source, spec=spec, config=small_config(candidate), workload=Workload(role="edge", axes=axes),
        dtypes={name: dtype for name, value in tensors.items() if value.is_floating_point()}, layout=layout,
    )  # fmt: skip
    reply, blobs = client.interpret(worker, request, {name: value.numpy().tobytes() for name, value in tensors.items()})
    assert isinstance(reply, Interpreted), f"{candidate.title}: {reply.rejected.message}"
    return [
        torch.frombuffer(bytearray(blobs[f"output:{declared.name}"]), dtype=getattr(torch, array.dtype)).reshape(
            array.shape
        )
        for declared, array in zip(spec.outputs, reply.outputs, strict=True)
    ]


def assert_close(made: list[Tensor], wanted: tuple[Tensor, ...], dtype: Dtype, title: str) -> None:
    """Within 32 units of the input's precision of the largest element; NaN and infinities exactly where they belong."""
    for got, want in zip(made, wanted, strict=True):
        assert got.shape == want.shape, title
        got = got.double()
        assert torch.equal(torch.isnan(got), torch.isnan(want)), f"{title}: NaN in other places"
        assert torch.equal(torch.where(got.isinf(), got, 0.0), torch.where(want.isinf(), want, 0.0)), (
            f"{title}: infinities"
        )
        finite = torch.isfinite(want)
        if finite.any():
            scale = max(want[finite].abs().max().item(), 1e-2)
            error = (got - want)[finite].abs().max().item() / (scale * UNIT[dtype])
            assert error <= 32, f"{title}: {error:.1f} units"


def widened(inputs: dict[str, Any]) -> dict[str, Any]:
    return {k: v.double() if isinstance(v, Tensor) and v.is_floating_point() else v for k, v in inputs.items()}


@pytest.mark.parametrize("name", [*SPECS, *unseen.CASES])
def test_every_form_is_right(name: str, worker: FramedProcess) -> None:
    spec, candidates, run = reference_of(name)
    assert candidates, "the templates cover this reference"
    for place, axes in enumerate(bindings(spec)):
        dtype: Dtype = "float16" if place % 2 else "float32"
        inputs = draw(spec, axes, dtype)
        wanted = run(widened(inputs))
        for candidate in candidates:
            made = interpret(worker, spec, candidate, axes, inputs, dtype)
            assert_close(made, wanted, dtype, f"{name}, {candidate.title}, {axes}")


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "logsumexp", "log_mean_exp", "min_max_scale", "layernorm", "relu_bias", "swiglu"]
)
def test_infinities_and_nan_go_where_the_reference_sends_them(name: str, worker: FramedProcess) -> None:
    spec, candidates, run = reference_of(name)
    row, column = list(spec.axes)[:2]
    axes = {row: 6, column: 1030}
    inputs = draw(spec, axes, "float32")
    x = inputs[spec.tensor_inputs[0].name]
    x[0] = -math.inf  # no finite element
    x[1, :600] = -math.inf  # none in the first block
    x[2, 700] = math.inf
    x[3, 5] = math.nan
    x[4] = 100 + torch.arange(1030) % 7  # mean much greater than deviation
    wanted = run(widened(inputs))
    for candidate in candidates:
        made = interpret(worker, spec, candidate, axes, inputs, "float32")
        assert_close(made, wanted, "float32", f"{name}, {candidate.title}")


@pytest.mark.parametrize("name", ["relu_bias", "sigmoid_blend"])
@pytest.mark.parametrize("layout", ["strided", "offset"])
def test_views_are_read_through_their_strides(name: str, layout: str, worker: FramedProcess) -> None:
    spec, candidates, run = reference_of(name)
    axes = dict(zip(spec.axes, (5, 131), strict=True))
    inputs = draw(spec, axes, "float32")
    for candidate in candidates:
        made = interpret(worker, spec, candidate, axes, inputs, "float32", layout)
        assert_close(made, run(widened(inputs)), "float32", f"{name}, {candidate.title}, {layout}")


def test_ignored_targets_count_for_nothing(worker: FramedProcess) -> None:
    spec, candidates, run = reference_of("cross_entropy")
    inputs = draw(spec, {"tokens": 9, "vocab": 70}, "float32")
    inputs["target"][::2] = -100
    for candidate in candidates:
        made = interpret(worker, spec, candidate, {"tokens": 9, "vocab": 70}, inputs, "float32")
        assert_close(made, run(widened(inputs)), "float32", candidate.title)
