"""WHERE: safe conditions over a config and a workload's axes, such as `(BM + BN) * BK * 2 * num_stages <= 229376`.

A condition is read with `ast` into closures; nothing is executed as Python. Allowed are names, numbers, strings, True
and False, `and or not`, comparisons (also chained, and `in` a literal list), `+ - * / // % **`, and calls of min, max,
abs, cdiv and next_power_of_2. Integers stay within 64 bits, so no condition can take long or much memory.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .contract import Config, ConfigValue

MAX_CHARACTERS = 1000
MAX_DEPTH = 64
"""Levels of nesting, so that no condition exhausts the interpreter's stack."""
MAX_BITS = 63
SMALLEST_VIOLATION = 1e-6
ALLOWED = "names, numbers, strings, and/or/not, comparisons, + - * / // % **, min, max, abs, cdiv, next_power_of_2"

Kind = Literal["bool", "number", "string"]
Names = Mapping[str, ConfigValue]
Value = Callable[[Names], Any]
Excess = Callable[[Names], float]


class WhereError(ValueError):
    """A condition that cannot be read, or names and types that do not fit. The message says what to write instead."""


def cdiv(numerator: int, denominator: int) -> int:
    """The quotient, rounded up."""
    return -(-numerator // denominator)


def next_power_of_2(number: int) -> int:
    """The smallest power of two that is not less than `number`; 1 for numbers under 1."""
    return 1 << max(0, math.ceil(number) - 1).bit_length()


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent > MAX_BITS or base.bit_length() * exponent > 2 * MAX_BITS:
            raise OverflowError("power is too large")
        if exponent < 0:
            return float(base) ** exponent
    result = base**exponent
    if isinstance(result, complex):
        raise ArithmeticError("root of a negative number")
    return float(result) if isinstance(result, float) else int(result)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: _power,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda value, choices: value in choices, ast.NotIn: lambda value, choices: value not in choices,
}  # fmt: skip
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "min": (min, 2, 16), "max": (max, 2, 16), "abs": (abs, 1, 1),
    "cdiv": (cdiv, 2, 2), "next_power_of_2": (next_power_of_2, 1, 1),
}  # fmt: skip
_CANNOT_EVALUATE = (ArithmeticError, TypeError, ValueError)
"""Division by zero, a number out of bounds, arithmetic on text, the integer next to a NaN."""


@dataclass(frozen=True)
class Where:
    """One condition. A point at which it cannot be evaluated (a division by zero, an overflow) does not satisfy it."""

    text: str
    names: frozenset[str]
    _holds: Value
    _excess: Excess
    _tree: ast.expr

    def holds(self, config: Config, axes: Mapping[str, int]) -> bool:
        """Whether the condition is true at this point. WhereError if it names what is neither in config nor axes."""
        try:
            return bool(self._holds({**axes, **config.root}))
        except _CANNOT_EVALUATE:
            return False
        except KeyError as error:
            raise WhereError(f"{self.text!r} names {error.args[0]}, which is no axis and no name of SPACE") from error

    def violation(self, config: Config, axes: Mapping[str, int]) -> float:
        """0 where the condition holds; otherwise the excess relative to the larger side, greater than 0.

        `a <= b` gives (a − b) / max(|a|, |b|, 1); `and` adds, `or` takes the least; what cannot be evaluated gives 1.
        """
        if self.holds(config, axes):
            return 0.0
        try:
            excess = self._excess({**axes, **config.root})
        except _CANNOT_EVALUATE:
            return 1.0
        return max(excess, SMALLEST_VIOLATION) if math.isfinite(excess) else 1.0

    def check_kinds(self, kinds: Mapping[str, Kind]) -> None:
        """WhereError if a name has no kind, operands do not fit their operator, or the result is not true or false."""
        if unknown := sorted(self.names - kinds.keys()):
            known = ", ".join(kinds) or "none"
            raise WhereError(f"unknown name {unknown[0]}; known are {known}")
        if _kind(self._tree, kinds) != "bool":
            raise WhereError(f"{self.text!r} is not a condition; compare it with something")


def compile_where(text: str) -> Where:
    """Read one condition. WhereError for anything outside the allowed syntax."""
    if len(text) > MAX_CHARACTERS:
        raise WhereError(f"a condition of {len(text)} characters; {MAX_CHARACTERS} are allowed, so split it")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if _depth(tree) > MAX_DEPTH:
            raise WhereError(f"a condition nests more than {MAX_DEPTH} levels deep; write it flatter or split it")
        names = frozenset(_names(tree))
        return Where(text, names, _bool_value(tree), _excess(tree, False), tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, WhereError):
            raise
        raise WhereError(f"{text!r} is not an expression: {getattr(error, 'msg', None) or error}") from error


def evaluate_extent(extent: int | str, axes: Mapping[str, int]) -> int:
    """An extent of an operator graph, such as `16*hw` or `hidden//2`. WhereError where it names no axis."""
    if isinstance(extent, int):
        return extent
    try:
        return int(_value(ast.parse(extent, mode="eval").body)(dict(axes)))
    except (SyntaxError, KeyError, *_CANNOT_EVALUATE) as error:
        raise WhereError(f"the extent {extent!r} has no value for {dict(axes)}") from error


def _depth(tree: ast.expr) -> int:
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return depth


def _names(tree: ast.expr) -> Iterator[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called)


# ------------------------------------------------------------------------------------------------------- values


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if any(isinstance(argument, str) for argument in arguments):
            raise TypeError("arithmetic takes numbers")
        result = function(*arguments)
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise OverflowError("integer is out of 64 bits")
        return result

    return call


