"""What the audit knows of a reference: its results on several drawings of the inputs, and their rounding."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ..contract import Spec
from ..spec import SpecError
from .budget import deviate, thresholds
from .inputs import DISTRIBUTIONS, Inputs, draw_inputs
from .noise import half_ulp, honest_spread
from .reference import Reference

SEEDS = 3
OWN = "spec"
"""The distribution that the spec's fills give."""


@dataclass(frozen=True)
class Probe:
    """The reference on one drawing of the inputs."""

    distribution: str
    seed: bytes
    inputs: Inputs
    native: tuple[Tensor, ...]
    """In the spec's dtypes."""
    exact: tuple[Tensor, ...]
    """In float64."""
    spreads: tuple[Tensor, ...]
    """By element, what honest float32 arithmetic does; float64."""
    half_spacings: tuple[Tensor, ...]
    """By element, half the spacing of the output's dtype; float64."""

    def agrees(self, output: int, other: Tensor) -> bool:
        """Whether `other` would pass the error budget as this output."""
        spread, half_spacing = self.spreads[output], self.half_spacings[output]
        return deviate(other, self.exact[output], spread, half_spacing, thresholds().element_otherwise).count == 0

    def all_agree(self, others: tuple[Tensor, ...]) -> bool:
        return all(self.agrees(number, other) for number, other in enumerate(others))


def take_probes(reference: Reference, axes: Mapping[str, int], seed: bytes) -> list[Probe]:
    """One probe a seed and distribution, the spec's own distribution first. SpecError where the reference fails."""
    return [
        _probe(reference, axes, seed + bytes([number]), distribution)
        for distribution in (OWN, *DISTRIBUTIONS)
        for number in range(SEEDS)
    ]


def _probe(reference: Reference, axes: Mapping[str, int], seed: bytes, distribution: str) -> Probe:
    inputs = draw_inputs(reference.spec, axes, seed, distribution=distribution)
    native = run_checked(reference, inputs, axes)
    exact = reference.run_float64(copied(inputs))
    spreads = honest_spread(reference, copied(inputs), exact, seed)
    declared = zip(reference.spec.outputs, exact, strict=True)
    half_spacings = tuple(half_ulp(value.double(), output.dtype) for output, value in declared)
    return Probe(distribution, seed, inputs, native, exact, spreads, half_spacings)


def run_checked(reference: Reference, inputs: Inputs, axes: Mapping[str, int]) -> tuple[Tensor, ...]:
    """A run in the spec's dtypes whose outputs fit the spec. SpecError names the axes."""
    try:
        outputs = reference.run(copied(inputs))
        reference.check_fits(outputs, axes)
    except SpecError as error:
        bound = ", ".join(f"{axis} = {extent}" for axis, extent in axes.items())
        raise SpecError(f"with {bound}: {error.message}", error.file, error.line, error.fix) from error
    return outputs


def copied(inputs: Mapping[str, Any]) -> Inputs:
    return {name: value.clone() if isinstance(value, Tensor) else value for name, value in inputs.items()}


def bitwise_equal(a: Tensor, b: Tensor) -> bool:
    """NaN equals a NaN of the same bits."""
    raw_a, raw_b = (t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return a.shape == b.shape and a.dtype == b.dtype and bool(torch.equal(raw_a, raw_b))


def shrunk_axes(spec: Spec) -> dict[str, int]:
    """The smallest extent of every axis."""
    return {name: -(-axis.min // axis.multiple_of) * axis.multiple_of for name, axis in spec.axes.items()}


class RandomCalls(TorchDispatchMode):
    """Notes each call that draws random numbers, with the line of the reference that made it."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file
        self.found: list[tuple[str, int | None]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.found.append((func.overloadpacket.__name__, self._line()))
        return func(*args, **(kwargs or {}))

    def _line(self) -> int | None:
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back  # type: ignore[assignment]
        return frame.f_lineno if frame is not None else None
