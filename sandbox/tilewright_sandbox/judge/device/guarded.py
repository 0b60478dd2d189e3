"""Buffers that end where mapped memory ends: an access past them is a fault, though nothing may depend on its value."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from cuda.bindings import driver as cu  # pyright: ignore[reportMissingImports]
from torch import Tensor

from ...contract import Buffer
from .arena import Arena
from .driver import checked

ALIGNMENT = 16
"""Of a buffer's start, as Triton assumes it; so many bytes less one may lie between a buffer's end and the guard."""


class _Mapped:
    """Device memory of its own between two unmapped pages, as torch takes it."""

    def __init__(self, count: int, device: int) -> None:
        properties = cu.CUmemAllocationProp()
        properties.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = device
        least = cu.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        self.page = int(checked(cu.cuMemGetAllocationGranularity(properties, least)))
        self.size = -(-max(count, 1) // self.page) * self.page
        self.reserved = int(checked(cu.cuMemAddressReserve(self.size + 2 * self.page, 0, 0, 0)))
        self.handle = checked(cu.cuMemCreate(self.size, properties, 0))
        checked(cu.cuMemMap(self.reserved + self.page, self.size, 0, self.handle, 0))
        access = cu.CUmemAccessDesc()
        access.location = properties.location
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        checked(cu.cuMemSetAccess(self.reserved + self.page, self.size, [access], 1))
        padded = -(-max(count, 1) // ALIGNMENT) * ALIGNMENT
        self.start = self.reserved + self.page + self.size - padded
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (padded,), "typestr": "|u1", "data": (self.start, False), "version": 3, "strides": None,
        }  # fmt: skip

    def free(self) -> None:
        cu.cuMemUnmap(self.reserved + self.page, self.size)
        cu.cuMemRelease(self.handle)
        cu.cuMemAddressFree(self.reserved, self.size + 2 * self.page)


class GuardedArena(Arena):
    """An arena without margins, over mappings of its own. `with guarded(...) as arena`."""

    def __init__(self, buffers: Sequence[Buffer], mapped: Sequence[_Mapped]) -> None:
        self.buffers, self.margin_bytes = tuple(buffers), 0
        self.raw: list[Tensor] = [torch.as_tensor(one, device="cuda") for one in mapped]

    def fill(self, byte: int) -> None:
        for raw in self.raw:
            raw.fill_(byte)


@contextlib.contextmanager
def guarded(buffers: Sequence[Buffer]) -> Iterator[GuardedArena]:
    """Buffers with a guard behind each. After a fault nothing can be freed: the process ends then."""
    mapped = [_Mapped(buffer.bytes, torch.cuda.current_device()) for buffer in buffers]
    yield GuardedArena(buffers, mapped)
    torch.cuda.synchronize()
    for one in mapped:
        one.free()
