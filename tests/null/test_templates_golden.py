"""What the templates write, in full: a change of the generator shows as a change of these files.

`tests/golden/<spec>.graph.json` is the traced graph of the spec (tests/interpreter checks that it still is), and
`<spec>.<form>.py` the source. To accept a change: `python tests/golden/renew.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tilewright.propose import Attempt, ProposalContext
from tilewright.propose.templates import TemplateProposer, written
from tilewright_sandbox.contract import Axis, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.expressions import compile_where
from tilewright_sandbox.graph import Node, OpGraph, Value
from tilewright_sandbox.spec import load_spec

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
NAMES = sorted(path.name.removesuffix(".graph.json") for path in GOLDEN.glob("*.graph.json"))


def context_of(name: str) -> ProposalContext:
    graph = OpGraph.model_validate_json((GOLDEN / f"{name}.graph.json").read_text())
    return ProposalContext(load_spec(ROOT / "specs" / name).spec, graph, "sm_90")


def test_three_families_have_golden_sources() -> None:
    assert {"softmax", "rmsnorm", "matmul_bias_gelu"} <= set(NAMES)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.*.py")), ids=lambda path: path.stem)
def test_source_is_the_golden_one(path: Path) -> None:
    name, title = path.stem.split(".")
    found = {form.title: form.module.text() for form in written(context_of(name))}
    assert found[title.replace("_", " ")] == path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_trials_are_points_of_the_space_that_fit_every_workload(name: str) -> None:
    context = context_of(name)
    for candidate in TemplateProposer().propose(context):
        assert candidate.trials, f"{candidate.title} has a first guess"
        for trial in candidate.trials:
            assert all(trial.root[key] in choices for key, choices in candidate.space.items())
        first = candidate.trials[0]
        for workload in context.spec.with_role("tune", "bench"):
            for rule in candidate.where:
                assert compile_where(rule).holds(first, workload.axes), f"{candidate.title}: {rule} at {workload.label}"


@pytest.mark.parametrize("name", NAMES)
def test_later_rounds_offer_only_what_was_not_tried(name: str) -> None:
    context = context_of(name)
    first = TemplateProposer().propose(context)
    assert first
    history = tuple(Attempt(candidate) for candidate in first[:1])
    second = TemplateProposer().propose(ProposalContext(context.spec, context.graph, "sm_90", 2, history))
    assert first[0].id not in {candidate.id for candidate in second}
    assert [c.id for c in first[1:]] == [c.id for c in second][: len(first) - 1]


def pointwise_spec(axes: dict[str, Axis], tensor: str = "x") -> tuple[Spec, OpGraph]:
    shape = tuple(axes)
    spec = Spec(
        name="probe", summary='A "quoted" summary with a \\ in it', op="probe", axes=axes,
        inputs=(TensorInput(name=tensor, shape=shape, dtype="float32"),),
        outputs=(TensorOutput(name="y", shape=shape, dtype="float32"),),
        workloads=(Workload(role="tune", axes={name: axis.max for name, axis in axes.items()}),),
        reference_sha256="0" * 64,
    )  # fmt: skip
    node = Node(op="sum", inputs=(tensor,), output=Value(name="s", shape=(shape[0], 1), dtype="float32"),
                attributes={"dims": (1,), "keepdim": True})  # fmt: skip
    scaled = Node(op="div", inputs=(tensor, "s"), output=Value(name="d", shape=shape, dtype="float32"))
    value = Value(name=tensor, shape=shape, dtype="float32")
    return spec, OpGraph(spec_sha256="0" * 64, inputs=(value,), nodes=(node, scaled), outputs=("d",))


@pytest.mark.parametrize(
    ("row", "column"),
    [("rows", "cols"), ("row", "col"), ("BLOCK", "ROWS"), ("start", "inside"), ("x", "y"), ("i", "tl")],
)
def test_axes_may_have_any_name(row: str, column: str) -> None:
    """An axis called `rows` once became the local variable of that name and read past the end of its input."""
    axes = {row: Axis(min=1, max=4096), column: Axis(min=1, max=4096)}
    spec, graph = pointwise_spec(axes)
    forms = written(ProposalContext(spec, graph, "sm_90"))
    assert len(forms) == 3
    for form in forms:
        for function in (n for n in ast.walk(ast.parse(form.module.text())) if isinstance(n, ast.FunctionDef)):
            targets = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            assert not set(targets) & {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}


def test_offsets_that_pass_two_to_the_31_are_wide() -> None:
    large = {"tokens": Axis(min=1, max=1 << 20), "hidden": Axis(min=1, max=1 << 14)}
    small = {"tokens": Axis(min=1, max=1 << 10), "hidden": Axis(min=1, max=1 << 14)}
    for axes, wide in ((large, True), (small, False)):
        spec, graph = pointwise_spec(axes)
        for form in written(ProposalContext(spec, graph, "sm_90")):
            assert ("tl.int64" in form.module.text()) == wide, form.title


def test_a_graph_outside_the_families_gets_no_candidate() -> None:
    spec, graph = pointwise_spec({"tokens": Axis(min=1, max=64), "hidden": Axis(min=1, max=64)})
    strange = graph.nodes[0].model_copy(update={"op": "fft"})
    odd = graph.model_copy(update={"nodes": (strange, graph.nodes[1])})
    assert TemplateProposer().propose(ProposalContext(spec, odd, "sm_90")) == []
    assert TemplateProposer().propose(ProposalContext(spec, None, "sm_90")) == []
