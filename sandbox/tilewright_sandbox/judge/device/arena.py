"""Buffers of a plan: each an allocation of the judge's own, poisoned, with margins on both sides that must stay as they
are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ...contract import Buffer, View
from ...poison import WORD_BYTES, Poison, poison_word
from ..inputs import torch_dtype

MARGIN_BYTES = 64 << 10
"""On each side: a row too far of most shapes lands in it. A multiple of the 256 bytes to which buffers are aligned."""
SMALL_MARGIN_BYTES = 1 << 10
"""Where a plan has many or timed buffers."""


class Arena:
    """All buffers of one plan. `address(i)` and `view(v)` are what launches and ATen steps see."""

    def __init__(self, buffers: Sequence[Buffer], device: str, margin_bytes: int = MARGIN_BYTES) -> None:
        self.buffers, self.margin_bytes = tuple(buffers), margin_bytes
        self.raw = [
            torch.empty(2 * margin_bytes + _whole(buffer.bytes), dtype=torch.uint8, device=device)
            for buffer in self.buffers
        ]

    def poison(self, poison: Literal["nan", "large", "zero"], *, inputs_too: bool = True) -> None:
        """Fill buffers and margins."""
        for raw, buffer in zip(self.raw, self.buffers, strict=True):
            if inputs_too or buffer.role != "input":
                raw.view(torch.int64).fill_(_word(poison))

    def address(self, number: int) -> int:
        return int(self.raw[number].data_ptr()) + self.margin_bytes

    def view(self, view: View) -> Tensor:
        """A tensor over the elements of a view. ValueError where it leaves its buffer."""
        dtype = torch_dtype(view.dtype)
        last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
        empty = 0 in view.shape
        end = view.offset_bytes + (0 if empty else (last + 1) * dtype.itemsize)
        if view.offset_bytes < 0 or view.offset_bytes % dtype.itemsize or end > self.buffers[view.buffer].bytes:
            raise ValueError(f"a view of {view.shape} ends at byte {end} of {self.buffers[view.buffer].name}")
        start = (self.margin_bytes + view.offset_bytes) // dtype.itemsize
        whole = self.raw[view.buffer]
        typed = whole[: len(whole) // dtype.itemsize * dtype.itemsize].view(dtype)
        return typed.as_strided(view.shape, view.strides, start)

    def written_outside(self, poison: Poison) -> dict[str, int]:
        """Buffers whose margins changed, with the first byte: negative before the start, else past the end."""
        byte = poison_word(poison, "float32")[0]
        found: dict[str, int] = {}
        for raw, buffer in zip(self.raw, self.buffers, strict=True):
            before, past = raw[: self.margin_bytes], raw[self.margin_bytes + buffer.bytes :]
            for side, start in ((before, -self.margin_bytes), (past, 0)):
                changed = side != byte
                if bool(changed.any()):
                    found.setdefault(buffer.name, int(changed.nonzero()[0]) + start)
        return found


def _whole(count: int) -> int:
    return -(-count // WORD_BYTES) * WORD_BYTES


def _word(poison: Poison) -> int:
    """The poison as one signed 64-bit integer; these poisons are the same bytes for every dtype."""
    return int.from_bytes(poison_word(poison, "float32"), "little", signed=True)
