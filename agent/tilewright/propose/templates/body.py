"""Lines of a kernel that hold whole rows (or a tile) at once: loads, values, reductions, stores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .express import Writer, count_uses, literal, pad_value
from .nan import drops_nan
from .source import as_stored
from .terms import REDUCTIONS, Output, Term, walk

LEAVES = {"literal", "scalar", "extent"}
NEUTRAL = {"sum": 0.0, "mean": 0.0, "amax": -math.inf, "amin": math.inf, "cumsum": 0.0}


class Body:
    """Writes values in dependency order. `masks` gives the mask of a load by its kind: tile, row, col, scalar."""

    def __init__(
        self,
        writer: Writer,
        outputs: Sequence[Output],
        masks: Mapping[str, str],
        axis: int = 0,
        keep_dims: bool = False,
    ) -> None:
        self.writer, self.masks, self.axis, self.keep_dims = writer, masks, axis, keep_dims
        self.roots = [output.term for output in outputs]
        writer.wanted |= {id(o.term): o.name for o in outputs if not o.term.is_load}
        self.pads = self._choose_pads()
        self.lines: list[str] = []

    def _choose_pads(self) -> dict[int, float]:
        """Masked lanes load what leaves the first reduction that reads them unchanged."""
        pads = {id(t): 0.0 for t in walk(self.roots) if t.is_load and self.writer.frame.kind(t) in ("tile", "col")}
        for term in walk(self.roots):
            if term.op in ("amin", "amax") and id(term.args[0]) in pads:
                pads[id(term.args[0])] = NEUTRAL[term.op]
        return pads

    def compute(self, roots: Sequence[Term], reduce: Callable[[Term], str] | None = None) -> None:
        """Name and write every value below the roots that is loaded, reduced or read twice, and is not yet known."""
        known = frozenset(self.writer.known)
        uses = count_uses(roots, known)
        for term in walk(roots, known):
            if term.op in LEAVES:
                continue
            if term.is_load:
                mask = self.masks[self.writer.frame.kind(term)]
                offset = self.writer.offset(term)
                if "//" in offset and "+" in offset:
                    name = self.writer.index_name(offset)
                    line = f"{name} = {offset}"
                    if line not in self.lines:
                        self.lines.append(line)
                    offset = name
                text = self.writer.load(term, offset, mask, self.pads.get(id(term), 0.0))
            elif term.op in REDUCTIONS or term.op == "cumsum":
                text = (reduce or self.reduction)(term)
            elif uses[id(term)] > 1:
                text = self.writer.expression(term)
            else:
                continue
            name = self.writer.name(term)
            if name != text:
                self.lines.append(f"{name} = {text}")

    def neutral_argument(self, term: Term) -> str:
        """The argument of a reduction or scan with its masked lanes made neutral."""
        arg = term.args[0]
        text = self.writer.expression(arg)
        if arg.kind == "bool":
            text = f"{self.writer.expression(arg, 40)}.to(tl.int32)"
        neutral = NEUTRAL[term.op]
        if self.masks["tile"] and pad_value(arg, self.pads) != neutral:
            return f"tl.where({self.masks['tile']}, {text}, {literal(neutral if arg.kind == 'float' else 0)})"
        return text

    def collapse(self, term: Term, text: str) -> str:
        """The reduction of an expression along the kernel's columns."""
        along = f"axis={self.axis}" + (", keep_dims=True" if self.keep_dims else "")
        if term.op == "cumsum":
            return f"tl.cumsum({text}, axis={self.axis})"
        if term.op in ("amax", "amin"):
            name = term.op.removeprefix("a")
            if not drops_nan(term, self.roots):
                return f"tl.{name}({text}, {along})"
            self.writer.helpers.add(f"{name}_or_nan")
            return f"tl.reduce({text}, combine_fn={name}_or_nan, {along})"
        total = f"tl.sum({text}, {along})"
        return total if term.op == "sum" else f"{total} / {self.writer.frame.group(self.writer.frame.n_cols)}"

    def reduction(self, term: Term) -> str:
        return self.collapse(term, self.neutral_argument(term))

    def store(self, output: Output, mask: str) -> None:
        """Write one output, converted to the element type of its tensor."""
        frame = self.writer.frame
        text = self.writer.expression(output.term)
        if not text.isidentifier():
            name = self.writer.name(output.term)
            self.lines.append(f"{name} = {text}")
            text = name
        offset = frame.offset(as_stored(output))
        place = f"{output.name}_ptr" if offset == "0" else f"{output.name}_ptr + {offset}"
        masked = f", mask={mask}" if mask else ""
        self.lines.append(f"tl.store({place}, {text}.to({output.name}_ptr.dtype.element_ty){masked})")
