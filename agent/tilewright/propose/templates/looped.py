"""Kernels that walk one long row in blocks: one pass a level of reductions, then one that writes."""

from __future__ import annotations

from collections.abc import Sequence

from .body import LEAVES, NEUTRAL, Body
from .express import Writer, literal
from .extents import Unsupported
from .frame import Frame
from .nan import drops_nan
from .rows import kernel_names, pointer_names
from .source import Kernel
from .stages import Stage
from .terms import REDUCTIONS, Term, walk

EXTREMES = {"amax": "maximum", "amin": "minimum"}
MASKS = {"tile": "inside", "row": "", "col": "inside", "scalar": ""}


def levels_of(roots: Sequence[Term]) -> list[list[Term]]:
    """The reductions, by how many reductions stand below each."""
    depth: dict[int, int] = {}
    levels: list[list[Term]] = []
    for term in walk(roots):
        below = max((depth[id(arg)] for arg in term.args), default=0)
        if term.op in REDUCTIONS:
            if any(t.op == "cumsum" for t in walk(term.args)):
                raise Unsupported("a reduction of a scan, over a row in blocks")
            if below == len(levels):
                levels.append([])
            levels[below].append(term)
            below += 1
        depth[id(term)] = below
    return levels


def online_pair(levels: list[list[Term]], roots: Sequence[Term]) -> tuple[Term, Term, Term] | None:
    """(max, sum of exponentials, shift) where one pass can find both, rescaling the sum when the maximum moves."""
    if len(levels) < 2 or len(levels[0]) != 1 or len(levels[1]) != 1:
        return None
    (extreme,), (total,) = levels[0], levels[1]
    exponent = total.args[0].args[0] if total.args[0].op == "exp" else None
    if extreme.op != "amax" or total.op not in ("sum", "mean") or exponent is None or exponent.op != "sub":
        return None
    value, shift = exponent.args
    guarded = shift.op == "where" and shift.args[0].op == "isinf" and shift.args[0].args[0] is extreme
    plain = shift is extreme
    if (
        value is not extreme.args[0]
        or not (plain or (guarded and shift.args[2] is extreme))
        or drops_nan(extreme, roots)
    ):
        return None
    return extreme, total, shift


