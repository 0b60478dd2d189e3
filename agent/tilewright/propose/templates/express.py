"""Terms as Triton expressions, named for the mathematics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence

from .extents import Unsupported
from .frame import Frame
from .terms import REDUCTIONS, Term, walk

INFIX = {"add": ("+", 10), "sub": ("-", 10), "mul": ("*", 20), "div": ("/", 20)}
COMPARE = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "logical_and": "&", "logical_or": "|"}
CALLS = {
    "abs": "tl.abs", "ceil": "tl.ceil", "cos": "tl.cos", "erf": "tl.erf", "exp": "tl.exp", "exp2": "tl.exp2",
    "expm1": "expm1", "floor": "tl.floor", "log": "tl.log", "log1p": "log1p", "log2": "tl.log2", "rsqrt": "tl.rsqrt",
    "sigmoid": "tl.sigmoid", "sin": "tl.sin", "sqrt": "tl.sqrt", "tanh": "tanh", "where": "tl.where",
}  # fmt: skip
CLAMPS = {"clamp_min": "<", "clamp_max": ">"}
ATOM, UNARY, PRODUCT = 40, 30, 20

RESERVED = frozenset(
    [
        "torch",
        "triton",
        "tl",
        "float",
        "range",
        "min",
        "max",
        "row",
        "col",
        "k",
        "i",
        "matrix",
        "inside",
        "start",
        "carry",
        "addend",
        "new_max",
        "shift",
        "block_sum",
        "tile",
        "turn",
        "part",
        "span",
        "place",
        "end",
        "in_k",
        "a_at",
        "b_at",
        "tiles_m",
        "tiles_n",
        "tile_m",
        "tile_n",
        "in_band",
        "first",
        "height",
        "rows_held",
        "partial",
        "n_rows",
        "n_cols",
        "n_inner",
        "n_elements",
        "BLOCK",
        "ROWS",
        "BLOCK_M",
        "BLOCK_N",
        "BLOCK_K",
        "GROUP_M",
        "SPLIT_K",
        "PROGRAMS",
        "num_warps",
        "num_stages",
    ]
)
"""Names that the forms give themselves, in kernels and in `run`."""
RESERVED_IN_RUN = frozenset(name for name in RESERVED if name.isupper()) | {
    "torch", "triton", "rows_held", "partial", "num_warps", "num_stages",
}  # fmt: skip

HELPERS = {
    "tanh": '''@triton.jit
def tanh(x):
    """Odd Taylor series near zero, where 1 - exp(-2|x|) would cancel."""
    decay = tl.exp(-2.0 * tl.abs(x))
    far = tl.where(x < 0.0, -1.0, 1.0) * (1.0 - decay) / (1.0 + decay)
    square = x * x
    near = x * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 + square * (-17.0 / 315.0))))
    return tl.where(square < 0.0225, near, far)''',
    "log1p": '''@triton.jit
def log1p(x):
    """log(1 + x); the quotient undoes the rounding of 1 + x."""
    u = 1.0 + x
    return tl.where((u == 1.0) | (u == float("inf")), x, tl.log(u) * (x / (u - 1.0)))''',
    "expm1": '''@triton.jit
def expm1(x):
    """exp(x) - 1; the quotient undoes the rounding of exp(x) near 1."""
    u = tl.exp(x)
    near = (u - 1.0) * (x / tl.log(u))
    return tl.where(u == 1.0, x, tl.where(tl.abs(x) < 1.0, near, u - 1.0))''',
    "max_or_nan": '''@triton.jit
def max_or_nan(a, b):
    """The maximum, or NaN where either is NaN, as torch.amax has it."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)''',
    "min_or_nan": '''@triton.jit
def min_or_nan(a, b):
    """The minimum, or NaN where either is NaN, as torch.amin has it."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)''',
}


