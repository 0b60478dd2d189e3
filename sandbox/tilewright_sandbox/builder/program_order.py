"""The order in which Triton's interpreter runs the programs of a grid. A device promises none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from triton.runtime import interpreter

ProgramOrder = Literal["forward", "reversed"]


@contextmanager
def program_order(order: ProgramOrder) -> Iterator[None]:
    """Inside, the first program that runs is the grid's first, or its last."""
    builder: Any = interpreter.InterpreterBuilder
    forward = builder.set_grid_idx

    def from_the_end(self: Any, *place: int) -> None:
        forward(self, *(extent - 1 - at for extent, at in zip(self.grid_dim, place, strict=True)))

    if order == "reversed":
        builder.set_grid_idx = from_the_end
    try:
        yield
    finally:
        builder.set_grid_idx = forward
