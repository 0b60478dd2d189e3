"""The operator graph of a reference computes what the reference computes, and what it cannot say it refuses by name."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright_sandbox.contract import Axis, ScalarInput, Spec, TensorInput, TensorOutput, Workload, resolve_shape
from tilewright_sandbox.graph import Node, OpGraph
from tilewright_sandbox.judge.canonical import Untraceable
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


def evaluate(graph: OpGraph, inputs: dict[str, Any], axes: dict[str, int]) -> list[Tensor]:
    """The graph in float64: an interpreter of its own, sharing nothing with the templates."""
    values: dict[str, Any] = dict(inputs)

    def extent(text: int | str) -> int:
        return int(eval(str(text), {"__builtins__": {}}, dict(axes)))

    for node in graph.nodes:
        args = [values[a] if isinstance(a, str) else a for a in node.inputs]
        shape = tuple(extent(e) for e in node.output.shape)
        result = apply(node, args, shape, extent)
        if isinstance(result, Tensor):
            assert tuple(result.shape) == shape, f"{node.op}: {tuple(result.shape)}, the graph says {shape}"
        values[node.output.name] = result
    return [values[name] for name in graph.outputs]


def apply(node: Node, args: list[Any], shape: tuple[int, ...], extent: Callable[[int | str], int]) -> Any:
    attributes = node.attributes
    floating = node.output.dtype.startswith(("float", "bfloat"))
    match node.op:
        case "extent":
            return extent(str(attributes["of"]))
        case "constant":
            return float(str(attributes["value"]))
        case "cast":
            return args[0].to(torch.float64 if floating else getattr(torch, node.output.dtype))
        case "reshape":
            return args[0].reshape(shape)
        case "expand":
            return args[0].expand(shape)
        case "permute":
            return args[0].permute(attributes["dims"])
        case "slice":
            return args[0].narrow(attributes["dim"], args[1], shape[attributes["dim"]])
        case "gather":
            return torch.gather(args[0], attributes["dim"], args[1])
        case "sum" | "mean" | "amax" | "amin":
            source = args[0].double() if floating else args[0]
            return getattr(torch, node.op)(source, dim=attributes["dims"], keepdim=attributes["keepdim"])
        case "cumsum":
            return torch.cumsum(args[0], attributes["dim"])
        case "matmul":
            return args[0] @ args[1]
        case "clamp_min" | "clamp_max":
            return torch.clamp(args[0], **{node.op.removeprefix("clamp_"): args[1]})
        case "where":
            first, second = (torch.as_tensor(a, dtype=torch.float64 if floating else None) for a in args[1:])
            return torch.where(args[0], first, second)
    operator = getattr(torch, node.op)
    if all(not isinstance(a, Tensor) for a in args):
        return operator(*(torch.tensor(a) for a in args)).item()
    return operator(*args)


def draw(spec: Spec, axes: dict[str, int]) -> dict[str, Any]:
    torch.manual_seed(len(spec.name))
    inputs: dict[str, Any] = {}
    for item in spec.inputs:
        if isinstance(item, ScalarInput):
            inputs[item.name] = item.value
            continue
        shape = resolve_shape(item.shape, axes)
        if item.fill == "index":
            assert item.index_below is not None
            inputs[item.name] = torch.randint(0, resolve_shape((item.index_below,), axes)[0], shape)
        else:
            inputs[item.name] = torch.randn(shape, dtype=torch.float64)
    return inputs


def small_axes(spec: Spec, step: int) -> dict[str, int]:
    """Bindings that the trace did not use; the domain's own choices where it has them."""
    return {
        name: axis.choices[0]
        if axis.choices
        else axis.min
        if axis.min == axis.max
        else axis.multiple_of * (step + place)
        for place, (name, axis) in enumerate(spec.axes.items())
    }


