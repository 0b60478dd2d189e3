"""The integer lattice: inputs on which every honest order of summation gives the same bits.

Integers with |a| ≤ q such that no partial sum of magnitudes reaches 2²⁴ make float32 accumulation exact in any order,
so the output is one rounding of an exact integer. Wide q makes sums exceed a half-precision mantissa, so that
accumulating in it shows. Whether an operator allows the test is found by running the reference, not from its name: it
must only add, multiply, compare and move values, and its float64 result must be an integer that the same reference in
float32 gives exactly on at least half of the elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..contract import Dtype, ScalarInput, Spec, resolve_shape
from .inputs import Inputs, draw_tensor, generator, torch_dtype
from .noise import keeps_integers
from .reference import Reference

EXACT = float(2**24)
WIDEST: dict[str, int] = {"float64": 2047, "float32": 2047, "float16": 31, "bfloat16": 63}


def draw_lattice(
    spec: Spec, axes: Mapping[str, int], seed: bytes, dtypes: Mapping[str, Dtype], q: int, device: str = "cpu"
) -> Inputs:
    """Floating inputs are integers in [−q, q]; index inputs and scalars are as always."""
    inputs: Inputs = {}
    for item in spec.inputs:
        if isinstance(item, ScalarInput):
            inputs[item.name] = item.value
        elif item.fill == "index":
            inputs[item.name] = draw_tensor(item, axes, seed, dtypes.get(item.name), device=device)
        else:
            g = generator(seed, "lattice", str(q), item.name, device=device)
            drawn = torch.randint(-q, q + 1, resolve_shape(item.shape, dict(axes)), generator=g, device=device)
            inputs[item.name] = drawn.to(torch_dtype(dtypes.get(item.name, item.dtype)))
    return inputs


def exact_elements(reference: Reference, inputs: Mapping[str, Any], oracle: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Masks of output elements whose value is an exact integer below 2²⁴ in float64 and in float32 alike."""
    single = {
        name: value.float() if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in inputs.items()
    }
    in_float32 = reference.run(single)
    return tuple(
        (exact == exact.round()) & (exact.abs() < EXACT) & (low.double() == exact)
        for exact, low in zip((o.double() for o in oracle), in_float32, strict=True)
    )


def widest_lattice(
    reference: Reference, spec: Spec, axes: Mapping[str, int], dtypes: Mapping[str, Dtype], device: str = "cpu"
) -> int:
    """The largest q = 2ᵏ − 1 for which the test applies on these shapes, or 0 where it does not apply at all.

    The bound on partial sums is the reference on |inputs|: it must stay below 2²⁴, and outputs inside their dtype.
    """
    floating = [t for t in spec.tensor_inputs if t.fill != "index"]
    if not floating or any(t.low is not None or t.high is not None for t in floating):
        return 0
    q = min(WIDEST[dtypes.get(t.name, t.dtype)] for t in floating)
    seed = b"is the lattice applicable"  # which elements are exact says nothing about the secret inputs
    if not keeps_integers(reference, draw_lattice(spec, axes, seed, dtypes, 1, device)):
        return 0
    while q >= 1:
        inputs = draw_lattice(spec, axes, seed, dtypes, q, device)
        magnitudes = {n: v.abs() if isinstance(v, Tensor) and v.is_floating_point() else v for n, v in inputs.items()}
        bound = reference.run_float64(magnitudes)
        native = reference.run(inputs)
        oracle = reference.run_float64(inputs)
        small = all(bool((b.abs() < EXACT).all()) for b in bound)
        in_range = all(
            not n.is_floating_point() or bool((o.abs() <= torch.finfo(n.dtype).max).all())
            for n, o in zip(native, oracle, strict=True)
        )
        if small and in_range:
            masks = exact_elements(reference, inputs, oracle)
            applies = all(m.numel() > 0 and float(m.double().mean()) >= 0.5 for m in masks)
            varied = all(o.numel() < 2 or bool((o != o.flatten()[0]).any()) for o in oracle)
            return q if applies and varied else 0
        q //= 2
    return 0
