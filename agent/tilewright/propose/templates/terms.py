"""Terms: the graph as mathematics. No casts between floats, no reshapes, equal terms are one object.

Every value is accumulated in float32 inside a kernel, so a float cast of the reference is not repeated; reshapes and
permutations live in the atoms of the inputs. What is left is what a kernel must compute.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from tilewright_sandbox.graph import Node, OpGraph

from .atoms import Atom, Dimension, dimension, extent_of, leaves, regroup, unify
from .extents import Monomial, Unsupported

REDUCTIONS = {"sum", "mean", "amax", "amin"}
POINTWISE = {
    "abs", "add", "cast", "ceil", "clamp_max", "clamp_min", "cos", "div", "eq", "erf", "exp", "exp2", "expm1", "floor",
    "ge", "gt", "isinf", "isnan", "le", "log", "log1p", "log2", "logical_and", "logical_not", "logical_or", "lt",
    "maximum", "minimum", "mul", "ne", "neg", "rsqrt", "sigmoid", "sin", "sqrt", "sub", "tanh", "where",
}  # fmt: skip
TRUTH = {"eq", "ne", "gt", "ge", "lt", "le", "isinf", "isnan", "logical_and", "logical_not", "logical_or"}
FLOATS = {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}


ONE = Monomial()


@dataclass(eq=False)
class Term:
    """One operation. Leaves are `input`, `workspace`, `scalar`, `literal` and `extent`; equality is identity."""

    op: str
    args: tuple[Term, ...] = ()
    value: float | int | bool | str = ""
    """The name of an input or scalar, or the number of a literal."""
    over: tuple[Atom, ...] = ()
    """The atoms that a reduction, scan, contraction or gather runs over."""
    index: tuple[tuple[Atom, ...], ...] = ()
    """Of an input: the atoms that index each of its own dimensions."""
    starts: tuple[Monomial | None, ...] = ()
    """Of an input: where a slice of each dimension begins."""
    extent: Monomial = ONE
    """Of an extent: its value."""
    kind: str = "float"
    """float, int or bool."""

    @property
    def atoms(self) -> frozenset[Atom]:
        """The atoms over which the term varies. Computed afresh: atoms split while a graph is read."""
        if self.index:
            return frozenset(leaf for dim in self.index for leaf in leaves(dim))
        if self.op in ("literal", "scalar", "extent"):
            return frozenset()
        return _varies(self, {})

    @property
    def is_load(self) -> bool:
        return self.op in ("input", "workspace", "gather")


def _varies(term: Term, memo: dict[int, frozenset[Atom]]) -> frozenset[Atom]:
    if id(term) not in memo:
        if term.index:
            found = frozenset(leaf for dim in term.index for leaf in leaves(dim))
        else:
            found = frozenset[Atom]().union(*(_varies(arg, memo) for arg in term.args))
        if term.op in REDUCTIONS or term.op == "matmul":
            found -= frozenset(leaves(term.over))
        elif term.op == "gather":
            found = (_varies(term.args[0], memo) - frozenset(leaves(term.over))) | _varies(term.args[1], memo)
        memo[id(term)] = found
    return memo[id(term)]


@dataclass
class Shaped:
    """A term and the atoms of each of its dimensions."""

    term: Term
    dims: list[Dimension]


@dataclass(frozen=True)
class Output:
    name: str
    term: Term
    dims: tuple[tuple[Atom, ...], ...]


def walk(roots: Sequence[Term], known: Container[int] | None = None) -> Iterator[Term]:
    """Every term below the roots once, arguments before users.

    With `known`, only what must still be computed: not the terms of those ids, nor a tensor for the sake of a gather.
    """
    seen: set[int] = set()

    def visit(term: Term) -> Iterator[Term]:
        if id(term) in seen or (known is not None and id(term) in known):
            return
        seen.add(id(term))
        for arg in term.args[1:] if term.op == "gather" and known is not None else term.args:
            yield from visit(arg)
        yield term

    for root in roots:
        yield from visit(root)


class Algebra:
    """Makes terms; equal ones are made once, and a few identities are applied on the way."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Term] = {}

    def make(
        self, op: str, *args: Term, value: float | int | bool | str = "", over: Sequence[Atom] = (), kind: str = ""
    ) -> Term:
        if op in ("mul", "add", "sub", "div", "neg", "cast") and (simpler := self._simplify(op, args, kind)):
            return simpler
        if op == "reciprocal":
            return self.make("div", self.literal(1.0), *args)
        if op == "eq" and args[0].op == "abs" and args[1].value == math.inf:
            return self.make("isinf", args[0].args[0])
        kind = kind or ("bool" if op in TRUTH else "float" if any(a.kind == "float" for a in args) else "int")
        key = (op, tuple(id(a) for a in args), repr(value), tuple(id(leaf) for leaf in leaves(over)), kind)
        if key not in self._made:
            self._made[key] = Term(op, args, value, tuple(over), kind=kind)
        return self._made[key]

    def literal(self, number: float | int | bool) -> Term:
        kind = "bool" if isinstance(number, bool) else "int" if isinstance(number, int) else "float"
        key = ("literal", kind, repr(number))
        return self._made.setdefault(key, Term("literal", value=number, kind=kind))

    def _simplify(self, op: str, args: tuple[Term, ...], kind: str) -> Term | None:
        a = args[0]
        if op == "cast":
            return a if a.kind == kind else None
        if op == "neg":
            return self.literal(-a.value) if a.op == "literal" and not isinstance(a.value, str) else None
        b = args[1]
        if op == "div" and b.op == "literal" and b.value == 1:
            return a
        if op != "mul":
            return None
        if a.op == "literal" and b.op != "literal":
            a, b = b, a
        if b.op == "literal" and b.value == 1 and a.kind == "float":
            return a
        if b.op == "literal" and a.op == "mul" and a.args[1].op == "literal":
            return self.make("mul", a.args[0], self.literal(float(b.value) * float(a.args[1].value)))
        return self._gelu(a, b)

    def _gelu(self, a: Term, b: Term) -> Term | None:
        """(x / 2)·(1 + tanh u) is x·sigmoid(2u), which does not cancel where tanh u is near −1."""
        if a.op != "mul" or a.args[1].value != 0.5 or b.op != "add" or b.args[0].op != "tanh" or b.args[1].value != 1:
            return None
        doubled = self.make("mul", b.args[0].args[0], self.literal(2.0))
        return self.make("mul", a.args[0], self.make("sigmoid", doubled))