def check_equal(graph: OpGraph, spec: Spec, run: Callable[[dict[str, Any]], Any]) -> None:
    graph = OpGraph.model_validate_json(graph.model_dump_json())
    for step in (3, 8):
        axes = small_axes(spec, step)
        inputs = draw(spec, axes)
        wanted = run(inputs)
        for made, want in zip(evaluate(graph, inputs, axes), wanted, strict=True):
            torch.testing.assert_close(made, want.to(made.dtype), rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", SPECS)
def test_graph_of_a_spec_equals_its_reference(name: str) -> None:
    folder = load_spec(ROOT / "specs" / name)
    check_equal(trace(folder), folder.spec, Reference(folder).run_float64)


@pytest.mark.parametrize("name", unseen.CASES)
def test_graph_of_an_unseen_reference_equals_it(name: str) -> None:
    spec, function = unseen.CASES[name]

    def run(inputs: dict[str, Any]) -> tuple[Tensor, ...]:
        with PromoteFloats():
            result = function(*inputs.values())
        return result if isinstance(result, tuple) else (result,)

    check_equal(trace_function(function, spec), spec, run)


def spec_of(axes: dict[str, Axis], outputs: tuple[str, ...] = ("tokens", "hidden"), **scalars: float) -> Spec:
    return Spec(
        name="probe",
        summary="probe",
        op="probe",
        axes=axes,
        inputs=(
            TensorInput(name="x", shape=tuple(axes), dtype="float32"),
            *(ScalarInput(name=name, value=value) for name, value in scalars.items()),
        ),
        outputs=(TensorOutput(name="y", shape=outputs, dtype="float32"),),
        workloads=(Workload(role="tune", axes={name: axis.max for name, axis in axes.items()}),),
        reference_sha256="0" * 64,
    )


ROWS = {"tokens": Axis(min=1, max=4096), "hidden": Axis(min=1, max=4096)}


def test_scalars_and_extents_keep_their_names() -> None:
    graph = trace_function(lambda x, eps: x / (x.sum(-1, keepdim=True) + eps) / x.shape[1], spec_of(ROWS, eps=1e-6))
    assert graph.scalars == {"eps": 1e-6}
    assert any("eps" in node.inputs for node in graph.nodes)
    assert [node.attributes["of"] for node in graph.nodes if node.op == "extent"] == ["hidden"]


def test_halves_and_products_are_named_by_their_axes() -> None:
    axes = {"tokens": Axis(min=1, max=4096), "hidden": Axis(min=2, max=4096, multiple_of=2)}
    graph = trace_function(lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1], spec_of(axes))
    assert graph.nodes[-1].output.shape == ("tokens", "hidden//2")
    starts = [node.inputs[1] for node in graph.nodes if node.op == "slice"]
    assert starts[0] == 0
    halves = {node.output.name: node.attributes["of"] for node in graph.nodes if node.op == "extent"}
    assert halves[str(starts[1])] == "hidden//2"
    flat = trace_function(lambda x: x.reshape(-1) + 1, spec_of(axes))
    assert flat.nodes[0].output.shape == ("tokens*hidden",)


def test_infinities_survive_json() -> None:
    graph = trace_function(lambda x: torch.where(x > 0, x, -math.inf), spec_of(ROWS))
    assert OpGraph.model_validate_json(graph.model_dump_json()) == graph


def _writes_a_view_that_is_read(x: Tensor) -> Tensor:
    y = x * 2
    y[:, :1].add_(1)
    return y


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: torch.sort(x, -1)[0], "sort"),
        (lambda x: torch.special.bessel_j0(x), "bessel_j0"),
        (lambda x: x if x.sum() > 0 else -x, "without values"),
        (lambda x: x * 2 if x.shape[0] < 35 else x + 1, "different operations"),
        (lambda x: torch.zeros(x.shape), "constant"),
        (lambda x: F.dropout(x, 0.5, True), "aten."),
        (lambda x: torch.max(x, -1)[0], "max"),
        (lambda x: x * torch.arange(x.shape[1]), "arange"),
        (lambda x: x * x.shape[0] ** 0.5, "depends on the shapes"),
        (lambda x: x.as_strided((3, 3), (1, 1)), "strided view"),
        (_writes_a_view_that_is_read, "scatter|copy|as_strided|strided"),
    ],
)
def test_what_a_graph_cannot_say_is_refused_by_name(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(Untraceable, match=words):
        trace_function(function, spec_of(ROWS))


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "golden").glob("*.graph.json")), ids=lambda path: path.name)
def test_golden_graphs_are_those_of_the_specs(path: Path) -> None:
    folder = load_spec(ROOT / "specs" / path.name.removesuffix(".graph.json"))
    assert OpGraph.model_validate_json(path.read_text()) == trace(folder)