class Loops:
    """Writes the passes of one row."""

    def __init__(self, stage: Stage, frame: Frame, *, online: bool) -> None:
        self.stage, self.frame = stage, frame
        self.writer = Writer(frame, kernel_names(stage, frame, "carry", "new_max", "block_sum"))
        self.body = Body(self.writer, stage.outputs, MASKS)
        self.lines: list[str] = []
        self.n_cols = frame.group(frame.n_cols)
        levels = levels_of(self.body.roots)
        pair = online_pair(levels, self.body.roots) if online else None
        if online and pair is None:
            raise Unsupported("no maximum and sum of exponentials to find in one pass")
        if pair:
            self._online(*pair)
            levels = levels[2:]
        for level in levels:
            self._reduce(level)
        self._write()

    def _hoist(self, roots: Sequence[Term]) -> None:
        """Write, before a loop, what the loop reads and does not change: values of the whole row."""
        kinds = {id(t): self.frame.kind(t) for t in walk(roots)}
        for term in walk(roots):
            if kinds[id(term)] in ("tile", "col"):
                ready = [a for a in term.args if kinds[id(a)] in ("row", "scalar") and a.op not in LEAVES]
                self._known(ready)
        self._known([t for t in roots if kinds[id(t)] in ("row", "scalar") and t.op not in LEAVES])

    def _known(self, terms: Sequence[Term]) -> None:
        self.body.compute(terms)
        for term in terms:
            if id(term) not in self.writer.known:
                text = self.writer.expression(term)
                self.body.lines.append(f"{self.writer.name(term)} = {text}")
        self._take()

    def _take(self, indent: str = "") -> None:
        self.lines += [indent + line for line in self.body.lines]
        self.body.lines = []

    def _loop(self) -> None:
        self.lines.append(f"for start in range(0, {self.n_cols}, BLOCK):")
        self.lines += ["    col = start + tl.arange(0, BLOCK)", f"    inside = col < {self.n_cols}"]

    def _reduce(self, level: Sequence[Term]) -> None:
        self._hoist([t.args[0] for t in level])
        accumulators = {id(t): self.writer.name(t) for t in level}
        for term in level:
            dtype = "tl.int32" if term.kind == "int" else "tl.float32"
            zero = f"tl.zeros((BLOCK,), {dtype})"
            if term.op in ("amax", "amin"):
                zero = f"tl.full((BLOCK,), {literal(NEUTRAL[term.op])}, {dtype})"
            self.lines.append(f"{accumulators[id(term)]} = {zero}")
            del self.writer.known[id(term)]
        self._loop()
        before = dict(self.writer.known)
        for term in level:
            self.body.compute(term.args)
            self.body.lines.append(self._accumulate(term, accumulators[id(term)]))
        self._take("    ")
        self.writer.known = before
        for term in level:
            self.lines.append(f"{self.writer.name(term)} = {self.body.collapse(term, accumulators[id(term)])}")

    def _accumulate(self, term: Term, name: str) -> str:
        text = self.body.neutral_argument(term)
        if term.op in ("sum", "mean"):
            return f"{name} += {text}"
        carry = ", propagate_nan=tl.PropagateNan.ALL" if drops_nan(term, self.body.roots) else ""
        return f"{name} = tl.{EXTREMES[term.op]}({name}, {text}{carry})"

    def _online(self, extreme: Term, total: Term, shift: Term) -> None:
        self._hoist([extreme.args[0]])
        peak, amount = self.writer.name(extreme), self.writer.name(total)
        if total.op == "mean":
            amount = self.writer.names.give("row_sum")
        del self.writer.known[id(extreme)], self.writer.known[id(total)]
        self.lines += [f'{peak} = float("-inf")', f"{amount} = 0.0"]
        self._loop()
        before = dict(self.writer.known)
        self.body.compute(extreme.args)
        x = self.writer.expression(extreme.args[0])
        masked = self.body.neutral_argument(extreme)
        unbounded = 'tl.abs(new_max) == float("inf")' if shift is not extreme else 'new_max == float("-inf")'
        self.body.lines += [
            f"new_max = tl.maximum({peak}, tl.max({masked}, axis=0))",
            "# A row of -inf so far has no finite maximum to subtract.",
            f"shift = tl.where({unbounded}, 0.0, new_max)",
            f"block_sum = tl.sum({self._exponential(x, masked)}, axis=0)",
            f"{amount} = {amount} * tl.exp({peak} - shift) + block_sum",
            f"{peak} = new_max",
        ]
        self._take("    ")
        self.writer.known = before
        self.writer.name(extreme), self.writer.name(total)
        if shift is extreme:
            self.lines.append("# Where every element is -inf, -inf - max is NaN.")
            self.lines.append(f'{amount} = tl.where({peak} == float("-inf"), float("nan"), {amount})')
        if total.op == "mean":
            self.lines.append(f"{self.writer.known[id(total)]} = {amount} / {self.n_cols}")

    @staticmethod
    def _exponential(x: str, masked: str) -> str:
        return f"tl.exp({x} - shift)" if x == masked else f"tl.where(inside, tl.exp({x} - shift), 0.0)"

    def _write(self) -> None:
        tiles = [o for o in self.stage.outputs if self.frame.kind(o.term) == "tile"]
        rest = [o for o in self.stage.outputs if self.frame.kind(o.term) != "tile"]
        if any(self.frame.kind(o.term) == "col" for o in rest):
            raise Unsupported("an output of columns alone beside reductions")
        if tiles:
            roots = [o.term for o in tiles]
            self._hoist(roots)
            scans = [t for t in walk(roots) if t.op == "cumsum"]
            if len(scans) > 1:
                raise Unsupported("more than one scan, over a row in blocks")
            if scans:
                self.lines.append("carry = 0.0")
            self._loop()
            before = dict(self.writer.known)
            self.body.compute(roots, self._scan)
            for output in tiles:
                self.body.store(output, "inside")
            self._take("    ")
            self.writer.known = before
        self.body.compute([o.term for o in rest])
        for output in rest:
            self.body.store(output, "")
        self._take()

    def _scan(self, term: Term) -> str:
        text = self.body.neutral_argument(term)
        if not text.isidentifier():
            self.body.lines.append(f"addend = {text}")
            text = "addend"
        prefix = self.writer.name(term)
        self.body.lines += [f"{prefix} = carry + tl.cumsum({text}, axis=0)", f"carry += tl.sum({text}, axis=0)"]
        return prefix


def looped_kernel(name: str, summary: str, stage: Stage, frame: Frame, *, online: bool = False) -> Kernel:
    """One program walks one row in blocks of BLOCK columns."""
    loops = Loops(stage, frame, online=online)
    start = []
    if frame.rows:
        start.append("row = tl.program_id(0)" + (".to(tl.int64)" if frame.wide else ""))
    n_rows = frame.n_rows.text(frame.names)
    return Kernel(
        name, summary, pointer_names(stage, frame), loops.writer, ["BLOCK"], start + loops.lines, grid=f"({n_rows},)"
    )
