"""Atoms: the smallest dimensions such that every reshape of a graph only groups them.

GroupNorm sees `channels` once whole (the affine weights) and once as groups × members (the statistics); its atoms are
batch, groups, members and spatial. A dimension of a value is a list of atoms, outermost first; an extent of 1 has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .extents import Monomial, Unsupported, product

Dimension = list["Atom"]


class Atom:
    """One index. Two atoms found to be the same index are merged; one found to be a pair of indices is split."""

    def __init__(self, extent: Monomial) -> None:
        self.extent = extent
        self._parts: list[Atom] | None = None
        self._same: Atom | None = None

    def leaves(self) -> list[Atom]:
        if self._same is not None:
            return self._same.leaves()
        if self._parts is None:
            return [self]
        return [leaf for part in self._parts for leaf in part.leaves()]

    def split(self, outer: Monomial, inner: Monomial) -> list[Atom]:
        self._parts = [Atom(outer), Atom(inner)]
        return self._parts

    def merge(self, other: Atom) -> None:
        other._same = self


def leaves(atoms: Iterable[Atom]) -> list[Atom]:
    return [leaf for atom in atoms for leaf in atom.leaves()]


def dimension(extent: Monomial) -> Dimension:
    return [] if extent.is_one else [Atom(extent)]


def unify(a: Dimension, b: Dimension) -> Dimension:
    """The common dimension of two operands; one without atoms is broadcast."""
    if not a or not b:
        return a or b
    left, right = leaves(a), leaves(b)
    while left and right:
        x, y = left[0], right[0]
        if x is y:
            left.pop(0), right.pop(0)
        elif x.extent == y.extent:
            x.merge(y)
            left.pop(0), right.pop(0)
        elif rest := x.extent.over(y.extent):
            left[0:1] = x.split(y.extent, rest)
        elif rest := y.extent.over(x.extent):
            right[0:1] = y.split(x.extent, rest)
        else:
            raise Unsupported(f"dimensions {x.extent.text()} and {y.extent.text()} do not line up")
    if left or right:
        raise Unsupported("two dimensions of different extents")
    return a


def regroup(dims: Sequence[Dimension], shape: Sequence[Monomial]) -> list[Dimension]:
    """The dimensions of a reshape to `shape`."""
    waiting = [leaf for dim in dims for leaf in leaves(dim)]
    grouped: list[Dimension] = []
    for extent in shape:
        group: Dimension = []
        missing = extent
        while not missing.is_one:
            if not waiting:
                raise Unsupported("a reshape of a broadcast value")
            atom = waiting.pop(0)
            if rest := missing.over(atom.extent):
                group.append(atom)
                missing = rest
            elif rest := atom.extent.over(missing):
                outer, inner = atom.split(missing, rest)
                group.append(outer)
                waiting.insert(0, inner)
                missing = Monomial()
            else:
                raise Unsupported(f"a reshape that cuts {atom.extent.text()} into {missing.text()}")
        grouped.append(group)
    if waiting:
        raise Unsupported("a reshape that loses elements")
    return grouped


def extent_of(atoms: Iterable[Atom]) -> Monomial:
    return product([atom.extent for atom in leaves(atoms)])
