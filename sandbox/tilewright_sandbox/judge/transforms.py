"""Hostile inputs: where a semantic bug is smaller than the output's rounding on N(0, 1), one of these shows it.

A transform changes the floating inputs that are the operator's data (the largest ones: a weight stays as drawn), and is
skipped where it would leave the domain [low, high] that the spec declares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..contract import Spec, TensorInput
from .inputs import Inputs, generator


@dataclass(frozen=True)
class Transform:
    change: Callable[[Tensor, torch.Generator], Tensor]
    """Of a float64 tensor of N(0, 1) values, to the values wanted; same shape."""
    every_input: bool = False
    """Applied to all floating inputs, not to the data alone."""
    finite: bool = True
    infinite: bool = False
    """Puts ±inf in: where the reference then answers NaN, it does not say what is right."""
    small_inputs: bool = False
    """Applied to the floating inputs that are not data: weights and biases."""
    in_half: bool = False
    """Worth a run in float16 too: what it shows depends on the dtype's range or spacing."""
    shows_order: bool = False
    """One element outweighs the others: where programs share a row, it matters which of them comes last."""
    index: Callable[[Tensor, int], Tensor] | None = None
    """Of an index input's values and the number of indices; where it is given, the floating inputs stay as drawn."""

    def apply(self, spec: Spec, axes: Mapping[str, int], inputs: Inputs, seed: bytes) -> Inputs:
        changed = dict(inputs)
        if self.index is not None:
            for tensor in index_inputs(spec):
                below = tensor.index_below
                changed[tensor.name] = self.index(
                    inputs[tensor.name], axes[below] if isinstance(below, str) else int(below or 1)
                )
            return changed
        for tensor in self._changed_inputs(spec, inputs):
            value = inputs[tensor.name]
            g = generator(seed, "transform", tensor.name, device=value.device.type)
            made = self.change(value.double(), g).to(value.dtype)
            changed[tensor.name] = made
        return changed

    def _changed_inputs(self, spec: Spec, inputs: Inputs) -> list[TensorInput]:
        data = data_inputs(spec, inputs, every=self.every_input)
        if not self.small_inputs:
            return data
        return [t for t in data_inputs(spec, inputs, every=True) if t not in data]

    def admitted(self, spec: Spec, axes: Mapping[str, int], inputs: Inputs, seed: bytes) -> bool:
        """Whether the changed values stay in every input's domain, and inside the dtype's range if they should."""
        changed = self.apply(spec, axes, inputs, seed)
        if all(changed[tensor.name] is inputs[tensor.name] for tensor in spec.tensor_inputs):
            return False
        for tensor in spec.tensor_inputs:
            value = changed[tensor.name]
            if not value.is_floating_point() or value.numel() == 0 or value is inputs[tensor.name]:
                continue
            if not self.finite and (tensor.low is not None or tensor.high is not None):
                return False
            if self.finite and not bool(value.isfinite().all()):
                return False
            if tensor.low is not None and bool((value < tensor.low).any()):
                return False
            if tensor.high is not None and bool((value > tensor.high).any()):
                return False
        return True


def data_inputs(spec: Spec, inputs: Inputs, *, every: bool) -> list[TensorInput]:
    floating = [t for t in spec.tensor_inputs if inputs[t.name].is_floating_point()]
    if every or not floating:
        return floating
    rank = max(len(t.shape) for t in floating)
    return [t for t in floating if len(t.shape) == rank]


def index_inputs(spec: Spec) -> list[TensorInput]:
    return [t for t in spec.tensor_inputs if t.fill == "index"]


def _rows(x: Tensor) -> Tensor:
    """The tensor as rows, one for each index of its first dimension; a vector is one row."""
    return x.reshape(x.shape[0], -1) if x.dim() > 1 else x.reshape(1, -1)


def _spikes(x: Tensor, g: torch.Generator) -> Tensor:
    made = _rows(x.clone())
    at = torch.randint(0, made.shape[1], (made.shape[0], 1), generator=g, device=g.device)
    return made.scatter(1, at, 300.0).reshape(x.shape)


