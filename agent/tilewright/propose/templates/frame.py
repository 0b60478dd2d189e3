"""A frame: the two-dimensional index space of one kernel, and where each tensor's elements lie in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .atoms import Atom, extent_of, leaves
from .extents import Monomial, Unsupported, product
from .terms import Term


@dataclass(frozen=True)
class Strides:
    """How the dimensions of one tensor lie in memory: its full shape, and whether strides are kernel arguments."""

    shape: tuple[Monomial, ...]
    passed: bool = False

    def of(self, name: str, dim: int) -> tuple[Monomial, str]:
        """The stride of a dimension as a monomial times a kernel argument (empty where the tensor is contiguous)."""
        if self.passed:
            return Monomial(), f"{name}_stride_{dim}"
        return product(list(self.shape[dim + 1 :])), ""


@dataclass
class Frame:
    """Rows × columns. `row` and `col` are the names of the index variables in the kernel."""

    rows: tuple[Atom, ...]
    cols: tuple[Atom, ...]
    tensors: Mapping[str, Strides]
    batch: tuple[Atom, ...] = ()
    """Atoms that are fixed within a program; their linear index is the variable `matrix`."""
    row: str = "row"
    col: str = "col"
    counts: tuple[str, str] = ("n_rows", "n_cols")
    """Argument names of the two extents, where they are products and not axes."""
    wide: bool = False
    """Element offsets may pass 2³¹: the row index is 64-bit."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Axis → name of the kernel's argument, where they differ."""
    used: dict[str, Monomial] = field(default_factory=dict)
    """Extents that the kernel reads, by argument name, in order of first use."""
    strides: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Stride arguments that the kernel reads → (tensor, dimension)."""

    @property
    def n_rows(self) -> Monomial:
        return extent_of(self.rows)

    @property
    def n_cols(self) -> Monomial:
        return extent_of(self.cols)

    @property
    def batch_count(self) -> Monomial:
        return extent_of(self.batch)

    def text(self, extent: Monomial) -> str:
        """The extent as an expression over the kernel's arguments."""
        composite = extent.coefficient.denominator > 1 or len(extent.powers) > 1 or any(p > 1 for _, p in extent.powers)
        if composite or (extent.powers and extent.coefficient != 1):
            for count, name in ((self.n_cols, self.counts[1]), (self.n_rows, self.counts[0])):
                if extent == count:
                    self.used[name] = extent
                    return name
        for axis in extent.axes:
            self.used[self.names.get(axis, axis)] = Monomial.parse(axis)
        return extent.text(self.names)

    def group(self, extent: Monomial) -> str:
        text = self.text(extent)
        return f"({text})" if " " in text else text

    def kind(self, term: Term) -> str:
        """tile, row, col or scalar: over which of the two indices the term varies."""
        atoms = term.atoms
        by_row, by_col = bool(atoms & set(self.rows)), bool(atoms & set(self.cols))
        if atoms - set(self.rows) - set(self.cols) - set(self.batch):
            raise Unsupported("a value varies over an index that this kernel does not have")
        return {(True, True): "tile", (True, False): "row", (False, True): "col", (False, False): "scalar"}[
            by_row, by_col
        ]

    def offset(self, term: Term, picked: Mapping[Atom, str] | None = None) -> str:
        """Element offset of an input at (row, col); `picked` gives index expressions of further atoms."""
        assert isinstance(term.value, str)
        places = self._places(term)
        parts: list[str] = []
        for dim, start in enumerate(term.starts):
            if start is not None and start.coefficient:
                parts.append(self._times(self.text(start), *self.tensors[term.value].of(term.value, dim)))
        for atom, index in (picked or {}).items():
            parts.append(self._times(index, *places.pop(atom)))
        located = [*self._runs(self.batch, "matrix", places), *self._runs(self.rows, self.row, places)]
        located += self._runs(self.cols, self.col, places)
        return " + ".join([*located, *parts]) or "0"

    def step(self, term: Term, atoms: Sequence[Atom], by: str) -> str:
        """How far in memory the input moves when the joint index of `atoms` grows by `by`."""
        places = self._places(term)
        for outer, inner in pairwise(atoms):
            if places[outer] != (places[inner][0] * inner.extent, places[inner][1]):
                raise Unsupported("a dimension that is contracted and does not lie evenly in memory")
        return self._times(by, *places[atoms[-1]])

    def _places(self, term: Term) -> dict[Atom, tuple[Monomial, str]]:
        """The stride of each atom that indexes an input."""
        assert isinstance(term.value, str)
        places: dict[Atom, tuple[Monomial, str]] = {}
        for dim, atoms in enumerate(term.index):
            stride, symbol = self.tensors[term.value].of(term.value, dim)
            if symbol:
                self.strides[symbol] = (term.value, dim)
            for atom in reversed(leaves(atoms)):
                if atom in places:
                    raise Unsupported("a diagonal")
                places[atom] = (stride, symbol)
                stride = stride * atom.extent
        return places

    def _runs(self, order: Sequence[Atom], index: str, places: Mapping[Atom, tuple[Monomial, str]]) -> list[str]:
        found: list[str] = []
        start = 0
        while start < len(order):
            if order[start] not in places:
                start += 1
                continue
            end = start
            while end + 1 < len(order) and order[end + 1] in places:
                (outer, a), (inner, b) = places[order[end]], places[order[end + 1]]
                if a != b or outer != inner * order[end + 1].extent:
                    break
                end += 1
            text = index
            if not (below := extent_of(order[end + 1 :])).is_one:
                text = f"{text} // {self.group(below)}"
            if start > 0:
                text = f"{text} % {self.group(extent_of(order[start : end + 1]))}"
            found.append(self._times(text, *places[order[end]]))
            start = end + 1
        return found

    def _times(self, index: str, stride: Monomial, symbol: str) -> str:
        factors = [f for f in ("" if stride.is_one else self.group(stride), symbol) if f]
        if not factors:
            return index if "%" not in index and "//" not in index else f"({index})"
        return " * ".join([f"({index})" if "/" in index or "%" in index else index, *factors])
