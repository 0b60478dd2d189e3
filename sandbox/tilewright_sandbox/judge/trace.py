"""`trace(folder) -> OpGraph`: what a reference computes, as primitive operations on named values.

The reference runs twice on fake tensors, at two bindings of the axes and two values of the float scalars. Whatever
differs between the two traces is an extent or a scalar and keeps its name; whatever is equal is a literal. A reference
whose operations differ from one binding to the other is refused, and so is an operation that has no primitive form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx import Node as Call
from torch.fx.experimental.proxy_tensor import make_fx

from ..contract import Axis, ScalarInput, Spec, resolve_shape
from ..graph import Extent, OpGraph, Value
from ..spec import SpecFolder
from .canonical import Canonical, Known, Meta, Operand, Untraceable
from .reference import Reference

aten = torch.ops.aten
PRIMES = (31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101)
EXTRA_DECOMPOSITIONS = [
    aten._softmax, aten._log_softmax, aten.native_layer_norm, aten.gelu, aten.leaky_relu, aten.elu,
    aten.split_with_sizes, aten.split, aten.hardtanh, aten.hardswish, aten.hardsigmoid, aten.mish, aten.silu,
    aten.addcmul,
]  # fmt: skip


def group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: int,
    channels: int,
    spatial: int,
    groups: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """native_group_norm as centre, scale, affine: torch's own rule folds the mean into the bias, which cancels."""
    grouped = x.float().reshape(batch, groups, -1)
    mean = grouped.mean(-1, keepdim=True)
    centred = grouped - mean
    inverse = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + eps)
    y = (centred * inverse).reshape(batch, channels, -1)
    if weight is not None:
        y = y * weight.reshape(1, channels, 1)
    if bias is not None:
        y = y + bias.reshape(1, channels, 1)
    return y.reshape(x.shape).to(x.dtype), mean.squeeze(-1), inverse.squeeze(-1)


def trace(folder: SpecFolder) -> OpGraph:
    """The operator graph of a spec's reference. Untraceable (a ValueError) names what cannot be said."""
    return trace_function(Reference(folder).function, folder.spec)


def trace_function(reference: Callable[..., Any], spec: Spec) -> OpGraph:
    """As `trace`, of a callable that takes the spec's inputs in order and returns its outputs in order."""
    first, second = choose_bindings(spec.axes)
    scalars = {i.name: i.value for i in spec.inputs if isinstance(i, ScalarInput)}
    moved = {
        name: value * 1.375 + 0.015625 if isinstance(value, float) else value
        for name, value in scalars.items()
        if not isinstance(value, str)
    }
    one = _run(reference, spec, first, scalars)
    try:
        two = _run(reference, spec, second, scalars | moved)
        _assert_alike(one, two)
    except Exception:  # a float that steers the operations, such as the order of a norm: it stays a literal
        moved = {}
        two = _run(reference, spec, second, scalars)
        _assert_alike(one, two)
    return _Reader(spec, first, second, scalars, moved).read(one, two)


def choose_bindings(axes: dict[str, Axis]) -> tuple[dict[str, int], dict[str, int]]:
    """Two bindings inside the domain that tell the axes apart: no two axes have the same pair of extents."""
    bindings: tuple[dict[str, int], dict[str, int]] = ({}, {})
    seen: set[tuple[int, int]] = set()
    primes = iter(itertools.cycle(PRIMES))
    for name, axis in axes.items():
        for pair in _pairs(axis, primes):
            if pair not in seen or axis.min == axis.max:
                break
        else:
            raise Untraceable(f"axis {name} has too few extents to be told from the others; widen its domain")
        seen.add(pair)
        bindings[0][name], bindings[1][name] = pair
    return bindings


def _pairs(axis: Axis, primes: Any) -> Any:
    if axis.min == axis.max:
        yield axis.min, axis.max
        return
    if axis.choices is not None:
        yield from itertools.permutations(axis.choices, 2)
        return
    step = axis.multiple_of
    low, high = math.ceil(axis.min / step), axis.max // step
    usable = [step * (p if low <= p <= high else low + p % (high - low + 1)) for p in itertools.islice(primes, 6)]
    yield from itertools.permutations(dict.fromkeys(usable), 2)