def _one_hot(x: Tensor, g: torch.Generator) -> Tensor:
    made = torch.zeros_like(_rows(x))
    at = torch.randint(0, made.shape[1], (made.shape[0], 1), generator=g, device=g.device)
    return made.scatter(1, at, 1.0).reshape(x.shape)


def _some_zero_rows(x: Tensor, g: torch.Generator) -> Tensor:
    made = _rows(x.clone())
    made[:: 2 if made.shape[0] > 1 else 1] = 0.0
    return made.reshape(x.shape)


def _constant_rows(x: Tensor, g: torch.Generator) -> Tensor:
    rows = _rows(x)
    return rows[:, :1].expand_as(rows).reshape(x.shape).clone()


def _minus_infinity_first(x: Tensor, g: torch.Generator) -> Tensor:
    """The first half of every row: a block of it holds nothing else."""
    made = _rows(x.clone())
    made[:, : made.shape[1] // 2] = -torch.inf
    return made.reshape(x.shape)


def _spike_last(x: Tensor, g: torch.Generator) -> Tensor:
    made = _rows(x.clone())
    made[:, -1] = 300.0
    return made.reshape(x.shape)


def _heavy(x: Tensor, g: torch.Generator) -> Tensor:
    return (x * torch.exp(x.abs())).clamp(-300, 300)


def _poisoned_with(value: float) -> Callable[[Tensor, torch.Generator], Tensor]:
    def change(x: Tensor, g: torch.Generator) -> Tensor:
        made = _rows(x.clone())
        place = torch.arange(made.shape[0], device=x.device)
        chosen = place % 3 == 1 if made.shape[0] > 1 else place == 0
        at = torch.randint(0, made.shape[1], (made.shape[0],), generator=g, device=g.device)
        made[chosen, at[chosen]] = value
        return made.reshape(x.shape)

    return change


def _minus_infinity_rows(x: Tensor, g: torch.Generator) -> Tensor:
    made = _rows(x.clone())
    made[torch.rand(made.shape, generator=g, device=g.device) < 0.3] = -torch.inf
    made[:1] = -torch.inf
    return made.reshape(x.shape)


TRANSFORMS: dict[str, Transform] = {
    "×3": Transform(lambda x, g: 3 * x, every_input=True, in_half=True),
    "×0.01": Transform(lambda x, g: 0.01 * x),
    "×−1": Transform(lambda x, g: -x),
    "×0.003 (spread near √eps)": Transform(lambda x, g: 0.003 * x),
    "mean 200, spread 1": Transform(lambda x, g: 200 + x, in_half=True),
    "mean −200, spread 1": Transform(lambda x, g: x - 200),
    "heavy tails": Transform(_heavy, in_half=True),
    "ties": Transform(lambda x, g: torch.round(x)),
    "sorted": Transform(lambda x, g: torch.sort(_rows(x), 1).values.reshape(x.shape)),
    "constant rows": Transform(_constant_rows),
    "zero rows": Transform(_some_zero_rows),
    "one-hot": Transform(_one_hot),
    "one spike of 300": Transform(_spikes, in_half=True, shows_order=True),
    "a spike of 300 at the end": Transform(_spike_last, in_half=True, shows_order=True),
    "×10000 where beyond 1": Transform(lambda x, g: torch.where(x.abs() > 1, 1e4 * x, x)),
    "×1e−12": Transform(lambda x, g: 1e-12 * x),
    "all indices 0": Transform(lambda x, g: x, index=lambda i, below: torch.zeros_like(i)),
    "all indices the greatest": Transform(lambda x, g: x, index=lambda i, below: torch.full_like(i, below - 1)),
    "NaN in some rows": Transform(_poisoned_with(float("nan")), finite=False, in_half=True),
    "+inf in some rows": Transform(_poisoned_with(float("inf")), finite=False, infinite=True),
    "NaN in a small input": Transform(_poisoned_with(float("nan")), finite=False, small_inputs=True),
    "−inf in the first half of rows": Transform(_minus_infinity_first, finite=False, infinite=True),
    "−inf, and a row of it": Transform(_minus_infinity_rows, finite=False, infinite=True),
}
