"""Where a maximum must carry NaN itself.

tl.max drops NaN, torch.amax does not. In softmax the sum of the row brings NaN back; in min-max scaling nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence

from .terms import REDUCTIONS, TRUTH, Term, walk


def drops_nan(extreme: Term, roots: Sequence[Term]) -> bool:
    """True where an output may depend on an amax or amin over a row with NaN and yet not become NaN by another path."""
    terms = list(walk(roots))
    users: dict[int, list[Term]] = {}
    for term in terms:
        for arg in term.args:
            users.setdefault(id(arg), []).append(term)
    carrying: set[int] = {id(extreme.args[0])}
    poisoned: set[int] = set()
    for term in terms:
        summed = term.op in ("sum", "mean") and set(term.over) == set(extreme.over)
        if (summed and id(term.args[0]) in carrying) or _through(term, poisoned):
            poisoned.add(id(term))
        elif term.op not in REDUCTIONS and _through(term, carrying):
            carrying.add(id(term))
    outputs = {id(root) for root in roots}
    waiting, seen = [extreme], set[int]()
    while waiting:
        term = waiting.pop()
        if id(term) in poisoned or id(term) in seen:
            continue
        if id(term) in outputs:
            return True
        seen.add(id(term))
        waiting += users.get(id(term), [])
    return False


def _through(term: Term, tainted: set[int]) -> bool:
    """Whether NaN in a tainted argument always reaches the term."""
    if term.op in TRUTH or term.op == "gather":
        return False
    if term.op == "where":
        return id(term.args[1]) in tainted and id(term.args[2]) in tainted
    return any(id(arg) in tainted for arg in term.args)