def _run(reference: Callable[..., Any], spec: Spec, binding: dict[str, int], scalars: dict[str, Any]) -> GraphModule:
    names = [tensor.name for tensor in spec.tensor_inputs]

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        by_name = dict(zip(names, tensors, strict=True)) | scalars
        result = reference(*(by_name[i.name] for i in spec.inputs))
        return tuple(result) if isinstance(result, tuple | list) else (result,)

    table: dict[Any, Any] = dict(core_aten_decompositions()) | dict(get_decompositions(EXTRA_DECOMPOSITIONS))
    table[aten.native_group_norm.default] = group_norm
    with FakeTensorMode():
        tensors = [
            torch.zeros(resolve_shape(t.shape, binding), dtype=getattr(torch, t.dtype)) for t in spec.tensor_inputs
        ]
        try:
            module = make_fx(torch.func.functionalize(flat), decomposition_table=table)(*tensors)
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise Untraceable(f"the reference cannot be traced without values: {reason}") from error
    module.graph.eliminate_dead_code()
    return module


def _assert_alike(one: GraphModule, two: GraphModule) -> None:
    calls = [[(n.op, str(n.target)) for n in module.graph.nodes if n.op != "placeholder"] for module in (one, two)]
    if calls[0] != calls[1]:
        raise Untraceable("the reference does different operations at different shapes; a graph cannot say that")


