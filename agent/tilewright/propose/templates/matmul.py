"""Matrix products with everything that follows fused into the epilogue: tiled, persistent, and split along K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright_sandbox.contract import Spec

from .atoms import Atom, leaves
from .body import Body
from .express import Writer
from .extents import Unsupported
from .frame import Frame, Strides
from .rows import kernel_names, pointer_names
from .source import Kernel
from .stages import Stage, substitute
from .terms import Algebra, Output, Term, walk

TILE_ORDER = [
    "# Tiles run down GROUP_M rows before the next column, so that the operands of a band stay in L2.",
    "in_band = tile % (GROUP_M * tiles_n)",
    "first = tile // (GROUP_M * tiles_n) * GROUP_M",
    "height = min(tiles_m - first, GROUP_M)",
    "tile_m = first + in_band % height",
    "tile_n = in_band // height",
]


@dataclass(frozen=True)
class Product:
    """The one contraction of a graph and the index spaces of its operands."""

    term: Term
    a: Term
    b: Term
    batch: tuple[Atom, ...]
    m: tuple[Atom, ...]
    n: tuple[Atom, ...]
    k: tuple[Atom, ...]


def find_product(outputs: Sequence[Output], spec: Spec) -> Product:
    """The graph's contraction, where it is one product of two inputs with pointwise work after it."""
    found = [t for t in walk([o.term for o in outputs]) if t.op == "matmul"]
    if len(found) != 1:
        raise Unsupported("more than one matrix product")
    (term,) = found
    a, b = term.args
    if a.op != "input" or b.op != "input":
        raise Unsupported("an operand of the product is computed")
    dtypes = {t.dtype for t in spec.tensor_inputs if t.name in (a.value, b.value)}
    if len(dtypes) != 1 or not dtypes <= {"float32", "float16", "bfloat16"}:
        raise Unsupported("a product of " + " and ".join(sorted(dtypes)))
    whole = next((o for o in outputs if {x for d in o.dims for x in leaves(d)} >= term.atoms), None)
    if whole is None or any(o.term.atoms != term.atoms for o in outputs):
        raise Unsupported("an output that is not of the product's shape")
    k = tuple(leaves(term.over))
    batch = a.atoms & b.atoms - set(k)
    order = [atom for dim in whole.dims for atom in leaves(dim)]
    m, n = a.atoms - set(k) - batch, b.atoms - set(k) - batch
    return Product(
        term, a, b,
        tuple(x for x in order if x in batch), tuple(x for x in order if x in m), tuple(x for x in order if x in n), k,
    )  # fmt: skip


