"""What the outputs should have been: computed after the candidate answered, from inputs drawn again from the seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from ..contract import Spec
from .cases import Case, case_inputs
from .inputs import Inputs
from .lattice import exact_elements
from .noise import half_ulp, honest_spread, keeps_integers
from .reference import Reference

TINY = 2.0**-126
"""Smallest normal float32: devices flush what is smaller to zero, in either operand of any operation."""
OWN_ERROR_LIMIT = 16.0
MEMORY_SHARE = 0.25
"""Of a device's memory in use, above which earlier results are dropped."""
T = TypeVar("T")


@dataclass(frozen=True)
class Expected:
    """Of one case, one entry an output."""

    exact: tuple[Tensor, ...]
    """The reference in float64 (integers and bools as they are)."""
    native: tuple[Tensor, ...]
    """The reference in the case's own dtypes: shapes, dtypes, and where it is not finite."""
    spread: tuple[Tensor, ...]
    """What float32 rounding on the way does to each element: float64, positive."""
    half_spacing: tuple[Tensor, ...]
    """Half the spacing of the output's dtype at each element; 0 for integers."""
    linear: bool
    """Whether the reference only adds and multiplies, so that inputs symmetric about zero give such sums."""


class Oracle:
    """Expected values by case, each computed once and only when asked for."""

    def __init__(self, spec: Spec, reference: Reference, seed: bytes, device: str = "cpu") -> None:
        self.spec, self.reference, self.seed, self.device = spec, reference, seed, device
        self._is_linear: bool | None = None
        self._expected: dict[object, Expected] = {}
        self._exact_masks: dict[object, tuple[Tensor, ...]] = {}

    def forget(self) -> None:
        """Drop everything computed so far: what follows may be a candidate's run."""
        self._expected.clear()
        self._exact_masks.clear()

    def inputs(self, case: Case) -> Inputs:
        return case_inputs(self.spec, case, self.seed, self.device)

    def expected(self, case: Case) -> Expected:
        if self.device != "cpu" and torch.cuda.memory_allocated() > MEMORY_SHARE * torch.cuda.mem_get_info()[1]:
            self.forget()
        return _once(self._expected, case.inputs_key, lambda: self.compute(self.inputs(case)))

    def exact_mask(self, case: Case) -> tuple[Tensor, ...]:
        """Elements whose value is an exact integer on any path; for cases of the lattice."""
        expected = self.expected(case)
        return _once(
            self._exact_masks,
            case.inputs_key,
            lambda: exact_elements(self.reference, self.inputs(case), expected.exact),
        )

    def compute(self, inputs: Inputs) -> Expected:
        """Of inputs that are at hand."""
        exact = self.reference.run_float64(inputs)
        native = self.reference.run(inputs)
        spreads, spacings = [], []
        for true, own, moved in zip(
            exact, native, honest_spread(self.reference, inputs, exact, self.seed), strict=True
        ):
            finite = torch.nan_to_num(true.double(), posinf=0.0, neginf=0.0)
            spacing = half_ulp(finite, str(own.dtype).removeprefix("torch."))
            factor = own_error_factor(true, own, moved + spacing + TINY)
            spreads.append(factor * (moved + TINY))
            spacings.append(factor * spacing)
        return Expected(exact, native, tuple(spreads), tuple(spacings), self._linear(inputs))

    def _linear(self, inputs: Inputs) -> bool:
        if self._is_linear is None:
            self._is_linear = keeps_integers(self.reference, inputs)
        return self._is_linear


def own_error_factor(exact: Tensor, native: Tensor, yardstick: Tensor) -> float:
    """How many yardsticks the reference's own error is, root mean square: 1 unless the reference itself rounds between
    its steps, as one that is written in a half precision does. A kernel that rounds at the same places is honest."""
    if not native.is_floating_point() or native.numel() == 0:
        return 1.0
    ratio = ((native.double() - exact) / yardstick).nan_to_num(0.0, 0.0, 0.0)
    return min(OWN_ERROR_LIMIT, max(1.0, float(ratio.square().mean().sqrt())))


def _once(cache: dict[object, T], key: object, compute: Callable[[], T]) -> T:
    if key not in cache:
        cache[key] = compute()
    return cache[key]
