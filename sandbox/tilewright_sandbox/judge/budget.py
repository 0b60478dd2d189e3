"""The error budget: is every output element as near to the float64 oracle as honest arithmetic brings it?

An element's error may be `limit` times what float32 rounding does to it (its spread, from `noise`) and `roundings`
times half the spacing of the output's dtype; c is the error in units such that c ≤ limit says just that. The bound
scales with the values: zeros never pass for tiny outputs. Limits are in `budget.json`, with the command that calibrates
them. No share of elements may be wrong; NaN and ±inf are compared as masks; integers and bools must be equal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import torch
from torch import Tensor


@dataclass(frozen=True)
class Thresholds:
    element_mean_zero: float
    """Largest c of an element, where what is added up is symmetric about zero: roundings then walk at random."""
    element_otherwise: float
    """The same elsewhere: small terms added to a large sum are rounded away one after the other."""
    norm: float
    """Largest ‖output − oracle‖₂ / ‖spread + half a spacing‖₂ over an output."""
    roundings: float
    """Half spacings of the output's dtype that an element may be off, whatever its spread."""


@cache
def thresholds() -> Thresholds:
    stored = json.loads(files("tilewright_sandbox.judge").joinpath("budget.json").read_text())
    return Thresholds(stored["element_mean_zero"], stored["element_otherwise"], stored["norm"], stored["roundings"])


@dataclass(frozen=True)
class Deviation:
    """How far one output is from what it should be."""

    worst_c: float
    """Infinite where finite stands for NaN or ±inf, or the other way."""
    norm_c: float
    wrong: Tensor
    """Mask of the elements over the threshold, same shape as the output."""

    @property
    def count(self) -> int:
        return int(self.wrong.sum())

    @property
    def first(self) -> tuple[int, ...]:
        """Index of the first wrong element in row-major order."""
        return tuple(int(i) for i in self.wrong.nonzero()[0])


def deviate(
    output: Tensor, exact: Tensor, spread: Tensor, half_spacing: Tensor, limit: float, compare: Tensor | None = None
) -> Deviation:
    """Compare one output with its oracle. `compare` masks the elements that count; another shape is all wrong."""
    if output.shape != exact.shape:
        return Deviation(float("inf"), float("inf"), torch.ones(output.shape, dtype=torch.bool, device=output.device))
    counted = torch.ones(output.shape, dtype=torch.bool, device=output.device) if compare is None else compare
    if not output.is_floating_point():
        wrong = (output != exact.to(output.dtype)) & counted
        worst = float("inf") if bool(wrong.any()) else 0.0
        return Deviation(worst, worst, wrong)
    yardstick = spread + half_spacing * (thresholds().roundings / limit)
    rounded = exact.to(output.dtype).double()
    got = output.double()
    same = (rounded.isnan() & got.isnan()) | (rounded.isinf() & (rounded == got))
    finite = exact.isfinite() & got.isfinite()
    error = torch.where(finite, (got - exact).abs(), 0.0)
    c = torch.where(same, 0.0, torch.where(finite, error / yardstick, torch.inf))
    c = torch.where(_overflow_may_differ(got, exact, output.dtype, yardstick, limit), 0.0, c)
    c = torch.where(counted, c, 0.0)
    used = finite & counted & ~same
    norm = float(error[used].norm() / (spread + half_spacing)[used].norm()) if bool(used.any()) else 0.0
    return Deviation(float(c.max()) if c.numel() else 0.0, norm, c > limit)


def _overflow_may_differ(got: Tensor, exact: Tensor, dtype: torch.dtype, yardstick: Tensor, limit: float) -> Tensor:
    """Where the exact value is so near to the dtype's greatest that an honest error decides between it and ±inf."""
    greatest = torch.finfo(dtype).max
    near = exact.isfinite() & ((exact.abs() - greatest).abs() <= limit * yardstick)
    return near & (got.isinf() | (got.abs() == greatest)) & (got.sign() == exact.sign())