class Tiles:
    """Writes the loop over K and the epilogue of one tile."""

    def __init__(
        self, product: Product, outputs: Sequence[Output], tensors: dict[str, Strides], names: dict[str, str], *,
        wide: bool, precision: str,
    ) -> None:  # fmt: skip
        self.product, self.precision = product, precision
        self.sum = Term("accumulator", index=(product.batch, product.m, product.n), starts=(None, None, None))
        algebra = Algebra()
        self.outputs = [replace(o, term=substitute(o.term, {id(product.term): self.sum}, algebra)) for o in outputs]
        self.frame = Frame(
            product.m, product.n, tensors, batch=product.batch, wide=wide, names=names, counts=("n_rows", "n_cols")
        )
        stage = Stage(frozenset(), tuple(self.outputs))
        operands = [str(product.a.value), str(product.b.value)]
        self.pointers = [*operands, *(p for p in pointer_names(stage, self.frame) if p not in operands)]
        self.writer = Writer(self.frame, kernel_names(stage, self.frame, "a", "b", "tile_m", "tile_n"))
        f = self.frame
        self.rows, self.cols = f.text(f.n_rows), f.text(f.n_cols)
        self.inner = Frame(product.k, (), tensors, names=names, counts=("n_inner", ""), used=f.used)
        self.depth = self.inner.text(self.inner.n_rows)
        self.masks = {"tile": "inside", "row": f"row < {self.rows}", "col": f"col < {self.cols}", "scalar": ""}

    def indices(self) -> list[str]:
        wide = ".to(tl.int64)" if self.frame.wide else ""
        program = f"tile_m{wide}" if wide else "tile_m"
        return [
            f"row = ({program} * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]",
            "col = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]",
        ]

    def accumulate(self, first: str = "0", last: str = "") -> list[str]:
        """`product` is the sum of a·b over k from `first` to `last`; by default over all of K."""
        f, p = self.frame, self.product
        left = replace(f, rows=p.m, cols=p.k, col="k[None, :]", used=f.used, strides=f.strides)
        right = replace(f, rows=p.k, cols=p.n, row="k[:, None]", used=f.used, strides=f.strides)
        name = self.writer.name(self.sum)
        wide = ".to(tl.int64)" if f.wide and first != "0" else ""
        k = "tl.arange(0, BLOCK_K)" if first == "0" else f"({first}){wide} + tl.arange(0, BLOCK_K)"
        depth = f"{last or self.depth} - start"
        lane = "k" if first == "0" else "tl.arange(0, BLOCK_K)"
        return [
            f"k = {k}",
            f"a_at = {p.a.value}_ptr + {left.offset(p.a)}",
            f"b_at = {p.b.value}_ptr + {right.offset(p.b)}",
            f"{name} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            f"for start in range({first}, {last or self.depth}, BLOCK_K):",
            f"    in_k = {lane} < {depth}",
            f"    a = tl.load(a_at, mask=(row < {self.rows}) & in_k[None, :], other=0.0)",
            f"    b = tl.load(b_at, mask=in_k[:, None] & (col < {self.cols}), other=0.0)",
            f'    {name} = tl.dot(a, b, {name}, input_precision="{self.precision}")',
            f"    a_at += {left.step(p.a, p.k, 'BLOCK_K')}",
            f"    b_at += {right.step(p.b, p.k, 'BLOCK_K')}",
        ]

    def epilogue(self) -> list[str]:
        body = Body(self.writer, self.outputs, self.masks, axis=1, keep_dims=True)
        body.lines.append(f"inside = (row < {self.rows}) & (col < {self.cols})")
        body.compute(body.roots)
        for output in self.outputs:
            body.store(output, "inside")
        return body.lines

    def counts(self) -> list[str]:
        return [f"tiles_m = tl.cdiv({self.rows}, BLOCK_M)", f"tiles_n = tl.cdiv({self.cols}, BLOCK_N)"]

    def grid_tiles(self) -> str:
        names = self.frame.names
        rows, cols = self.frame.n_rows.text(names), self.frame.n_cols.text(names)
        return f"triton.cdiv({rows}, BLOCK_M) * triton.cdiv({cols}, BLOCK_N)"

    def _kernel(self, name: str, summary: str, body: list[str], grid: str, extra: Sequence[str] = ()) -> Kernel:
        constants = ["BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", *extra]
        return Kernel(
            name, summary, self.pointers, self.writer, constants, body, grid, options=("num_warps", "num_stages")
        )

    def tiled(self, name: str, summary: str) -> Kernel:
        """One program a tile."""
        matrix = (
            ["matrix = tl.program_id(1)" + (".to(tl.int64)" if self.frame.wide else "")] if self.product.batch else []
        )
        body = ["tile = tl.program_id(0)", *matrix, *self.counts(), *TILE_ORDER, *self.indices()]
        body += [*self.accumulate(), "", *self.epilogue()]
        count = self._matrices()
        return self._kernel(name, summary, body, f"({self.grid_tiles()}{', ' + count if count else ','})")

    def persistent(self, name: str, summary: str) -> Kernel:
        """PROGRAMS programs that take tiles in turn."""
        matrix: list[str] = []
        total = "tiles_m * tiles_n"
        if self.product.batch:
            matrices = self.frame.text(self.frame.batch_count)
            total = f"{total} * {matrices}"
            wide = ".to(tl.int64)" if self.frame.wide else ""
            matrix = [f"matrix = (turn // (tiles_m * tiles_n)){wide}", "tile = turn % (tiles_m * tiles_n)"]
        turn = "turn" if matrix else "tile"
        inner = [*matrix, *TILE_ORDER, *self.indices(), *self.accumulate(), *self.epilogue()]
        body = [*self.counts(), f"for {turn} in range(tl.program_id(0), {total}, PROGRAMS):"]
        body += ["    " + line for line in inner]
        return self._kernel(name, summary, body, "(PROGRAMS,)", ["PROGRAMS"])

    def split(self, name: str, summary: str) -> Kernel:
        """SPLIT_K programs a tile, each over its part of K; partial sums go to a float32 workspace."""
        if self.product.batch:
            raise Unsupported("split-K of a batched product")
        self.pointers = [str(self.product.a.value), str(self.product.b.value), "partial"]
        self.frame.wide = True
        body = ["tile = tl.program_id(0)", "part = tl.program_id(1)", *self.counts(), *TILE_ORDER, *self.indices()]
        body += [
            "# Each part takes an equal number of whole blocks of K.",
            f"span = tl.cdiv(tl.cdiv({self.depth}, BLOCK_K), SPLIT_K) * BLOCK_K",
            f"end = min({self.depth}, (part + 1) * span)",
            *self.accumulate("part * span", "end"),
            f"inside = (row < {self.rows}) & (col < {self.cols})",
            f"place = (part * {self.rows} + row) * {self.cols} + col",
            f"tl.store(partial_ptr + place, {self.writer.known[id(self.sum)]}, mask=inside)",
        ]
        return self._kernel(name, summary, body, f"({self.grid_tiles()}, SPLIT_K)", ["SPLIT_K"])

    def join(self, name: str, summary: str) -> Kernel:
        """Adds the partial sums of a split product in a fixed order, then the epilogue."""
        self.frame.used.pop(self.depth, None)
        inputs = [p for p in self.pointers if p not in (self.product.a.value, self.product.b.value)]
        self.pointers = ["partial", *inputs]
        total = self.writer.name(self.sum)
        body = [
            "row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]",
            "col = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[None, :]",
            f"{total} = tl.zeros((ROWS, BLOCK), tl.float32)",
            "for part in range(SPLIT_K):",
            f"    place = (part * {self.rows} + row) * {self.cols} + col",
            f"    {total} += tl.load(partial_ptr + place, mask=(row < {self.rows}) & (col < {self.cols}), other=0.0)",
            *self.epilogue(),
        ]
        names = self.frame.names
        grid = f"(triton.cdiv({self.frame.n_rows.text(names)}, 4), triton.cdiv({self.frame.n_cols.text(names)}, 256))"
        kernel = Kernel(name, summary, self.pointers, self.writer, ["ROWS", "BLOCK", "SPLIT_K"], body, grid, options=())
        kernel.passed = {"ROWS": "4", "BLOCK": "256"}
        return kernel

    def _matrices(self) -> str:
        return self.frame.batch_count.text(self.frame.names) if self.product.batch else ""
