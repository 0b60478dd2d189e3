"""Where an output is wrong, in the words of the spec's axes: what a person or a proposer can act on."""

from __future__ import annotations

import itertools

from torch import Tensor

from ..contract import Dim


def describe_pattern(wrong: Tensor, shape: tuple[Dim, ...]) -> str:
    """For example `every element`, `last 3 of 61 along cols`, `index 0 along rows; every 2nd of 61 from 1 along x`."""
    if bool(wrong.all()):
        return "every element"
    parts = []
    for dim, extent in enumerate(wrong.shape):
        name = shape[dim] if isinstance(shape[dim], str) else f"dimension {dim}"
        others = [d for d in range(wrong.dim()) if d != dim]
        touched = (wrong.any(dim=others) if others else wrong).nonzero().flatten().tolist()
        if len(touched) < extent:
            parts.append(f"{_indices(touched, extent)} along {name}")
    places = "; ".join(parts)
    return places or "scattered"


def _indices(touched: list[int], extent: int) -> str:
    n, first, last = len(touched), touched[0], touched[-1]
    if n == 1:
        return "last" if first == extent - 1 else f"index {first}"
    steps = {b - a for a, b in itertools.pairwise(touched)}
    if steps == {1} and last == extent - 1:
        return f"last {n} of {extent}"
    if steps == {1} and first == 0:
        return f"first {n} of {extent}"
    if steps == {1}:
        return f"{first} to {last} of {extent}"
    if len(steps) == 1 and n > 2:
        return f"every {_ordinal(steps.pop())} of {extent} from {first}"
    return f"{n} of {extent}"


def _ordinal(number: int) -> str:
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
