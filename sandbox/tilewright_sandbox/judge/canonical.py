"""From ATen calls to the primitive operations of `graph.Node`: what each call of a decomposed trace becomes.

A call that has no rule here is refused by name; nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..contract import Dtype
from ..graph import Extent, Node, Value

Operand = str | float | int | bool
"""The name of a value or scalar, or a literal."""

UNARY = {
    "abs", "ceil", "cos", "erf", "exp", "exp2", "expm1", "floor", "isinf", "isnan", "log", "log1p", "log2",
    "logical_not", "neg", "reciprocal", "rsqrt", "sigmoid", "sin", "sqrt", "tanh",
}  # fmt: skip
BINARY = {
    "add", "div", "eq", "ge", "gt", "le", "logical_and", "logical_or", "lt", "maximum", "minimum", "mul", "ne", "sub",
}  # fmt: skip
SAME = {"alias", "clone", "contiguous", "detach", "lift_fresh_copy"}
RESHAPES = {"_unsafe_view", "reshape", "squeeze", "unsqueeze", "view", "view_copy"}
ALIASES = {"clamp_min": "clamp_min", "clamp_max": "clamp_max", "bitwise_and": "logical_and", "bitwise_or": "logical_or"}


class Untraceable(ValueError):
    """The reference does something that the operator graph cannot say; the message names it."""


class Canonical:
    """Collects nodes while `trace` walks the calls; owns the naming of the values that it adds."""

    def __init__(self, taken: set[str], extent: Callable[[int, int], Extent]) -> None:
        self.nodes: list[Node] = []
        self._taken = set(taken)
        self._extent = extent
        self._rules: dict[str, Callable[..., Operand]] = {
            "add": self._scaled, "sub": self._scaled, "rsub": self._rsub, "pow": self._pow, "where": self._where,
            "clamp": self._clamp, "relu": self._relu, "_to_copy": self._cast, "convert_element_type": self._cast,
            "sum": self._reduce, "mean": self._reduce, "amax": self._reduce, "amin": self._reduce, "var": self._var,
            "max": self._full_reduce, "min": self._full_reduce, "linalg_vector_norm": self._norm,
            "cumsum": self._cumsum,
            "mm": self._matmul, "bmm": self._matmul, "addmm": self._addmm, "baddbmm": self._addmm,
            "permute": self._permute, "transpose": self._transpose, "t": self._transpose, "expand": self._expand,
            "slice": self._slice, "select": self._select, "gather": self._gather, "square": self._square,
            "silu": self._silu,
        }  # fmt: skip

    # ------------------------------------------------------------------------------------------------ building

    def fresh(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._taken:
            name, count = f"{wanted}_{count}", count + 1
        self._taken.add(name)
        return name

    def emit(self, op: str, inputs: Sequence[Operand], like: Meta, **attributes: Any) -> str:
        value = Value(name=self.fresh(op), shape=like.shape, dtype=like.dtype)
        self.nodes.append(Node(op=op, inputs=tuple(inputs), output=value, attributes=attributes))
        return value.name

    def literal(self, first: float | int | bool, second: float | int | bool) -> Operand:
        """A number that two traces saw: equal in both, or an extent that followed the shapes."""
        if isinstance(first, float) and not math.isfinite(first):
            return self.emit("constant", (), Meta((), "float32", (), ()), value=str(first))
        if first == second:
            return first
        if float(first).is_integer() and float(second).is_integer():
            extent = self._extent(int(first), int(second))
            return self.emit("extent", (), Meta((), "int64", (), ()), of=str(extent))
        raise Untraceable(f"a constant of the reference depends on the shapes: {first} at one, {second} at another")

    def call(self, name: str, arguments: Sequence[Any], keywords: dict[str, Any], out: Meta) -> Operand:
        """Record one ATen call, its tensor arguments already `Known`. Untraceable if there is no rule for it."""
        if name in SAME:
            return operand(arguments[0])
        if rule := self._rules.get(name):
            return rule(name, out, *arguments, **keywords)
        if name in RESHAPES:
            return self._reshape(arguments[0], out)
        op = ALIASES.get(name, name)
        if (op in UNARY and len(arguments) == 1) or ((op in BINARY or name in ALIASES) and len(arguments) == 2):
            if any(value is not None for value in keywords.values()):
                raise Untraceable(f"aten.{name} with {', '.join(keywords)}")
            return self.emit(op, [operand(a) for a in arguments], out)
        raise Untraceable(
            f"aten.{name} has no primitive form here; write it with pointwise, reduction and matmul operations"
        )

    # ------------------------------------------------------------------------------------------------- pointwise

    def _scaled(self, op: str, out: Meta, a: Any, b: Any, alpha: float = 1) -> str:
        right = operand(b) if alpha == 1 else self.emit("mul", (operand(b), alpha), meta(b, out))
        return self.emit(op, (operand(a), right), out)

    def _rsub(self, _: str, out: Meta, a: Any, b: Any, alpha: float = 1) -> str:
        return self._scaled("sub", out, b, a, alpha)

    def _square(self, _: str, out: Meta, a: Any) -> str:
        return self.emit("mul", (operand(a), operand(a)), out)

    def _silu(self, _: str, out: Meta, a: Any) -> str:
        return self.emit("mul", (operand(a), self.emit("sigmoid", (operand(a),), out)), out)

    def _relu(self, _: str, out: Meta, a: Any) -> str:
        return self.emit("clamp_min", (operand(a), 0.0), out)

    def _pow(self, _: str, out: Meta, a: Any, exponent: Any) -> Operand:
        x, power = operand(a), operand(exponent)
        if power == 1:
            return x
        if power in (2, 3, 4):
            square = self.emit("mul", (x, x), out)
            if power == 2:
                return square
            return self.emit("mul", (square, x if power == 3 else square), out)
        named = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
        if isinstance(power, int | float) and power in named:
            return self.emit(named[power], (x,), out)
        return self.emit("pow", (x, power), out)

    def _where(self, _: str, out: Meta, condition: Any, a: Any, b: Any) -> str:
        return self.emit("where", (operand(condition), operand(a), operand(b)), out)

    def _clamp(self, _: str, out: Meta, a: Any, min: Any = None, max: Any = None) -> Operand:
        x = operand(a)
        if min is not None:
            x = self.emit("clamp_min", (x, operand(min)), out)
        return x if max is None else self.emit("clamp_max", (x, operand(max)), out)

    def _cast(self, _: str, out: Meta, a: Any, *ignored: Any, **options: Any) -> Operand:
        return operand(a) if out.dtype == meta(a, out).dtype else self.emit("cast", (operand(a),), out)

    # ------------------------------------------------------------------------------------ reductions, contraction

    def _reduce(self, op: str, out: Meta, a: Any, dims: Any = None, keepdim: bool = False, **options: Any) -> Operand:
        source = a.meta
        rank = len(source.shape)
        reduced = tuple(sorted(d % rank for d in dims)) if dims else tuple(range(rank))
        if not reduced:
            return operand(a)
        return self.emit(op, (operand(a),), out, dims=reduced, keepdim=keepdim)

    def _full_reduce(self, name: str, out: Meta, a: Any, *more: Any) -> Operand:
        if more:
            raise Untraceable(f"aten.{name} over a dimension also returns indices; use torch.a{name} for the values")
        return self._reduce(f"a{name}", out, a)

    def _var(
        self, _: str, out: Meta, a: Any, dims: Any = None, *, correction: Any = 1, keepdim: bool = False
    ) -> Operand:
        source = a.meta
        rank = len(source.shape)
        reduced = tuple(sorted(d % rank for d in dims)) if dims else tuple(range(rank))
        kept = source.reduced(reduced, keepdim=True)
        mean = self.emit("mean", (operand(a),), kept, dims=reduced, keepdim=True)
        centred = self.emit("sub", (operand(a), mean), source)
        square = self.emit("mul", (centred, centred), source)
        if not correction:
            return self.emit("mean", (square,), out, dims=reduced, keepdim=keepdim)
        total = self.emit("sum", (square,), out, dims=reduced, keepdim=keepdim)
        count = self.literal(math.prod(source.first[d] for d in reduced), math.prod(source.second[d] for d in reduced))
        if isinstance(count, int):
            return self.emit("div", (total, count - correction), out)
        degrees = self.emit("sub", (count, correction), Meta((), "int64", (), ()))
        return self.emit("div", (total, degrees), out)

    def _norm(
        self, _: str, out: Meta, a: Any, order: Any = 2, dims: Any = None, keepdim: bool = False, **o: Any
    ) -> Operand:
        power = operand(order)
        if power == math.inf:
            return self._reduce("amax", out, Known(self.emit("abs", (operand(a),), a.meta), a.meta), dims, keepdim)
        if power not in (1, 2):
            raise Untraceable(f"the vector norm of order {power}; orders 1, 2 and inf are known")
        x = operand(a)
        inner = self.emit("mul", (x, x), a.meta) if power == 2 else self.emit("abs", (x,), a.meta)
        total = self._reduce("sum", out, Known(inner, a.meta), dims, keepdim)
        return self.emit("sqrt", (total,), out) if power == 2 else total

    def _cumsum(self, _: str, out: Meta, a: Any, dim: int, **options: Any) -> str:
        return self.emit("cumsum", (operand(a),), out, dim=dim % len(out.shape))

    def _matmul(self, _: str, out: Meta, a: Any, b: Any) -> str:
        return self.emit("matmul", (operand(a), operand(b)), out)

    def _addmm(self, _: str, out: Meta, bias: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> str:
        product: Operand = self.emit("matmul", (operand(a), operand(b)), out)
        if alpha != 1:
            product = self.emit("mul", (product, alpha), out)
        added = operand(bias) if beta == 1 else self.emit("mul", (operand(bias), beta), bias.meta)
        return self.emit("add", (product, added), out)

    # -------------------------------------------------------------------------------------------------- movement

    def _reshape(self, a: Any, out: Meta) -> Operand:
        return operand(a) if a.meta.shape == out.shape else self.emit("reshape", (operand(a),), out)

    def _expand(self, _: str, out: Meta, a: Any, *ignored: Any, **options: Any) -> Operand:
        return operand(a) if a.meta.shape == out.shape else self.emit("expand", (operand(a),), out)

    def _permute(self, _: str, out: Meta, a: Any, dims: Sequence[int]) -> Operand:
        order = tuple(d % len(out.shape) for d in dims)
        return operand(a) if order == tuple(range(len(order))) else self.emit("permute", (operand(a),), out, dims=order)

    def _transpose(self, _: str, out: Meta, a: Any, first: int = 0, second: int = 1) -> Operand:
        order = list(range(len(out.shape)))
        if len(order) < 2:
            return operand(a)
        order[first], order[second] = order[second], order[first]
        return self._permute("permute", out, a, order)

    def _slice(
        self, _: str, out: Meta, a: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
    ) -> Operand:
        if step != 1:
            raise Untraceable("a slice with a step")
        if a.meta.shape == out.shape:
            return operand(a)
        begin = 0 if start is None else operand(start)
        if isinstance(begin, int) and begin < 0:
            raise Untraceable("a slice that counts from the end; write its start as shape − length")
        return self.emit("slice", (operand(a), begin), out, dim=dim % len(out.shape))

    def _select(self, _: str, out: Meta, a: Any, dim: int, index: Any) -> str:
        begin = operand(index)
        if isinstance(begin, int) and begin < 0:
            raise Untraceable("an index that counts from the end")
        kept = a.meta.reduced((dim % len(a.meta.shape),), keepdim=True)
        piece = self.emit("slice", (operand(a), begin), kept, dim=dim % len(a.meta.shape))
        return self.emit("reshape", (piece,), out)

    def _gather(self, _: str, out: Meta, a: Any, dim: int, index: Any, **options: Any) -> str:
        return self.emit("gather", (operand(a), operand(index)), out, dim=dim % len(out.shape))


class Meta:
    """Shape in extents, dtype, and the shape in elements that each of the two traces saw."""

    def __init__(self, shape: tuple[Extent, ...], dtype: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
        self.shape, self.first, self.second = shape, first, second
        self.dtype: Dtype = cast(Dtype, dtype)

    def reduced(self, dims: Sequence[int], *, keepdim: bool) -> Meta:
        def shrink(shape: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(1 if d in dims else e for d, e in enumerate(shape) if keepdim or d not in dims)

        return Meta(shrink(self.shape), self.dtype, shrink(self.first), shrink(self.second))


class Known:
    """An operand whose shape and dtype are known: a tensor of the trace."""

    def __init__(self, operand: Operand, meta: Meta) -> None:
        self.operand, self.meta = operand, meta


def operand(argument: Any) -> Operand:
    if isinstance(argument, Known):
        return argument.operand
    if isinstance(argument, str | bool | int | float):
        return argument
    raise Untraceable(f"an argument of type {type(argument).__name__}")


def meta(argument: Any, default: Meta) -> Meta:
    return argument.meta if isinstance(argument, Known) else default