class Reader:
    """Reads an OpGraph into terms. Unsupported where an operation has no place in any template."""

    def __init__(self, graph: OpGraph) -> None:
        self.algebra = Algebra()
        self.values: dict[str, Shaped] = {}
        self.slices: dict[tuple[str, int, Monomial, Monomial], Shaped] = {}
        for tensor in graph.inputs:
            dims = [dimension(Monomial.parse(extent)) for extent in tensor.shape]
            kind = "float" if tensor.dtype in FLOATS else "bool" if tensor.dtype == "bool" else "int"
            term = Term(
                "input", value=tensor.name, index=tuple(map(tuple, dims)), starts=(None,) * len(dims), kind=kind
            )
            self.values[tensor.name] = Shaped(term, dims)
        for name, number in graph.scalars.items():
            kind = "float" if isinstance(number, float) else "int"
            self.values[name] = Shaped(Term("scalar", value=name, kind=kind), [])
        for node in graph.nodes:
            self.values[node.output.name] = self._node(node)

    def outputs(self, graph: OpGraph, names: Sequence[str]) -> list[Output]:
        found = []
        for name, source, shape in zip(
            names, graph.outputs, (self.shape(graph, o) for o in graph.outputs), strict=True
        ):
            shaped = self.values[source]
            if any(extent_of(dim) != extent for dim, extent in zip(shaped.dims, shape, strict=True)):
                raise Unsupported(f"output {name} is a broadcast of a smaller value")
            found.append(Output(name, shaped.term, tuple(map(tuple, shaped.dims))))
        return found

    @staticmethod
    def shape(graph: OpGraph, name: str) -> list[Monomial]:
        for node in graph.nodes:
            if node.output.name == name:
                return [Monomial.parse(extent) for extent in node.output.shape]
        return next([Monomial.parse(e) for e in value.shape] for value in graph.inputs if value.name == name)

    def _extent(self, text: str) -> Term:
        term = self.algebra.make("extent", value=text, kind="int")
        term.extent = Monomial.parse(int(text) if text.isdigit() else text)
        return term

    def _operand(self, operand: str | float | int | bool) -> Shaped:
        return self.values[operand] if isinstance(operand, str) else Shaped(self.algebra.literal(operand), [])

    def _node(self, node: Node) -> Shaped:
        op, shape = node.op, [Monomial.parse(extent) for extent in node.output.shape]
        args = [self._operand(operand) for operand in node.inputs]
        kind = "float" if node.output.dtype in FLOATS else "bool" if node.output.dtype == "bool" else "int"
        match op:
            case "extent":
                return Shaped(self._extent(str(node.attributes["of"])), [])
            case "constant":
                return Shaped(self.algebra.literal(float(str(node.attributes["value"]))), [])
            case "reshape":
                return Shaped(args[0].term, regroup(args[0].dims, shape))
            case "expand":
                return Shaped(args[0].term, [*([[]] * (len(shape) - len(args[0].dims))), *args[0].dims])
            case "permute":
                return Shaped(args[0].term, [args[0].dims[d] for d in _ints(node.attributes["dims"])])
            case "slice":
                return self._slice(args[0], args[1], _int(node.attributes["dim"]), shape)
            case "gather":
                return self._gather(args[0], args[1], _int(node.attributes["dim"]))
            case "cumsum":
                over = args[0].dims[_int(node.attributes["dim"])]
                return Shaped(self.algebra.make("cumsum", args[0].term, over=over, kind=kind), args[0].dims)
            case "matmul":
                return self._matmul(args[0], args[1])
        if op in REDUCTIONS:
            return self._reduce(node, args[0], kind)
        if op in POINTWISE or op == "reciprocal":
            rank = max(len(arg.dims) for arg in args)
            dims: list[Dimension] = [[] for _ in range(rank)]
            for arg in args:
                for place, dim in enumerate(arg.dims, start=rank - len(arg.dims)):
                    dims[place] = unify(dims[place], dim)
            return Shaped(self.algebra.make(op, *(arg.term for arg in args), kind=kind), dims)
        raise Unsupported(f"operation {op}")

    def _reduce(self, node: Node, arg: Shaped, kind: str) -> Shaped:
        reduced = _ints(node.attributes["dims"])
        over = [atom for d in reduced for atom in arg.dims[d]]
        if not over or not frozenset(leaves(over)) <= arg.term.atoms or any(not arg.dims[d] for d in reduced):
            raise Unsupported("a reduction over a dimension of extent 1 or a broadcast one")
        keepdim = bool(node.attributes.get("keepdim", False))
        dims: list[Dimension] = [
            [] if d in reduced else dim for d, dim in enumerate(arg.dims) if keepdim or d not in reduced
        ]
        return Shaped(self.algebra.make(node.op, arg.term, over=over, kind=kind), dims)

    def _matmul(self, a: Shaped, b: Shaped) -> Shaped:
        k = unify(a.dims[-1], b.dims[-2])
        batch = [unify(x, y) for x, y in zip(a.dims[:-2], b.dims[:-2], strict=True)]
        if not k or set(leaves(a.dims[-2])) & set(leaves(b.dims[-1])):
            raise Unsupported("a product of a matrix with itself, or one without a common dimension")
        return Shaped(self.algebra.make("matmul", a.term, b.term, over=k), [*batch, a.dims[-2], b.dims[-1]])

    def _slice(self, arg: Shaped, start: Shaped, dim: int, shape: Sequence[Monomial]) -> Shaped:
        term = arg.term
        if term.op != "input" or [list(d) for d in term.index] != arg.dims:
            raise Unsupported("a slice of a computed value")
        begin = start.term.extent if start.term.op == "extent" else Monomial.parse(int(start.term.value))
        key = (str(term.value), dim, begin, shape[dim])
        if key in self.slices:
            return self.slices[key]
        index, starts = list(term.index), list(term.starts)
        index[dim], starts[dim] = tuple(dimension(shape[dim])), begin
        piece = Term("input", value=term.value, index=tuple(index), starts=tuple(starts), kind=term.kind)
        return self.slices.setdefault(key, Shaped(piece, [list(d) for d in index]))

    def _gather(self, arg: Shaped, index: Shaped, dim: int) -> Shaped:
        if index.dims[dim]:
            raise Unsupported("a gather of more than one element a row")
        others = [unify(x, y) if d != dim else [] for d, (x, y) in enumerate(zip(arg.dims, index.dims, strict=True))]
        return Shaped(self._pick(arg.term, index.term, tuple(arg.dims[dim])), others)

    def _pick(self, term: Term, index: Term, over: tuple[Atom, ...]) -> Term:
        """The gather of a pointwise term is the pointwise term of gathers: only single elements are read."""
        if not term.atoms & frozenset(leaves(over)):
            return term
        if term.op == "input":
            return self.algebra.make("gather", term, index, over=over, kind=term.kind)
        if term.op in POINTWISE:
            return self.algebra.make(term.op, *(self._pick(arg, index, over) for arg in term.args), kind=term.kind)
        raise Unsupported(f"a gather from the result of {term.op}")


def _int(attribute: object) -> int:
    assert isinstance(attribute, int)
    return attribute


def _ints(attribute: object) -> tuple[int, ...]:
    assert isinstance(attribute, tuple | list)
    return tuple(attribute)
