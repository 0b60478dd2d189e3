"""Fused pointwise kernels: one pass over the elements, or tiles of rows and columns where vectors are broadcast."""

from __future__ import annotations

from .body import Body
from .express import Writer
from .frame import Frame
from .rows import kernel_names, pointer_names
from .source import Kernel
from .stages import Stage


def flat_kernel(name: str, summary: str, stage: Stage, frame: Frame) -> Kernel:
    """Each program takes BLOCK consecutive elements; `frame` has all indices in its columns, named `i`."""
    pointers = pointer_names(stage, frame)
    writer = Writer(frame, kernel_names(stage, frame, "i"))
    n = frame.text(frame.n_cols)
    program = "tl.program_id(0).to(tl.int64)" if frame.wide else "tl.program_id(0)"
    start = [f"i = {program} * BLOCK + tl.arange(0, BLOCK)", f"inside = i < {n}"]
    masks = {"tile": "inside", "row": "inside", "col": "inside", "scalar": ""}
    body = _fill(Body(writer, stage.outputs, masks), stage)
    return Kernel(
        name, summary, pointers, writer, ["BLOCK"], start + body, grid=f"(triton.cdiv({_launch(frame)}, BLOCK),)"
    )


def tile_kernel(name: str, summary: str, stage: Stage, frame: Frame) -> Kernel:
    """Each program takes ROWS × BLOCK elements, so that a vector along either side is read once a tile."""
    pointers = pointer_names(stage, frame)
    writer = Writer(frame, kernel_names(stage, frame))
    n_rows, n_cols = frame.text(frame.n_rows), frame.text(frame.n_cols)
    program = "tl.program_id(0).to(tl.int64)" if frame.wide else "tl.program_id(0)"
    start = [
        f"row = ({program} * ROWS + tl.arange(0, ROWS))[:, None]",
        "col = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[None, :]",
        f"inside = (row < {n_rows}) & (col < {n_cols})",
    ]
    masks = {"tile": "inside", "row": f"row < {n_rows}", "col": f"col < {n_cols}", "scalar": ""}
    body = _fill(Body(writer, stage.outputs, masks, axis=1, keep_dims=True), stage)
    rows, cols = frame.n_rows.text(frame.names), frame.n_cols.text(frame.names)
    grid = f"(triton.cdiv({rows}, ROWS), triton.cdiv({cols}, BLOCK))"
    return Kernel(name, summary, pointers, writer, ["ROWS", "BLOCK"], start + body, grid=grid)


def _launch(frame: Frame) -> str:
    return frame.n_cols.text(frame.names)


def _fill(body: Body, stage: Stage) -> list[str]:
    body.compute(body.roots)
    for output in stage.outputs:
        body.store(output, body.masks[body.writer.frame.kind(output.term)])
    return body.lines
