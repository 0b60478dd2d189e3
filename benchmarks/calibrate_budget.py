"""Calibrate the error budget: honest and wrong arithmetic for shipped specs, by the functions that judge candidates.

    python benchmarks/calibrate_budget.py [--write]

Honest variants add in every order that kernels use, in float32 or wider, and round once; wrong ones skip an element,
accumulate in half precision, round operands to TF32 or bfloat16, or compute another formula. Prints the largest error
constant of each honest variant and the smallest of each wrong one. Exit status 1 if a threshold of
`judge/budget.json` does not lie between the two. `--write` stores the figures beside the thresholds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

import tilewright_sandbox.judge
from tilewright_sandbox.contract import Dtype, Workload
from tilewright_sandbox.judge.budget import deviate, thresholds
from tilewright_sandbox.judge.cases import MEAN_ZERO_DRAWS, Case
from tilewright_sandbox.judge.oracle import Oracle
from tilewright_sandbox.judge.reference import Reference
from tilewright_sandbox.spec import load_spec

SPECS = Path(__file__).parents[1] / "specs"
STORED = Path(tilewright_sandbox.judge.__path__[0]) / "budget.json"
SEEDS = 3
DRAWS = ("spec", "signed_lognormal", "×3", "mean 200, spread 1", "heavy tails", "one spike of 300")
Add = Callable[[Tensor], Tensor]
"""Sums float32 terms over their last dimension."""
Operator = Callable[..., Tensor]


def sequential(terms: Tensor) -> Tensor:
    total = torch.zeros_like(terms[..., 0])
    for term in terms.unbind(-1):
        total = total + term
    return total


def in_blocks(block: int) -> Add:
    """Sums of blocks, added one after the other, as a loop over tiles does."""
    return lambda terms: sequential(torch.stack([part.sum(-1) for part in terms.split(block, -1)], -1))


def in_lanes(lanes: int) -> Add:
    """A running sum a lane, then a tree over the lanes, as a persistent accumulator does."""

    def add(terms: Tensor) -> Tensor:
        padded = torch.nn.functional.pad(terms, (0, -terms.shape[-1] % lanes))
        return sequential(padded.unflatten(-1, (-1, lanes)).transpose(-1, -2)).sum(-1)

    return add


HONEST: dict[str, Add] = {
    "sequential": sequential,
    "reversed": lambda terms: sequential(terms.flip(-1)),
    "pairwise": lambda terms: terms.sum(-1),
    "blocks of 64": in_blocks(64),
    "32 lanes": in_lanes(32),
    "float64": lambda terms: terms.double().sum(-1).float(),
}
WRONG: dict[str, Add] = {
    "one element skipped": lambda terms: terms[..., 1:].sum(-1),
    "half accumulator": lambda terms: sequential(terms.half()).float(),
    "bfloat16 terms": lambda terms: terms.bfloat16().float().sum(-1),
    "last tenth left out": lambda terms: terms[..., : -max(1, terms.shape[-1] // 10)].sum(-1),
}


def matmul(add: Add, a: Tensor, b: Tensor) -> Tensor:
    return add(a.unsqueeze(-2) * b.mT.unsqueeze(-3))


def softmax(add: Add, x: Tensor) -> Tensor:
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / add(e).unsqueeze(-1)


def logsumexp(add: Add, x: Tensor) -> Tensor:
    top = x.amax(-1)
    return top + torch.log(add(torch.exp(x - top.unsqueeze(-1))))


def rmsnorm(add: Add, x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(add(x * x) / x.shape[-1] + eps).unsqueeze(-1) * weight


def layernorm(add: Add, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    n = x.shape[-1]
    centred = x - (add(x) / n).unsqueeze(-1)
    return centred * torch.rsqrt(add(centred * centred) / n + eps).unsqueeze(-1) * weight + bias


def gelu_by_sigmoid(add: Add, x: Tensor, residual: Tensor) -> Tensor:
    return x * torch.sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)) + residual


def gelu_by_erf(add: Add, x: Tensor, residual: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x) + residual


OPERATORS: dict[str, tuple[Operator, dict[str, int]]] = {
    "batched_matmul": (matmul, {"B": 2, "M": 16, "N": 16, "K": 2048}),
    "softmax": (softmax, {"rows": 8, "cols": 4096}),
    "logsumexp": (logsumexp, {"rows": 16, "vocab": 4096}),
    "rmsnorm": (rmsnorm, {"tokens": 8, "hidden": 4096}),
    "layernorm": (layernorm, {"tokens": 8, "hidden": 2048}),
}
FORMULAS: list[tuple[str, str, Operator, bool]] = [
    ("gelu_tanh_residual", "gelu through a sigmoid", gelu_by_sigmoid, True),
    ("gelu_tanh_residual", "gelu through erf", gelu_by_erf, False),
]


def variants() -> Iterator[tuple[str, str, bool, Operator, Add, dict[str, int]]]:
    """Spec, variant, whether it is honest, and how to compute it."""
    for spec, (operator, axes) in OPERATORS.items():
        for name, add in HONEST.items():
            yield spec, name, True, operator, add, axes
        for name, add in WRONG.items():
            yield spec, name, False, operator, add, axes
    for spec, name, operator, honest in FORMULAS:
        yield spec, name, honest, operator, sequential, {"tokens": 16, "hidden": 1024}


def constants(
    spec_name: str,
    operator: Operator,
    add: Add,
    axes: dict[str, int],
    dtype: Dtype,
    draw: str,
    oracles: dict[str, Oracle],
) -> list[tuple[str, float, float]]:
    """(kind of limit, largest c of an element, c in norm) of the first output, one a seed."""
    found = []
    for seed in range(SEEDS):
        key = f"{spec_name} {seed}"
        if key not in oracles:
            folder = load_spec(SPECS / spec_name)
            oracles[key] = Oracle(folder.spec, Reference(folder), seed.to_bytes(16, "little"))
        oracle = oracles[key]
        case = Case(
            "budget", Workload(role="twin", axes=axes), {t.name: dtype for t in oracle.spec.tensor_inputs}, draw
        )
        expected = oracle.expected(case)
        given = [v.float() if isinstance(v, Tensor) else v for v in oracle.inputs(case).values()]
        output = operator(add, *given).to(expected.native[0].dtype)
        kind = "element_mean_zero" if expected.linear and draw in MEAN_ZERO_DRAWS else "element_otherwise"
        limit = getattr(thresholds(), kind)
        deviation = deviate(output, expected.exact[0], expected.spread[0], expected.half_spacing[0], limit)
        found.append((kind, deviation.worst_c, deviation.norm_c))
    return found


def main() -> int:
    torch.set_num_threads(1)
    limits, oracles = thresholds(), dict[str, Oracle]()
    honest = {"element_mean_zero": 0.0, "element_otherwise": 0.0, "norm": 0.0}
    caught: dict[str, float] = {}
    for spec, name, is_honest, operator, add, axes in variants():
        worst = 0.0
        for dtype in ("float32", "float16"):
            for draw in DRAWS:
                for kind, c, norm in constants(spec, operator, add, axes, dtype, draw, oracles):
                    over = max(c / getattr(limits, kind), norm / limits.norm)
                    worst = max(worst, over)
                    if is_honest:
                        honest[kind] = max(honest[kind], c)
                        honest["norm"] = max(honest["norm"], norm)
        if not is_honest:
            caught[f"{spec}: {name}"] = worst
        print(f"{'honest' if is_honest else 'wrong '}  {spec:20} {name:24} {worst:10.3g} × the threshold", flush=True)
    print(f"honest maxima: {honest}")
    stored = json.loads(STORED.read_text())
    if "--write" in sys.argv:
        stored["honest_maxima"] = {kind: round(value, 2) for kind, value in honest.items()}
        stored["wrong_least_over_threshold"] = float(f"{min(caught.values()):.3g}")
        STORED.write_text(json.dumps(stored, indent=2) + "\n")
    sound = all(honest[kind] <= stored[kind] for kind in honest) and min(caught.values()) > 1
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