class _Reader:
    """Walks two aligned traces and writes one graph."""

    def __init__(
        self, spec: Spec, first: dict[str, int], second: dict[str, int], scalars: dict[str, Any], moved: dict[str, Any]
    ) -> None:
        self.spec, self.scalars, self.moved = spec, scalars, moved
        self.axes = {a: (first[a], second[a]) for a in spec.axes if spec.axes[a].min != spec.axes[a].max}
        self.canonical = Canonical({i.name for i in spec.inputs}, self.extent)
        self.known: dict[str, Any] = {}

    def extent(self, first: int, second: int) -> Extent:
        """The extent seen as `first` in one trace and `second` in the other: a literal or a product of axes."""
        if first == second:
            return first
        for degree in (1, 2, 3, 4):
            for factors in itertools.combinations_with_replacement(self.axes, degree):
                a = math.prod(self.axes[f][0] for f in factors)
                b = math.prod(self.axes[f][1] for f in factors)
                if first * b != second * a:
                    continue
                product = "*".join(factors)
                if first % a == 0:
                    return product if first == a else f"{first // a}*{product}"
                if a % first == 0:
                    return f"{product}//{a // first}" if degree == 1 else f"({product})//{a // first}"
        raise Untraceable(f"an extent is {first} at one binding and {second} at another: not a product of axes")

    def read(self, one: GraphModule, two: GraphModule) -> OpGraph:
        inputs = []
        tensors = iter(self.spec.tensor_inputs)
        outputs: list[str] = []
        for a, b in zip(one.graph.nodes, two.graph.nodes, strict=True):
            if a.op == "placeholder":
                tensor = next(tensors)
                meta = self._meta(a, b)
                inputs.append(Value(name=tensor.name, shape=meta.shape, dtype=tensor.dtype))
                self.known[a.name] = Known(tensor.name, meta)
            elif a.op == "output":
                outputs = [
                    self._output(self._resolve(r, s), i) for i, (r, s) in enumerate(zip(*_results(a, b), strict=True))
                ]
            elif a.op == "call_function":
                self.known[a.name] = self._call(a, b)
            else:
                raise Untraceable(f"the reference reads a tensor that is not an input ({a.target})")
        used = {operand for node in self.canonical.nodes for operand in node.inputs if isinstance(operand, str)}
        return OpGraph(
            spec_sha256=self.spec.sha256,
            inputs=tuple(inputs),
            scalars={
                name: value for name, value in self.scalars.items() if name in used and not isinstance(value, str)
            },
            nodes=tuple(self.canonical.nodes),
            outputs=tuple(outputs),
        )

    def _output(self, result: Any, index: int) -> str:
        if not isinstance(result, Known) or not isinstance(result.operand, str):
            raise Untraceable(f"output {index} is a constant: it does not depend on the inputs")
        return result.operand

    def _call(self, a: Call, b: Call) -> Any:
        name = _op_name(a)
        if name == "getitem":
            source, place = _arguments(a)
            return self.known[source.name][place]
        arguments = [self._resolve(x, y) for x, y in zip(_arguments(a), _arguments(b), strict=True)]
        keywords = {k: self._resolve(v, b.kwargs[k]) for k, v in a.kwargs.items()}
        if name in ("split_with_sizes", "split"):
            raise Untraceable(f"aten.{name} on this input")
        if name in ("scalar_tensor", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like"):
            value: Operand = arguments[-1] if name[0] in "sf" else float(name[0] == "o")
            return Known(value, self._meta(a, b))
        if name == "as_strided":
            return self._window(a, b)
        if name == "var_mean":
            return self._var_mean(a, b, arguments, keywords)
        if name.endswith("_") and not name.endswith("__"):
            _assert_last_use(a)
            name = name[:-1]
        out = self._meta(a, b)
        dropped = {
            "dtype",
            "layout",
            "device",
            "pin_memory",
            "non_blocking",
            "memory_format",
            "implicit",
            "sparse_grad",
        }
        if name == "div" and keywords.get("rounding_mode") is not None:
            raise Untraceable("division that rounds")
        return Known(
            self.canonical.call(name, arguments, {k: v for k, v in keywords.items() if k not in dropped}, out), out
        )

    def _window(self, a: Call, b: Call) -> Known:
        """A strided view of a contiguous tensor that is shorter along one dimension, as `chunk` makes them: a slice."""
        found = [_window_of(call) for call in (a, b)]
        if found[0] is None or found[1] is None or found[0][0] != found[1][0]:
            raise Untraceable("a strided view that is not a slice")
        (dim, first), (_, second) = found[0], found[1]
        out = self._meta(a, b)
        source = self.known[_arguments(a)[0].name]
        return Known(self.canonical.call("slice", [source, dim, self.canonical.literal(first, second)], {}, out), out)

    def _var_mean(self, a: Call, b: Call, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Known, Known]:
        out = self._tensor_meta(a.meta["val"][0], b.meta["val"][0])
        source, dims = arguments[0], (arguments[1:] or [keywords.pop("dim", None)])[0]
        keepdim = bool(keywords.get("keepdim", False))
        variance = self.canonical.call("var", [source, dims], keywords, out)
        return Known(variance, out), Known(self.canonical.call("mean", [source, dims, keepdim], {}, out), out)

    def _resolve(self, a: Any, b: Any) -> Any:
        if isinstance(a, Call):
            return self.known[a.name]
        if isinstance(a, Sequence) and not isinstance(a, str):
            return [x if isinstance(x, int) else self._resolve(x, y) for x, y in zip(a, b, strict=True)]
        if isinstance(a, bool) or not isinstance(a, int | float):
            return a
        for name in self.moved:
            if _close(a, self.scalars[name]) and _close(b, self.moved[name]) and a != b:
                return name
        return self.canonical.literal(a, b)

    def _meta(self, a: Call, b: Call) -> Meta:
        one, two = a.meta.get("val"), b.meta.get("val")
        if not isinstance(one, Tensor) or not isinstance(two, Tensor):
            raise Untraceable(f"{a.target} returns several tensors and has no primitive form here")
        return self._tensor_meta(one, two)

    def _tensor_meta(self, one: Tensor, two: Tensor) -> Meta:
        first, second = tuple(one.shape), tuple(two.shape)
        shape = tuple(self.extent(x, y) for x, y in zip(first, second, strict=True))
        return Meta(shape, str(one.dtype).removeprefix("torch."), first, second)


def _assert_last_use(call: Call) -> None:
    """An in-place call is the same as its pure form where nothing reads the old value afterwards."""
    target = call.args[0]
    assert isinstance(target, Call)
    order = {node: place for place, node in enumerate(call.graph.nodes)}
    if target.op == "placeholder" or any(order[user] > order[call] for user in target.users):
        raise Untraceable(f"{call.target} writes into a tensor that is read again; use the pure form")


def _window_of(call: Call) -> tuple[int, int] | None:
    """(dimension, start) of an as_strided call that is a slice along one dimension."""
    source = _arguments(call)[0].meta["val"]
    size, stride = _arguments(call)[1:3]
    offset = _arguments(call)[3] if len(_arguments(call)) > 3 else None
    shorter = [d for d, (part, whole) in enumerate(zip(size, source.shape, strict=False)) if part != whole]
    if len(size) != source.dim() or tuple(stride) != source.stride() or not source.is_contiguous() or len(shorter) != 1:
        return None
    start, rest = divmod(offset or 0, stride[shorter[0]])
    return None if rest or start + size[shorter[0]] > source.shape[shorter[0]] else (shorter[0], start)


def _arguments(call: Call) -> tuple[Any, ...]:
    return tuple(call.args)


def _op_name(call: Call) -> str:
    target = call.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target.overloadpacket.__name__)
    return str(getattr(target, "__name__", target))


def _results(a: Call, b: Call) -> tuple[list[Any], list[Any]]:
    return list(_arguments(a)[0]), list(_arguments(b)[0])


def _close(seen: float, scalar: float) -> bool:
    """Equal, or equal after a round trip through float32 (some decompositions make one)."""
    return math.isclose(seen, scalar, rel_tol=2e-7)