class Names:
    """Gives each value of a kernel a name of its own."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *RESERVED}

    def give(self, wanted: str) -> str:
        name, count = wanted, 2
        while name in self._taken:
            name, count = f"{wanted}_{count}", count + 1
        self._taken.add(name)
        return name


def name_of(term: Term) -> str:
    """What a mathematician would call the value."""
    arg = term.args[0] if term.args else term
    match term.op:
        case "input" | "workspace":
            return str(term.value)
        case "gather":
            return f"picked_{term.args[0].value}"
        case "amax":
            return "row_max"
        case "amin":
            return "row_min"
        case "sum" | "mean" if arg.op == "mul" and arg.args[0] is arg.args[1]:
            if arg.args[0].op == "sub" and arg.args[0].args[1].op == "mean":
                return "variance" if term.op == "mean" else "squared_deviations"
            return "mean_square" if term.op == "mean" else "sum_of_squares"
        case "sum":
            return "row_sum"
        case "mean":
            return "row_mean"
        case "sub" if term.args[1].op == "mean":
            return "centred"
        case "sub" if term.args[1].op == "amax":
            return "shifted"
        case "where" if any(a.op == "amax" for a in term.args):
            return "finite_max"
        case "where" if term.kind == "int":
            return "index"
        case "exp":
            return "numerator"
        case "log":
            return "log_" + name_of(arg)
        case "rsqrt":
            return "inv_std" if any(name_of(a) == "variance" for a in walk([arg]) if a.args) else "inv_rms"
    return {
        "cumsum": "prefix", "accumulator": "product", "sigmoid": "gate", "add": "total", "mul": "scaled",
        "sub": "difference",
        "div": "ratio", "eq": "condition", "ne": "condition", "gt": "condition", "lt": "condition", "ge": "condition",
        "le": "condition", "sqrt": "root", "where": "chosen",
    }.get(term.op, term.op)  # fmt: skip


class Writer:
    """Writes the values of one kernel, line by line. `known` maps terms already computed to their names."""

    def __init__(self, frame: Frame, names: Names) -> None:
        self.frame, self.names = frame, names
        self.known: dict[int, str] = {}
        self.wanted: dict[int, str] = {}
        """Names that outputs ask for."""
        self._given: dict[int, str] = {}
        self._indices: dict[str, str] = {}
        self.helpers: set[str] = set()
        self.scalars: dict[str, None] = {}

    def expression(self, term: Term, binding: int = 0) -> str:
        """The term as text, in parentheses if it binds less tightly than `binding`."""
        if name := self.known.get(id(term)):
            return name
        text, tightness = self._build(term)
        return f"({text})" if tightness < binding else text

    def _build(self, term: Term) -> tuple[str, int]:
        op, args = term.op, term.args
        if op == "literal":
            return literal(term.value), ATOM
        if op == "scalar":
            self.scalars[str(term.value)] = None
            return str(term.value), ATOM
        if op == "extent":
            return self.frame.text(term.extent), PRODUCT
        if op in INFIX:
            sign, tightness = INFIX[op]
            right = tightness + 1 if op in ("sub", "div") or args[1].op in ("div", "mul") else tightness
            return f"{self.expression(args[0], tightness)} {sign} {self.expression(args[1], right)}", tightness
        if op in COMPARE:
            return f"{self.expression(args[0], 6)} {COMPARE[op]} {self.expression(args[1], 6)}", 5
        if op == "neg":
            return f"-{self.expression(args[0], UNARY)}", 15
        if op == "logical_not":
            return f"{self.expression(args[0], ATOM)} == 0", 5
        if op in CALLS:
            if CALLS[op] in HELPERS:
                self.helpers.add(CALLS[op])
            if op == "where" and term.kind == "float":
                args = (args[0], *(Term("literal", value=float(a.value)) if a.op == "literal" else a for a in args[1:]))
            return f"{CALLS[op]}({', '.join(self.expression(arg) for arg in args)})", ATOM
        if op in CLAMPS:
            x, bound = self.expression(args[0]), self.expression(args[1])
            return (
                f"tl.where({self.expression(args[0], 6)} {CLAMPS[op]} {self.expression(args[1], 6)}, {bound}, {x})",
                ATOM,
            )
        if op in ("maximum", "minimum"):
            return (
                f"tl.{op}({self.expression(args[0])}, {self.expression(args[1])}, propagate_nan=tl.PropagateNan.ALL)",
                ATOM,
            )
        if op == "isinf":
            return f'tl.abs({self.expression(args[0])}) == float("inf")', 5
        if op == "isnan":
            return f"{self.expression(args[0], 6)} != {self.expression(args[0], 6)}", 5
        if op == "cast":
            target = {"float": "tl.float32", "int": "tl.int32", "bool": "tl.int1"}[term.kind]
            return f"{self.expression(args[0], ATOM)}.to({target})", ATOM
        raise Unsupported(f"operation {op} inside a kernel")

    def offset(self, term: Term) -> str:
        """Where a load reads, in elements: an input's own place, or the place that a `gather` picks."""
        source = term.args[0] if term.op == "gather" else term
        picked = {}
        if term.op == "gather":
            (atom,) = [leaf for a in term.over for leaf in a.leaves()]
            picked = {atom: self.expression(term.args[1], ATOM)}
        return self.frame.offset(source, picked)

    def index_name(self, offset: str) -> str:
        """The name of an index that is long enough to have one."""
        if offset not in self._indices:
            self._indices[offset] = self.names.give("index")
        return self._indices[offset]

    def load(self, term: Term, offset: str, mask: str, pad: float) -> str:
        """The expression that loads an input or workspace at an offset, in float32 if it is a float."""
        source = term.args[0] if term.op == "gather" else term
        pointer = f"{source.value}_ptr"
        place = pointer if offset == "0" else f"{pointer} + {offset}"
        masked = f", mask={mask}, other={literal(pad if term.kind == 'float' else 0)}" if mask else ""
        convert = {"float": ".to(tl.float32)", "int": "", "bool": " != 0"}[term.kind]
        return f"tl.load({place}{masked}){convert}"

    def name(self, term: Term) -> str:
        """The term's name in this kernel, from now on known; the same each time it is computed anew."""
        if id(term) not in self._given:
            self._given[id(term)] = self.names.give(self.wanted.get(id(term)) or name_of(term))
        self.known[id(term)] = self._given[id(term)]
        return self.known[id(term)]


