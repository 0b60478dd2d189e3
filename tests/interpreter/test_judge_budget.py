"""The error budget, the lattice, transforms and patterns, on torch arithmetic alone: no box, no Triton."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tilewright_sandbox.contract import Dtype, Workload
from tilewright_sandbox.judge.budget import deviate, thresholds
from tilewright_sandbox.judge.cases import Case
from tilewright_sandbox.judge.inputs import draw_inputs
from tilewright_sandbox.judge.lattice import draw_lattice, exact_elements, widest_lattice
from tilewright_sandbox.judge.noise import half_ulp, keeps_integers
from tilewright_sandbox.judge.oracle import Oracle, own_error_factor
from tilewright_sandbox.judge.pattern import describe_pattern
from tilewright_sandbox.judge.reference import Reference
from tilewright_sandbox.judge.transforms import TRANSFORMS
from tilewright_sandbox.spec import load_spec

SPECS = Path(__file__).parents[2] / "specs"
Compute = Callable[..., Tensor]


@functools.cache
def oracle(name: str) -> Oracle:
    folder = load_spec(SPECS / name)
    return Oracle(folder.spec, Reference(folder), b"budget tests")


def constant(name: str, compute: Compute, axes: dict[str, int], dtype: Dtype, draw: str = "spec") -> float:
    """Largest error of the first output over its limit: more than 1 is a FAIL."""
    made = oracle(name)
    case = Case("budget", Workload(role="twin", axes=axes), {t.name: dtype for t in made.spec.tensor_inputs}, draw)
    expected, limits = made.expected(case), thresholds()
    given = [v.float() if isinstance(v, Tensor) else v for v in made.inputs(case).values()]
    limit = limits.element_mean_zero if expected.linear and draw == "spec" else limits.element_otherwise
    output = compute(*given).to(expected.native[0].dtype)
    found = deviate(output, expected.exact[0], expected.spread[0], expected.half_spacing[0], limit)
    return max(found.worst_c / limit, found.norm_c / limits.norm)


def sequential(terms: Tensor) -> Tensor:
    return functools.reduce(torch.add, terms.unbind(-1))


def bmm_of(add: Callable[[Tensor], Tensor]) -> Compute:
    return lambda a, b: add(a.unsqueeze(-2) * b.mT.unsqueeze(-3))


def softmax_of(add: Callable[[Tensor], Tensor]) -> Compute:
    def compute(x: Tensor) -> Tensor:
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / add(e).unsqueeze(-1)

    return compute


def layernorm(x: Tensor, weight: Tensor, bias: Tensor, eps: float, *, lost: int = 0, one_pass: bool = False) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    squares = (x * x).mean(-1, keepdim=True) - mean * mean if one_pass else (x - mean).square().mean(-1, keepdim=True)
    n = x.shape[-1]
    return (x - mean) * torch.rsqrt(squares * (n / (n - lost)) + eps) * weight + bias


def gelu(x: Tensor, residual: Tensor, *, form: str = "tanh") -> Tensor:
    if form == "erf":
        return torch.nn.functional.gelu(x) + residual
    u = 0.7978845608028654 * (x + 0.044715 * x**3)
    return (x * torch.sigmoid(2 * u) if form == "sigmoid" else 0.5 * x * (1 + torch.tanh(u))) + residual


MM = {"B": 2, "M": 9, "N": 11, "K": 700}
ROWS = {"rows": 4, "cols": 1500}
NORM = {"tokens": 4, "hidden": 777}
HONEST: list[tuple[str, str, Compute, dict[str, int], str]] = [
    ("batched_matmul", "sequential", bmm_of(sequential), MM, "spec"),
    ("batched_matmul", "split", bmm_of(lambda t: sum(p.sum(-1) for p in t.split(64, -1))), MM, "spec"),  # type: ignore[arg-type, return-value]
    ("batched_matmul", "better than the reference", bmm_of(lambda t: t.double().sum(-1)), MM, "spec"),
    ("batched_matmul", "sequential, large mean", bmm_of(sequential), MM, "mean 200, spread 1"),
    ("softmax", "sequential", softmax_of(sequential), ROWS, "spec"),
    ("softmax", "base two", lambda x: torch.exp2((x - x.amax(-1, keepdim=True)) * 1.4426950408889634)
        / torch.exp2((x - x.amax(-1, keepdim=True)) * 1.4426950408889634).sum(-1, keepdim=True), ROWS, "×3"),
    ("layernorm", "two passes", layernorm, NORM, "mean 200, spread 1"),
    ("gelu_tanh_residual", "through a sigmoid", functools.partial(gelu, form="sigmoid"), NORM, "spec"),
    ("gelu_tanh_residual", "through a tanh", gelu, NORM, "×3"),
]  # fmt: skip
WRONG: list[tuple[str, str, Compute, dict[str, int], str]] = [
    ("batched_matmul", "first skipped", bmm_of(lambda t: t[..., 1:].sum(-1)), MM, "spec"),
    ("batched_matmul", "half accumulator", bmm_of(lambda t: sequential(t.half()).float()), MM, "spec"),
    ("batched_matmul", "zeros", lambda a, b: torch.zeros_like(a @ b), MM, "spec"),
    ("softmax", "zeros", torch.zeros_like, ROWS, "spec"),
    ("softmax", "uniform", lambda x: torch.full_like(x, 1 / x.shape[-1]), ROWS, "spec"),
    ("softmax", "first skipped", softmax_of(lambda e: e[..., 1:].sum(-1)), {"rows": 4, "cols": 200}, "spec"),
    ("layernorm", "unbiased", functools.partial(layernorm, lost=1), {"tokens": 4, "hidden": 61}, "spec"),
    ("layernorm", "one pass", functools.partial(layernorm, one_pass=True), NORM, "mean 200, spread 1"),
    ("layernorm", "no eps", lambda x, w, b, eps: layernorm(x, w, b, 0.0), NORM, "×0.003 (spread near √eps)"),
    ("layernorm", "eps of 1e-3", lambda x, w, b, eps: layernorm(x, w, b, 1e-3), NORM, "×0.003 (spread near √eps)"),
]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", HONEST, ids=lambda case: f"{case[0]}: {case[1]}")
def test_honest_arithmetic_is_within_budget(case: tuple[str, str, Compute, dict[str, int], str], dtype: Dtype) -> None:
    name, _, compute, axes, draw = case
    assert constant(name, compute, axes, dtype, draw) <= 1


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case[0]}: {case[1]}")
def test_wrong_arithmetic_is_far_outside(case: tuple[str, str, Compute, dict[str, int], str], dtype: Dtype) -> None:
    name, what, compute, axes, draw = case
    assert constant(name, compute, axes, dtype, draw) > (1 if dtype == "float16" else 4), what


def test_rounding_of_operands_and_the_other_gelu_show_in_float32() -> None:
    tf32 = bmm_of(lambda t: t.sum(-1))

    def rounded(a: Tensor, b: Tensor) -> Tensor:
        return tf32((a.view(torch.int32) & ~0x1FFF).view(torch.float32), b)

    assert constant("batched_matmul", rounded, MM, "float32") > 10
    assert constant("gelu_tanh_residual", functools.partial(gelu, form="erf"), NORM, "float32") > 10


def test_stored_limits_lie_between_the_honest_and_the_wrong_that_were_measured() -> None:
    stored: dict[str, Any] = json.loads(files("tilewright_sandbox.judge").joinpath("budget.json").read_text())
    for kind, largest in stored["honest_maxima"].items():
        assert 0 < largest < stored[kind]
    assert stored["wrong_least_over_threshold"] > 2
    assert stored["command"].startswith("python benchmarks/calibrate_budget.py")


ONE = torch.ones(4, dtype=torch.float64)


def deviation(got: list[float], want: list[float], dtype: torch.dtype = torch.float16) -> list[bool]:
    exact = torch.tensor(want, dtype=torch.float64)
    return deviate(torch.tensor(got).to(dtype), exact, 1e-9 * ONE, half_ulp(exact, "float16"), 16.0).wrong.tolist()


def test_nan_and_infinities_are_masks() -> None:
    inf, nan = float("inf"), float("nan")
    assert deviation([nan, inf, -inf, 1], [nan, inf, -inf, 1]) == [False] * 4
    assert deviation([1, nan, inf, inf], [nan, 1, -inf, nan]) == [True] * 4
    assert deviation([inf, inf, 65504, inf], [65519, 1e5, 65510, 6e4]) == [False, False, False, True]


def test_scale_decides_not_an_absolute_tolerance() -> None:
    assert deviation([1e-4, 0, 1.0, 1.002], [1e-4, 1e-4, 1.0, 1.0]) == [False, True, False, False]
    assert deviation([1.003, 1000, 1001, 1003], [1.0, 1000, 1000, 1000]) == [True, False, False, True]


def test_integers_and_another_shape() -> None:
    exact = torch.tensor([1, 2, 3, 4])
    assert deviate(torch.tensor([1, 2, 3, 5]), exact, ONE, ONE, 16.0).first == (3,)
    assert deviate(torch.ones(2), ONE, ONE, ONE, 16.0).count == 2


def test_half_ulp_is_half_the_spacing_and_has_a_floor() -> None:
    values = torch.tensor([1.0, 1.5, -2.0, 0.0], dtype=torch.float64)
    assert half_ulp(values, "float16").tolist() == [2.0**-11, 2.0**-11, 2.0**-10, 2.0**-25]
    assert half_ulp(values, "int32").tolist() == [0, 0, 0, 0]


def test_a_reference_that_rounds_between_its_steps_widens_the_budget_and_an_exact_one_does_not() -> None:
    exact = torch.linspace(1, 2, 100, dtype=torch.float64)
    yardstick = torch.full_like(exact, 1e-3)
    assert own_error_factor(exact, exact, yardstick) == 1
    assert own_error_factor(exact, exact + 5e-3, yardstick) == pytest.approx(5)
    assert own_error_factor(exact, exact + 1.0, yardstick) == 16


def test_lattice_applies_to_sums_of_products_and_to_nothing_else() -> None:
    def widest(name: str, axes: dict[str, int], dtype: Dtype) -> int:
        made = oracle(name)
        return widest_lattice(made.reference, made.spec, axes, {t.name: dtype for t in made.spec.tensor_inputs})

    assert widest("batched_matmul", MM, "float16") == 31
    assert widest("batched_matmul", MM, "float32") > 63
    assert widest("cumsum", ROWS, "float32") > 63
    assert widest("relu_bias", {"tokens": 5, "features": 61}, "float16") == 31
    for name, axes in (("softmax", ROWS), ("layernorm", NORM), ("gelu_tanh_residual", NORM)):
        assert widest(name, axes, "float32") == 0


def test_lattice_is_exact_in_any_order_and_not_in_half_precision() -> None:
    made = oracle("batched_matmul")
    inputs = draw_lattice(made.spec, MM, b"seed", {"a": "float16", "b": "float16"}, 31)
    exact = made.reference.run_float64(inputs)
    assert all(bool(mask.all()) for mask in exact_elements(made.reference, inputs, exact))
    a, b = inputs["a"].float(), inputs["b"].float()
    assert float(exact[0].abs().max()) > 2048, "no sum leaves the mantissa of float16"
    for add in (sequential, lambda t: t.sum(-1), lambda t: sequential(t.flip(-1))):
        assert torch.equal(bmm_of(add)(a, b).half(), exact[0].half())
    partials = [bmm_of(lambda t: t.sum(-1))(a[..., i : i + 64], b[:, i : i + 64]).half() for i in range(0, 700, 64)]
    assert float((torch.stack(partials).sum(0) != exact[0].half()).double().mean()) > 0.1


def test_keeps_integers_looks_at_operations() -> None:
    relu, softmax = oracle("relu_bias"), oracle("softmax")
    assert keeps_integers(relu.reference, draw_inputs(relu.spec, {"tokens": 3, "features": 5}, b"s"))
    assert not keeps_integers(softmax.reference, draw_inputs(softmax.spec, {"rows": 3, "cols": 5}, b"s"))


def test_transforms_stay_in_the_domain_and_in_the_dtype() -> None:
    made = oracle("softmax")
    positive = made.spec.model_copy(update={"inputs": (made.spec.tensor_inputs[0].model_copy(update={"low": 0.0}),)})
    inputs = draw_inputs(positive, {"rows": 3, "cols": 9}, b"s", {"x": "float16"})
    admitted = {n for n, t in TRANSFORMS.items() if t.admitted(positive, {"rows": 3, "cols": 9}, inputs, b"s")}
    assert {"×3", "zero rows", "one-hot", "mean 200, spread 1"} <= admitted
    assert not admitted & {"×−1", "mean −200, spread 1", "NaN in some rows", "all indices 0"}

    indexed = oracle("cross_entropy").spec
    axes = {"tokens": 4, "vocab": 9}
    drawn = draw_inputs(indexed, axes, b"s")
    assert TRANSFORMS["all indices the greatest"].apply(indexed, axes, drawn, b"s")["target"].tolist() == [8] * 4


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda m: m[:, -3:], "last 3 of 9 along cols"),
        (lambda m: m[:, :2], "first 2 of 9 along cols"),
        (lambda m: m[4], "last along rows"),
        (lambda m: m[1, 2], "index 1 along rows; index 2 along cols"),
        (lambda m: m[:, 1::2], "every 2nd of 9 from 1 along cols"),
        (lambda m: m, "every element"),
    ],
)
def test_patterns_name_the_axes(wrong: Callable[[Tensor], Tensor], words: str) -> None:
    mask = torch.zeros(5, 9, dtype=torch.bool)
    wrong(mask).fill_(True)
    assert describe_pattern(mask, ("rows", "cols")) == words