def _value(node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            if isinstance(constant, int) and constant.bit_length() > MAX_BITS:
                raise WhereError(f"the number {ast.unparse(node)[:20]}… is out of 64 bits")
            return lambda names: constant
        case ast.Name(id=name):
            return lambda names: names[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
            inner, sign = _value(operand), -1 if isinstance(op, ast.USub) else 1
            return lambda names: sign * inner(names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            one, two, apply = _value(left), _value(right), _bounded(_BINARY[type(op)])
            return lambda names: apply(one(names), two(names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            function, least, most = _FUNCTIONS[name]
            if not least <= len(arguments) <= most:
                raise WhereError(f"{name} takes {least if least == most else f'{least} or more'} arguments")
            values, apply = [_value(argument) for argument in arguments], _bounded(function)
            return lambda names: apply(*(value(names) for value in values))
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return _bool_value(node)
    raise WhereError(f"{ast.unparse(node)!r} is not allowed; a condition holds {ALLOWED}")


def _bool_value(node: ast.expr) -> Value:
    match node:
        case ast.BoolOp(op=op, values=nodes):
            values, join = [_bool_value(one) for one in nodes], all if isinstance(op, ast.And) else any
            return lambda names: join(value(names) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _bool_value(operand)
            return lambda names: not inner(names)
        case ast.Compare():
            pairs = list(_pairs(node))
            return lambda names: all(test(left(names), right(names)) for left, test, _, right in pairs)
    return _value(node)


def _pairs(node: ast.Compare) -> Iterator[tuple[Value, Callable[[Any, Any], bool], type[ast.cmpop], Value]]:
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        if type(op) not in _COMPARE:
            raise WhereError(f"{ast.unparse(node)!r} is not allowed; compare with == != < <= > >= or in")
        yield _value(left), _COMPARE[type(op)], type(op), _choices(right) if _is_membership(op) else _value(right)
        left = right


def _is_membership(op: ast.cmpop) -> bool:
    return isinstance(op, ast.In | ast.NotIn)


def _choices(node: ast.expr) -> Value:
    if not isinstance(node, ast.Tuple | ast.List):
        raise WhereError(f"{ast.unparse(node)!r} is not allowed after `in`; write a list such as [4, 8]")
    values = [_value(element) for element in node.elts]
    return lambda names: [value(names) for value in values]


# --------------------------------------------------------------------------------------------------- violations


def _excess(node: ast.expr, negated: bool) -> Excess:
    """How far a condition, or its negation, is from being true."""
    match node:
        case ast.BoolOp(op=op, values=nodes):
            parts = [_excess(one, negated) for one in nodes]
            join: Callable[..., float] = sum if isinstance(op, ast.And) != negated else min
            return lambda names: join(part(names) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _excess(operand, not negated)
        case ast.Compare():
            links = [_link(left, _OPPOSITE[op] if negated else op, right) for left, _, op, right in _pairs(node)]
            join = min if negated else sum
            return lambda names: join(link(names) for link in links)
    value = _value(node)
    return lambda names: float(bool(value(names)) == negated)


def _link(left: Value, op: type[ast.cmpop], right: Value) -> Excess:
    test = _COMPARE[op]

    def excess(names: Names) -> float:
        one, two = left(names), right(names)
        if test(one, two):
            return 0.0
        if not isinstance(one, int | float) or not isinstance(two, int | float):
            return 1.0
        return max(abs(one - two) / max(abs(one), abs(two), 1), SMALLEST_VIOLATION)

    return excess


# -------------------------------------------------------------------------------------------------------- kinds


def _kind(node: ast.expr, kinds: Mapping[str, Kind]) -> Kind:
    match node:
        case ast.Constant(value=constant):
            return "bool" if isinstance(constant, bool) else "string" if isinstance(constant, str) else "number"
        case ast.Name(id=name):
            return kinds[name]
        case ast.BoolOp(values=operands) | ast.UnaryOp(op=ast.Not(), operand=ast.expr() as operands):
            for operand in operands if isinstance(operands, list) else [operands]:
                if _kind(operand, kinds) != "bool":
                    raise WhereError(f"{ast.unparse(operand)!r} is not true or false; compare it with something")
            return "bool"
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for op, one, two in zip(ops, [left, *comparators], comparators, strict=False):
                _comparable(op, one, two, kinds)
            return "bool"
        case ast.UnaryOp(operand=operand):
            _numbers([operand], kinds)
        case ast.BinOp(left=left, right=right):
            _numbers([left, right], kinds)
        case ast.Call(args=arguments):
            _numbers(arguments, kinds)
    return "number"


def _numbers(nodes: list[ast.expr], kinds: Mapping[str, Kind]) -> None:
    for node in nodes:
        if _kind(node, kinds) == "string":
            raise WhereError(f"{ast.unparse(node)!r} is text; arithmetic takes numbers")


def _comparable(op: ast.cmpop, one: ast.expr, two: ast.expr, kinds: Mapping[str, Kind]) -> None:
    others = two.elts if isinstance(two, ast.Tuple | ast.List) else [two]
    left = _kind(one, kinds)
    for other in others:
        if (left == "string") != (_kind(other, kinds) == "string"):
            raise WhereError(f"{ast.unparse(one)!r} and {ast.unparse(other)!r} cannot be compared: one is text")
    if left == "string" and isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        raise WhereError(f"{ast.unparse(one)!r} is text; compare it with == or in")
