"""CPU buffers with poisoned margins: where the interpreter worker puts inputs, outputs and workspaces.

An arena is margin, payload, margin in one allocation. The payload starts at a multiple of 256 bytes and is a torch
storage of its own, so that tensors over it look as they would on a device: storage offset 0 unless a layout asks else.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from ..contract import DTYPE_BYTES, Dtype
from ..poison import WORD_BYTES, Poison, poison_bytes

ALIGNMENT_BYTES = 256
Layout = Literal["contiguous", "strided", "offset"]
Bytes = npt.NDArray[np.uint8]


def dtype_name(dtype: torch.dtype) -> str:
    """`torch.float32` → `float32`."""
    return str(dtype).removeprefix("torch.")


_KNOWN: dict[str, Dtype] = {name: name for name in DTYPE_BYTES}


def _poison_dtype(dtype: torch.dtype) -> Dtype:
    """The dtype whose poison fills an allocation: its own, or bytes where the contract does not have it."""
    return _KNOWN.get(dtype_name(dtype), "uint8")


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class Arena:
    """One buffer. `payload` and both margins are views of the same memory; the payload starts as poison too."""

    def __init__(self, name: str, payload_bytes: int, margin_bytes: int, poison: Poison, dtype: Dtype) -> None:
        self.name, self.poison, self.dtype = name, poison, dtype
        whole: Bytes = np.empty(payload_bytes + 2 * margin_bytes + ALIGNMENT_BYTES, dtype=np.uint8)
        start = margin_bytes + -(whole.ctypes.data + margin_bytes) % ALIGNMENT_BYTES
        self.before = whole[start - margin_bytes : start]
        self.payload = whole[start : start + payload_bytes]
        self.after = whole[start + payload_bytes : start + payload_bytes + margin_bytes]
        for part in (self.before, self.payload, self.after):
            part[:] = np.frombuffer(poison_bytes(poison, dtype, part.size), dtype=np.uint8)
        self.start: int = self.payload.ctypes.data
        self.end = self.start + payload_bytes
        self.unused: npt.NDArray[np.bool_] | None = None
        """Payload bytes that belong to no element of the tensor (gaps of a layout): kept as margin."""

    def tensor(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: torch.dtype) -> torch.Tensor:
        """A view of the payload; strides and offset in elements."""
        if not self.payload.size:
            return torch.empty_strided(shape, strides, dtype=dtype)
        return torch.frombuffer(self.payload, dtype=dtype).as_strided(shape, strides, offset)

    def margin(self) -> bytes:
        """Both margins, and the gaps of the payload between them."""
        gaps = b"" if self.unused is None else self.payload[self.unused].tobytes()
        return self.before.tobytes() + gaps + self.after.tobytes()


class Arenas:
    """All buffers of one run, found by address."""

    def __init__(self, poison: Poison, margin_bytes: int) -> None:
        self.poison: Poison = poison
        self.margin_bytes = -(-margin_bytes // WORD_BYTES) * WORD_BYTES
        self.all: list[Arena] = []
        self._starts: list[int] = []
        self._sorted: list[Arena] = []
        self._allocated = 0

    def place(
        self, name: str, values: bytes, shape: tuple[int, ...], dtype: torch.dtype, layout: Layout
    ) -> torch.Tensor:
        """An input: contiguous row-major bytes laid out as asked. strided: every second element of rows twice as wide,
        for the second input every third, and so on; offset: one element into its storage. A tensor without axes cannot
        be strided."""
        count, item, step = math.prod(shape), dtype.itemsize, 2 + len(self.all)
        strides, offset = contiguous_strides(shape), 0
        if layout == "strided" and shape:
            strides = tuple(step * stride for stride in strides)
        elif layout == "offset":
            offset = 1
        elements = count * (step if layout == "strided" and shape else 1) + offset
        arena = self._add(name, elements * item, dtype)
        tensor = arena.tensor(shape, strides, offset, dtype)
        if count:
            tensor.copy_(torch.frombuffer(bytearray(values), dtype=dtype).reshape(shape))
            if elements != count:
                used = torch.zeros(elements, dtype=torch.bool).as_strided(shape, strides, offset).fill_(True)
                flat = np.frombuffer(bytes(used.untyped_storage()), dtype=np.bool_)
                arena.unused = np.repeat(~flat, item)
        return tensor

    def adopt(self, tensor: torch.Tensor, *, keep_values: bool) -> torch.Tensor:
        """Move a fresh allocation of the candidate into an arena named by its order: `t0`, `t1` …"""
        strides, shape = tuple(tensor.stride()), tuple(tensor.shape)
        elements = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
        arena = self._add(f"t{self._allocated}", elements * tensor.itemsize, tensor.dtype)
        self._allocated += 1
        moved = arena.tensor(shape, strides, 0, tensor.dtype)
        if keep_values:
            moved.copy_(tensor)
        return moved

    def _add(self, name: str, payload_bytes: int, dtype: torch.dtype) -> Arena:
        arena = Arena(name, payload_bytes, self.margin_bytes, self.poison, _poison_dtype(dtype))
        self.all.append(arena)
        at = bisect_right(self._starts, arena.start)
        self._starts.insert(at, arena.start)
        self._sorted.insert(at, arena)
        return arena

    def at(self, address: int) -> Arena | None:
        """The arena whose payload holds the address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._sorted[index].end:
            return self._sorted[index]
        return None

    def nearest(self, address: int) -> Arena | None:
        """The arena whose payload lies closest to the address."""
        return min(self.all, key=lambda arena: max(arena.start - address, address - arena.end + 1), default=None)

    def outside(self, addresses: npt.NDArray[np.uint64], access_bytes: int) -> int | None:
        """The first address of an access that no single payload holds, or None. The usual case, one arena, is cheap."""
        low, high = int(addresses.min()), int(addresses.max())
        arena = self.at(low)
        if arena is not None and high + access_bytes <= arena.end:
            return None
        starts = np.array(self._starts, dtype=np.uint64)
        ends = np.array([arena.end for arena in self._sorted], dtype=np.uint64)
        index = np.searchsorted(starts, addresses, side="right").astype(np.int64) - 1
        wrong = (index < 0) | (addresses + np.uint64(access_bytes) > ends[np.maximum(index, 0)])
        return int(addresses[wrong][0]) if wrong.any() else None
