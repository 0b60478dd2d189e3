"""The operator graph of a reference: primitive operations on named values, with shapes in terms of the spec's axes.

Made by `judge.trace` (which imports torch), read by the proposers (which do not). Pure data.
"""

from __future__ import annotations

from typing import Literal

from .contract import Dtype, Record, Sha256

Extent = int | str
"""A literal, an axis, or a product, perhaps divided, such as `16*hw` or `hidden//2`. A constant axis is a literal."""


class Value(Record):
    name: str
    shape: tuple[Extent, ...]
    dtype: Dtype


class Node(Record):
    """One primitive operation. `inputs` are names of values, or literals."""

    op: str
    """Pointwise: add sub mul div neg abs reciprocal exp expm1 log log1p log2 exp2 sqrt rsqrt pow sin cos tanh sigmoid
    erf floor ceil maximum minimum clamp_min clamp_max isinf isnan eq ne gt ge lt le logical_and logical_or logical_not
    where. Reductions (attributes `dims`, `keepdim`): sum mean amax amin. Scan (`dim`): cumsum. Contraction: matmul over
    the last two dimensions. Movement: cast, reshape, expand, permute (`dims`), slice (`dim`; inputs: value, start),
    gather (`dim`; inputs: value, index). Constants of shape (): extent (`of`), constant (`value`: inf, -inf, nan)."""
    inputs: tuple[str | float | int | bool, ...]
    """Names of values or of the graph's scalars, and literals."""
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
