"""The forms that each family offers for one graph, best guess first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright_sandbox.contract import ScalarInput, Spec
from tilewright_sandbox.graph import OpGraph

from . import seeds
from .atoms import leaves
from .express import RESERVED, RESERVED_IN_RUN
from .extents import Monomial, Unsupported
from .frame import Frame, Strides
from .looped import looped_kernel
from .matmul import Tiles, find_product
from .pointwise import flat_kernel, tile_kernel
from .rows import resident_kernel
from .seeds import Shapes
from .source import Kernel, Module, axis_names, order_of, tensor_strides
from .stages import Stage, cut, reductions
from .terms import Output, Reader, walk

INT32_ELEMENTS = 2**31
RESIDENT_ELEMENTS = 131_072
"""The longest row that is offered in one piece: 32 warps hold it in 128 registers a thread."""


@dataclass(frozen=True)
class Form:
    title: str
    module: Module


def forms(spec: Spec, graph: OpGraph, target: str) -> Iterator[Form]:
    """Every form of the family to which the graph belongs. Unsupported if it belongs to none."""
    scalars = {i.name for i in spec.inputs if isinstance(i, ScalarInput)}
    if clash := sorted((scalars & RESERVED) | ({i.name for i in spec.inputs} & RESERVED_IN_RUN)):
        raise Unsupported(f"an input that is called {clash[0]}, as a variable of the kernels is")
    reader = Reader(graph)
    outputs = reader.outputs(graph, [output.name for output in spec.outputs])
    roots = [output.term for output in outputs]
    tensors = tensor_strides(spec)
    if any(term.op == "matmul" for term in walk(roots)):
        yield from _products(spec, outputs, tensors, target)
    elif reductions(roots):
        yield from _rows(spec, cut(outputs, reader.algebra), tensors)
    else:
        yield from _pointwise(spec, outputs, tensors)


def _anchors(stage: Stage) -> list[list[object]]:
    tensors = [t.index for t in walk([o.term for o in stage.outputs]) if t.index]
    return [[leaf for dim in dims for leaf in leaves(dim)] for dims in [*(o.dims for o in stage.outputs), *tensors]]


def _frame(spec: Spec, stage: Stage, tensors: dict[str, Strides], **options: object) -> Frame:
    """Rows: every index that the stage does not reduce; columns: those that it does."""
    roots = [output.term for output in stage.outputs]
    atoms = frozenset().union(
        *(t.atoms for t in walk(roots)), *(t.args[0].atoms for t in walk(roots) if t.op == "gather")
    )
    anchors = sorted(_anchors(stage), key=len, reverse=True)
    rows = order_of(atoms - stage.cols, [[a for a in anchor if a not in stage.cols] for anchor in anchors])  # type: ignore[misc]
    cols = order_of(stage.cols, anchors)  # type: ignore[arg-type]
    frame = Frame(rows, cols, tensors, names=axis_names(spec))
    largest = {name: axis.max for name, axis in spec.axes.items()}
    frame.wide = frame.n_rows.value(largest) * frame.n_cols.value(largest) >= INT32_ELEMENTS
    return frame


def _pointwise(spec: Spec, outputs: Sequence[Output], tensors: dict[str, Strides]) -> Iterator[Form]:
    whole = max(outputs, key=lambda output: len(output.term.atoms))
    order = tuple(leaf for dim in whole.dims for leaf in leaves(dim))
    if any({leaf for dim in o.dims for leaf in leaves(dim)} != set(order) for o in outputs):
        raise Unsupported("pointwise outputs of different shapes")
    stage = Stage(frozenset(), tuple(outputs))
    largest = {name: axis.max for name, axis in spec.axes.items()}

    def frame(split: int, col: str) -> Frame:
        made = Frame(
            order[:split], order[split:], tensors, col=col, names=axis_names(spec), counts=("n_rows", "n_cols")
        )
        made.wide = made.n_rows.value(largest) * made.n_cols.value(largest) >= INT32_ELEMENTS
        return made

    broadcast = any(t.op == "input" and t.atoms != frozenset(order) for t in walk([o.term for o in outputs]))
    tile = frame(len(order) - 1, "col")
    flat = frame(0, "i")
    flat.counts = ("", "n_elements")
    kernel = flat_kernel(f"{spec.name}_kernel", "One element a lane.", stage, flat)
    space, trials = seeds.flat_space(spec, len(kernel.pointers))
    flat_form = Form(
        "flat", Module(spec, "Flat: each program maps BLOCK consecutive elements.", [kernel], space, trials)
    )
    if broadcast and tile.rows:
        kernel = tile_kernel(f"{spec.name}_kernel", "A tile of ROWS by BLOCK elements.", stage, tile)
        space, trials = seeds.tile_space(Shapes(tile.n_rows, tile.n_cols, spec))
        text = "Tiled: each program maps ROWS by BLOCK elements and reads the broadcast vectors once."
        yield Form("tiled", Module(spec, text, [kernel], space, trials))
    yield flat_form


def _rows(spec: Spec, stages: Sequence[Stage], tensors: dict[str, Strides]) -> Iterator[Form]:
    first = stages[0]
    probe = _frame(spec, first, tensors)
    shapes = Shapes(probe.n_rows, probe.n_cols, spec)
    workspaces: dict[str, tuple[Monomial | str, ...]] = dict.fromkeys(first.workspaces, (probe.n_rows,))
    tensors = tensors | {name: Strides((probe.n_rows,)) for name in first.workspaces}
    name = f"{spec.name}_rows"

    def module(
        text: str, kernel: Kernel, space: seeds.Space, trials: list[seeds.Trial], where: Sequence[str] = ()
    ) -> Module:
        kernels = [kernel]
        for later in stages[1:]:
            last = looped_kernel(
                f"{spec.name}_total",
                "One program adds the row results, in a fixed order.",
                later,
                _frame(spec, later, tensors),
            )
            last.passed, last.options = {"BLOCK": "1024"}, ()
            kernels.append(last)
        return Module(spec, text, kernels, space, trials, list(where), workspaces)

    n_cols = probe.n_cols.text()
    narrow = n_cols if n_cols.isidentifier() else f"({n_cols})"
    candidates = []
    if shapes.cols_domain() <= RESIDENT_ELEMENTS and probe.rows:

        def resident() -> Form:
            kernel = resident_kernel(
                name, "One program holds one row.", first, _frame(spec, first, tensors), rows=False
            )
            text = "Resident: one program holds one row in registers and reads it once."
            return Form("resident row", module(text, kernel, *seeds.resident_space(shapes)))

        def multi() -> Form:
            kernel = resident_kernel(
                name, "One program holds ROWS rows.", first, _frame(spec, first, tensors), rows=True
            )
            width = probe.n_cols.text(axis_names(spec))
            kernel.passed["ROWS"] = "rows_held"
            kernel.grid = kernel.grid.replace("ROWS", "rows_held")
            text = "Multi-row: one program holds ROWS short rows in registers and reads each once."
            made = module(text, kernel, *seeds.multi_row_space(shapes), [f"ROWS == 1 or ROWS * {narrow} <= 32768"])
            made.prepare.append(
                f"rows_held = max(1, min(ROWS, {RESIDENT_ELEMENTS} // triton.next_power_of_2({width})))"
            )
            return Form("multi-row", made)

        candidates += [multi, resident] if shapes.cols_most() <= 2048 else [resident, multi]

    def looped(online: bool) -> Form:
        kernel = looped_kernel(name, "One program walks one row.", first, _frame(spec, first, tensors), online=online)
        if online:
            text = "Online: one pass finds maximum and sum of exponentials together, rescaling when the maximum moves."
        else:
            text = "Looped: one program walks its row in blocks, once for each level of reduction and once to write."
        return Form("online" if online else "looped", module(text, kernel, *seeds.looped_space(shapes)))

    def online() -> Form:
        return looped(True)

    def passes() -> Form:
        return looped(False)

    candidates[len(candidates) if shapes.cols_most() <= 16384 else 0 :] = [online, passes]
    for make in candidates:
        try:
            yield make()
        except Unsupported:
            continue


def _products(spec: Spec, outputs: Sequence[Output], tensors: dict[str, Strides], target: str) -> Iterator[Form]:
    product = find_product(outputs, spec)
    largest = {name: axis.max for name, axis in spec.axes.items()}
    wide = any(
        Strides(t.shape).of("", 0)[0].value(largest) * t.shape[0].value(largest) >= INT32_ELEMENTS
        for t in tensors.values()
        if t.shape
    )

    def tiles() -> Tiles:
        return Tiles(product, outputs, tensors, axis_names(spec), wide=wide, precision=spec.accept.precision)

    probe = tiles()
    m, n, k = probe.frame.n_rows, probe.frame.n_cols, probe.inner.n_rows
    name = f"{spec.name}_tile"

    def tiled() -> Form:
        text = "Tiled: one program computes one tile of the output over all of K, the epilogue fused."
        return Form(
            "tiled", _module(spec, text, [tiles().tiled(name, "One tile of the output.")], m, n, k, target, "tiled")
        )

    def persistent() -> Form:
        text = (
            "Persistent: a fixed number of programs take tiles in turn, so that no wave of programs has a ragged end."
        )
        kernel = tiles().persistent(name, "Tiles of the output, in turn.")
        return Form("persistent", _module(spec, text, [kernel], m, n, k, target, "persistent"))

    def split() -> Form:
        text = "Split-K: SPLIT_K programs share a tile; a second kernel adds their float32 parts in a fixed order."
        parts = tiles().split(name, "One part of the sum over K of one tile.")
        join = tiles().join(f"{spec.name}_join", "Adds the parts, then the epilogue.")
        made = _module(spec, text, [parts, join], m, n, k, target, "split")
        made.workspaces = {"partial": ("SPLIT_K", m, n)}
        return Form("split-K", made)

    order = [tiled, persistent] if product.batch else [tiled, persistent, split]
    if not product.batch and seeds.blocks_few(m, n, k, spec, target):
        order = [split, tiled, persistent]
    for make in order:
        yield make()


def _module(
    spec: Spec, text: str, kernels: list[Kernel], m: object, n: object, k: object, target: str, form: str
) -> Module:
    space, trials, where = seeds.matmul_space(m, n, k, spec, target, form=form)  # type: ignore[arg-type]
    return Module(spec, text, kernels, space, trials, where)
