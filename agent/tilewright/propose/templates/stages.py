"""Cuts a graph into kernels: first the reductions along rows, then those over what is left of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .atoms import Atom, leaves
from .extents import Unsupported
from .terms import REDUCTIONS, Algebra, Output, Term, walk


@dataclass(frozen=True)
class Stage:
    """One pass over an index space: all its reductions run over `cols`."""

    cols: frozenset[Atom]
    outputs: tuple[Output, ...]
    workspaces: tuple[str, ...] = ()
    """Names of the outputs that a later stage reads."""


def reductions(roots: Sequence[Term]) -> list[Term]:
    return [t for t in walk(roots) if t.op in REDUCTIONS or t.op in ("cumsum", "gather")]


def cut(outputs: Sequence[Output], algebra: Algebra) -> list[Stage]:
    """One stage, or two where the reduction of row results follows (the mean of a loss)."""
    outputs = [Output(o.name, _nest(o.term, algebra, {}), o.dims) for o in outputs]
    found = reductions([o.term for o in outputs])
    if not found:
        raise Unsupported("nothing is reduced")
    cols = frozenset(leaves(found[0].over))
    later = [t for t in found if frozenset(leaves(t.over)) != cols]
    if not later:
        return [Stage(cols, tuple(outputs))]
    if any(cols & t.atoms or cols & frozenset(leaves(t.over)) for t in later):
        raise Unsupported("reductions over different dimensions of one value")
    crossing = _crossing(later, cols)
    if not crossing or any(t.atoms != frozenset(leaves(later[0].over)) for t in crossing):
        raise Unsupported("a second reduction over other dimensions than those of the rows")
    if any(frozenset(leaves(t.over)) != frozenset(leaves(later[0].over)) for t in later):
        raise Unsupported("more than two stages of reduction")
    names = [f"row_{outputs[0].name}"] if len(crossing) == 1 else [f"row_part_{i}" for i in range(len(crossing))]
    dims = (tuple(leaves(later[0].over)),)
    first = Stage(cols, tuple(Output(n, t, dims) for n, t in zip(names, crossing, strict=True)), tuple(names))
    replaced: dict[int, Term] = {
        id(t): Term("workspace", value=name, index=dims, starts=(None,))
        for name, t in zip(names, crossing, strict=True)
    }
    rest = tuple(Output(o.name, substitute(o.term, replaced, algebra), o.dims) for o in outputs)
    if any(cols & t.atoms for o in rest for t in walk([o.term])):
        raise Unsupported("a value of each element depends on a total over all rows")
    return [first, Stage(frozenset(leaves(later[0].over)), rest)]


def _nest(term: Term, algebra: Algebra, memo: dict[int, Term]) -> Term:
    """A reduction over two dimensions as one over the last, then one over the first: the order of two kernels."""
    if id(term) in memo:
        return memo[id(term)]
    if term.args:
        args = tuple(_nest(arg, algebra, memo) for arg in term.args)
        over = leaves(term.over)
        whole = term.op in REDUCTIONS and len(over) > 1 and not term.atoms
        if whole:
            inner = algebra.make(term.op, *args, over=over[-1:], kind=term.kind)
            made = algebra.make(term.op, inner, over=over[:-1], kind=term.kind)
        elif all(a is b for a, b in zip(args, term.args, strict=True)):
            made = term
        else:
            made = algebra.make(term.op, *args, value=term.value, over=over, kind=term.kind)
    else:
        made = term
    memo[id(term)] = made
    return made


def _crossing(later: Sequence[Term], cols: frozenset[Atom]) -> list[Term]:
    """The largest terms below the later reductions that need a reduction over `cols` and vary over rows alone."""

    def needs(term: Term) -> bool:
        return any(frozenset(leaves(t.over)) == cols for t in reductions([term]))

    found: dict[int, Term] = {}
    for term in later:
        waiting = list(term.args)
        while waiting:
            arg = waiting.pop()
            if needs(arg) and not any(t in later for t in walk([arg])):
                found[id(arg)] = arg
            elif needs(arg):
                waiting += arg.args
    return list(found.values())


def substitute(term: Term, replaced: dict[int, Term], algebra: Algebra) -> Term:
    if id(term) in replaced:
        return replaced[id(term)]
    if not term.args:
        return term
    args = tuple(substitute(arg, replaced, algebra) for arg in term.args)
    if all(a is b for a, b in zip(args, term.args, strict=True)):
        return term
    return algebra.make(term.op, *args, value=term.value, over=term.over, kind=term.kind)
