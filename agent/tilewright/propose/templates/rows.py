"""Kernels that hold whole rows in registers: reduce, then map, each element read once."""

from __future__ import annotations

from .body import Body
from .express import Names, Writer
from .frame import Frame
from .source import Kernel
from .stages import Stage
from .terms import walk


def resident_kernel(name: str, summary: str, stage: Stage, frame: Frame, *, rows: bool) -> Kernel:
    """One program reads one row (`rows` False), or ROWS of them as a two-dimensional tile."""
    pointers = pointer_names(stage, frame)
    writer = Writer(frame, kernel_names(stage, frame))
    n_rows, n_cols = frame.text(frame.n_rows), frame.group(frame.n_cols)
    programs = frame.n_rows.text(frame.names)
    start = ["row = tl.program_id(0)"]
    if rows:
        row = "tl.program_id(0) * ROWS + tl.arange(0, ROWS)"
        start = [f"row = ({row})[:, None]", "col = tl.arange(0, BLOCK)[None, :]"]
        start.append(f"inside = (row < {n_rows}) & (col < {n_cols})")
        masks = {"tile": "inside", "row": f"row < {n_rows}", "col": f"col < {n_cols}", "scalar": ""}
    else:
        start += ["col = tl.arange(0, BLOCK)", f"inside = col < {n_cols}"]
        masks = {"tile": "inside", "row": "", "col": "inside", "scalar": ""}
        frame.used.pop(n_rows, None)
    if frame.wide:
        start[0] = start[0].replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")
    body = Body(writer, stage.outputs, masks, axis=int(rows), keep_dims=rows)
    body.compute(body.roots)
    for output in stage.outputs:
        body.store(output, masks[frame.kind(output.term)])
    return Kernel(
        name,
        summary,
        pointers,
        writer,
        ["BLOCK", "ROWS"] if rows else ["BLOCK"],
        start + body.lines,
        grid=f"(triton.cdiv({programs}, ROWS),)" if rows else f"({programs},)",
        passed={"BLOCK": f"triton.next_power_of_2({frame.n_cols.text(frame.names)})"},
    )


def pointer_names(stage: Stage, frame: Frame) -> list[str]:
    """The tensors that a kernel reads, in the spec's order, then those that it writes."""
    read = {str(t.value) for t in walk([o.term for o in stage.outputs]) if t.op in ("input", "workspace")}
    return [*(name for name in frame.tensors if name in read), *(o.name for o in stage.outputs)]


def kernel_names(stage: Stage, frame: Frame, *more: str) -> Names:
    """Names for the values of a kernel, apart from those of its parameters."""
    scalars = [str(t.value) for t in walk([o.term for o in stage.outputs]) if t.op == "scalar"]
    return Names([*scalars, *frame.names.values(), *more])
