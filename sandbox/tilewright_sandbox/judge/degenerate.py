"""The degenerate bank: results that no kernel had to work for, each of which the error budget must refuse.

Zeros, ones, a constant, the result of other inputs, an input passed through, the reference on permuted inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from .inputs import Inputs, generator
from .probes import Probe
from .reference import Reference

SYMMETRIC = 1e-6
"""A permutation that moves a float64 result by less than this part of its rounding moves it not at all."""

Forgery = Callable[[Probe, Probe], Tensor]
"""From a probe and one with other inputs: what a kernel that does no work would give as one output."""


def accepted_forgeries(reference: Reference, probes: list[Probe]) -> Iterator[str]:
    """Descriptions of those in the bank that would pass as an output on every probe."""
    pairs = list(zip(probes, [*probes[1:], probes[0]], strict=True))
    for number, output in enumerate(reference.spec.outputs):
        for what, forge in _bank(reference, number, probes[0]):
            if all(probe.agrees(number, forge(probe, other)) for probe, other in pairs):
                yield f'{what} would pass as output "{output.name}"'


def _bank(reference: Reference, number: int, sample: Probe) -> Iterator[tuple[str, Forgery]]:
    yield "zeros", lambda probe, _: torch.zeros_like(probe.native[number])
    yield "ones", lambda probe, _: torch.ones_like(probe.native[number])
    yield "the mean, a constant,", lambda probe, other: _constant(probe.native[number], other.native[number])
    yield "the result of other inputs", lambda _, other: other.native[number]
    for name, value in sample.inputs.items():
        if isinstance(value, Tensor) and _fits(value, sample.native[number]):
            yield f'input "{name}", passed through,', _through(name, number)
    for axis in dict.fromkeys(dim for dim in reference.spec.outputs[number].shape if isinstance(dim, str)):
        if any(axis in tensor.shape for tensor in reference.spec.tensor_inputs):
            forge = _Permuted(reference, number, axis)
            if not forge.symmetric(sample):
                yield f"the reference on inputs permuted along {axis}", forge


def _constant(like: Tensor, other: Tensor) -> Tensor:
    mean = other.double().mean() if other.numel() else torch.tensor(0.0)
    return torch.full(like.shape, float(mean), dtype=torch.float64).to(like.dtype)


def _fits(value: Tensor, output: Tensor) -> bool:
    try:
        return bool(torch.broadcast_shapes(value.shape, output.shape) == output.shape)
    except RuntimeError:
        return False


def _through(name: str, number: int) -> Forgery:
    return lambda probe, _: probe.inputs[name].to(probe.native[number].dtype).expand(probe.native[number].shape)


class _Permuted:
    """The reference on inputs whose entries along one axis were shuffled, all in the same way."""

    def __init__(self, reference: Reference, number: int, axis: str) -> None:
        self.reference, self.number, self.axis = reference, number, axis

    def __call__(self, probe: Probe, _: Probe) -> Tensor:
        return self.reference.run(self._shuffled(probe))[self.number]

    def symmetric(self, probe: Probe) -> bool:
        """Whether the output does not depend on the order along the axis: then the permuted result is the right one."""
        moved = self.reference.run_float64(self._shuffled(probe))[self.number]
        difference = (moved.double() - probe.exact[self.number].double()).abs()
        rounding = probe.spreads[self.number] + probe.half_spacings[self.number]
        return bool((torch.nan_to_num(difference) <= SYMMETRIC * rounding).all())

    def _shuffled(self, probe: Probe) -> Inputs:
        shuffled: dict[str, Any] = dict(probe.inputs)
        for tensor in self.reference.spec.tensor_inputs:
            for dim, axis in enumerate(tensor.shape):
                if axis == self.axis:
                    value = shuffled[tensor.name]
                    order = torch.randperm(value.shape[dim], generator=generator(probe.seed, "permuted", self.axis))
                    shuffled[tensor.name] = value.index_select(dim, order)
        return shuffled