def literal(value: float | int | bool | str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def count_uses(roots: Sequence[Term], known: Container[int]) -> Counter[int]:
    """How often each term is read where `known` ones are not computed again; a repeated operand counts twice."""
    uses: Counter[int] = Counter(id(root) for root in roots)
    for term in walk(roots, known):
        for arg in term.args:
            uses[id(arg)] += 2 if term.op in ("isnan", *CLAMPS) or (term.op == "gather" and arg is term.args[1]) else 1
    return uses


def pad_value(term: Term, pads: dict[int, float]) -> float | None:
    """What the term is in a masked lane, given the pads of the loads; None if unknown."""
    if id(term) in pads:
        return pads[id(term)]
    if term.op == "literal":
        return float(term.value)
    known = [pad_value(arg, pads) for arg in term.args]
    if not known or term.op in REDUCTIONS:
        return None
    a, b = known[0], known[1] if len(known) > 1 else None
    if term.op in ("sub", "add") and a is not None and (b is not None or math.isinf(a)):
        return a if b is None or math.isinf(a) else a - b if term.op == "sub" else a + b
    if term.op == "mul" and a is not None and b is not None and not (math.isinf(a) or math.isinf(b)):
        return a * b
    unary: dict[str, Callable[[float], float]] = {
        "exp": lambda v: math.exp(v) if v <= 0 else math.nan, "abs": abs, "neg": lambda v: -v, "cast": lambda v: v,
    }  # fmt: skip
    return unary[term.op](a) if term.op in unary and a is not None else None
