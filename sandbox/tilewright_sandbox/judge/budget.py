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

from .noise import RUNS


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


CALIBRATED_AT = 1000
CHUNK = 1 << 25
"""Elements that are compared at once."""


@cache
def thresholds() -> Thresholds:
    stored = json.loads(files("tilewright_sandbox.judge").joinpath("budget.json").read_text())
    return Thresholds(stored["element_mean_zero"], stored["element_otherwise"], stored["norm"], stored["roundings"])


def limit_for(limit: float, elements: int) -> float:
    """The limit on the worst of so many elements.

    An element's spread is estimated from few runs of the noise, so c is distributed as Student's t with that many
    degrees of freedom; its greatest of n values grows as n to the power of their inverse. Calibrated at CALIBRATED_AT.
    """
    return float(limit * max(1.0, elements / CALIBRATED_AT) ** (1 / RUNS))


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
    """Compare one output with its oracle. `compare` masks the elements that count; another shape is all wrong.

    Large outputs are compared in chunks, so that the temporaries stay small beside them.
    """
    if output.shape != exact.shape:
        everything = torch.ones(output.shape, dtype=torch.bool, device=output.device)
        return Deviation(float("inf"), float("inf"), everything)
    limit = limit_for(limit, output.numel())
    whole = (output, exact, spread, half_spacing, *(() if compare is None else (compare,)))
    flat = [tensor.expand_as(output).reshape(-1) for tensor in whole]
    wrong = torch.empty(output.numel(), dtype=torch.bool, device=output.device)
    worst, error_square, scale_square = 0.0, 0.0, 0.0
    for start in range(0, output.numel(), CHUNK):
        part = [tensor[start : start + CHUNK] for tensor in flat]
        c, error, scale = _compare(part[0], part[1], part[2], part[3], limit, part[4] if len(part) > 4 else None)
        wrong[start : start + CHUNK] = c > limit
        worst = max(worst, float(c.max()))
        error_square += error
        scale_square += scale
    norm = (error_square / scale_square) ** 0.5 if scale_square > 0 else 0.0
    if not output.is_floating_point():
        norm = worst
    return Deviation(worst, norm, wrong.reshape(output.shape))


def _compare(
    output: Tensor, exact: Tensor, spread: Tensor, half_spacing: Tensor, limit: float, compare: Tensor | None
) -> tuple[Tensor, float, float]:
    """Each element's c; the sums of squares of errors and of yardsticks where both sides are finite."""
    counted = torch.ones_like(output, dtype=torch.bool) if compare is None else compare
    if not output.is_floating_point():
        wrong = (output != exact.to(output.dtype)) & counted
        return torch.where(wrong, torch.inf, 0.0), 0.0, 0.0
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
    scale = torch.where(used, spread + half_spacing, 0.0)
    return c, float(torch.where(used, error, 0.0).square().sum()), float(scale.square().sum())


def _overflow_may_differ(got: Tensor, exact: Tensor, dtype: torch.dtype, yardstick: Tensor, limit: float) -> Tensor:
    """Where the exact value is so near to the dtype's greatest that an honest error decides between it and ±inf."""
    greatest = torch.finfo(dtype).max
    near = exact.isfinite() & ((exact.abs() - greatest).abs() <= limit * yardstick)
    return near & (got.isinf() | (got.abs() == greatest)) & (got.sign() == exact.sign())
