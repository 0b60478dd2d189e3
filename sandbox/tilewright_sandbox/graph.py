"""The operator graph of a reference: primitive operations on named values, with shapes in terms of the spec's axes.

Made by `judge.trace` (which imports torch), read by the proposers (which do not). Pure data.
"""

from __future__ import annotations

from typing import Literal

from .contract import Dtype, Record, Sha256

Extent = int | str
"""An extent: a literal, an axis, or a product of them such as `16*hw`."""


class Value(Record):
    name: str
    shape: tuple[Extent, ...]
    dtype: Dtype


class Node(Record):
    """One primitive operation. `inputs` are names of values, or literals."""

    op: str
    """pointwise: add sub mul div neg exp log sqrt rsqrt tanh sigmoid erf maximum minimum where gt … ; reductions: sum
    amax amin mean var; scan: cumsum; contraction: matmul; data movement: cast reshape permute expand gather."""
    inputs: tuple[str | float | int | bool, ...]
    output: Value
    attributes: dict[str, int | float | str | bool | tuple[int, ...]] = {}


class OpGraph(Record):
    kind: Literal["traced"] = "traced"
    spec_sha256: Sha256
    inputs: tuple[Value, ...]
    scalars: dict[str, float | int | bool] = {}
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    """Names of the values that the reference returns, in the spec's order."""
