"""The least that any kernel must do for a workload: bytes it must move, and matrix products it must compute."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .contract import DTYPE_BYTES, Dtype, Spec, TensorInput, TensorOutput, Workload, resolve_shape
from .expressions import evaluate_extent
from .graph import Node, OpGraph
from .targets import Target

_SAME_VALUES = ("cast", "reshape", "expand", "permute", "slice")
"""Operations whose result holds the values of their first input, so that its dtype is wide enough for them."""


@dataclass(frozen=True)
class Product:
    """A batch of matrix products: (batch, m, k) by (batch, k, n)."""

    batch: int
    m: int
    n: int
    k: int
    dtype: Dtype
    """The narrowest dtype that holds the operands."""

    @property
    def flops(self) -> float:
        """A multiply-add is two."""
        return 2.0 * self.batch * self.m * self.n * self.k


def min_bytes(spec: Spec, workload: Workload, graph: OpGraph | None = None) -> int:
    """Every input read once and every output written once. Of an input that is only gathered from, what is gathered."""
    gathered = _gathered_bytes(graph, workload) if graph else {}

    def size(tensor: TensorInput | TensorOutput) -> int:
        return math.prod(resolve_shape(tensor.shape, workload.axes)) * DTYPE_BYTES[tensor.dtype]

    read = sum(min(size(tensor), gathered.get(tensor.name, size(tensor))) for tensor in spec.tensor_inputs)
    return read + sum(size(output) for output in spec.outputs)


def _gathered_bytes(graph: OpGraph, workload: Workload) -> dict[str, int]:
    """Bytes gathered from each input that no operation but `gather` reads."""
    sizes: dict[str, int] = {}
    for value in graph.inputs:
        readers = [node for node in graph.nodes if value.name in node.inputs]
        if value.name in graph.outputs or any(node.op != "gather" or node.inputs[0] != value.name for node in readers):
            continue
        sizes[value.name] = sum(
            math.prod(evaluate_extent(extent, workload.axes) for extent in node.output.shape) * DTYPE_BYTES[value.dtype]
            for node in readers
        )
    return sizes


def products(spec: Spec, workload: Workload, graph: OpGraph | None = None) -> tuple[Product, ...]:
    """Matrix products of the reference: from its operator graph, or, without one, from the names of the axes."""
    if graph is None:
        product = _product_of_axes(spec, workload)
        return (product,) if product else ()
    return tuple(_product_of_node(graph, node, workload) for node in graph.nodes if node.op == "matmul")


def _product_of_node(graph: OpGraph, node: Node, workload: Workload) -> Product:
    values = {value.name: value for value in (*graph.inputs, *(other.output for other in graph.nodes))}
    left, right = values[str(node.inputs[0])], values[str(node.inputs[1])]
    shape = [evaluate_extent(extent, workload.axes) for extent in node.output.shape]
    dtypes = (_origin_dtype(graph, left.name), _origin_dtype(graph, right.name))
    return Product(
        batch=math.prod(shape[:-2]), m=shape[-2], n=shape[-1],
        k=evaluate_extent(left.shape[-1], workload.axes),
        dtype=_widest(*dtypes),
    )  # fmt: skip


def _origin_dtype(graph: OpGraph, name: str) -> Dtype:
    """The narrowest dtype on the way from the inputs to this value, as long as only casts and views lie between."""
    producers = {node.output.name: node for node in graph.nodes}
    dtypes: dict[str, Dtype] = {
        value.name: value.dtype for value in (*graph.inputs, *(node.output for node in graph.nodes))
    }
    narrowest = dtypes[name]
    while (node := producers.get(name)) and node.op in _SAME_VALUES and isinstance(node.inputs[0], str):
        name = node.inputs[0]
        narrowest = dtypes[name] if DTYPE_BYTES[dtypes[name]] < DTYPE_BYTES[narrowest] else narrowest
    return narrowest


def _widest(one: Dtype, two: Dtype) -> Dtype:
    return one if DTYPE_BYTES[one] >= DTYPE_BYTES[two] else two


def _product_of_axes(spec: Spec, workload: Workload) -> Product | None:
    """Two inputs that share an axis which no output has, and that each bring an output an axis that the other lacks."""
    kept = {dim for output in spec.outputs for dim in output.shape}
    tensors = spec.tensor_inputs
    for index, left in enumerate(tensors):
        for right in tensors[index + 1 :]:
            one, two = set(left.shape), set(right.shape)
            summed = {dim for dim in (one & two) - kept if isinstance(dim, str)}
            rows, cols, shared = (one - two) & kept, (two - one) & kept, one & two & kept
            if summed and rows and cols:
                m, n, k, batch = (
                    math.prod(resolve_shape(tuple(d), workload.axes)) for d in (rows, cols, summed, shared)
                )
                return Product(batch=batch, m=m, n=n, k=k, dtype=_widest(left.dtype, right.dtype))
    return None


def roofline_us(spec: Spec, workload: Workload, target: Target, graph: OpGraph | None = None) -> float:
    """max(bytes / sustained bandwidth, FLOPs / sustained rate) in µs, from the target's public figures: modelled."""
    memory_us = min_bytes(spec, workload, graph) / target.hbm_gb_per_s / 1e3
    compute_us = sum(
        product.flops / target.dot_tflops(product.dtype, spec.accept.precision) / 1e6
        for product in products(spec, workload, graph)
    )
    return max(memory_us, compute_us)
