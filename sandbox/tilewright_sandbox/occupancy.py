"""How many blocks of a kernel fit on one multiprocessor. Source: CUDA C++ Programming Guide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .contract import Kernel
from .targets import Target

THREADS_PER_WARP = 32
REGISTERS_PER_ALLOCATION = 256
"""Registers are given to a warp in multiples of this."""
SHARED_BYTES_PER_ALLOCATION = 128

Limit = Literal["warps", "blocks", "registers", "shared memory"]


@dataclass(frozen=True)
class Occupancy:
    blocks_per_sm: int
    """0 where the kernel cannot be launched on the target at all."""
    warps_per_block: int
    fraction: float
    """Resident warps of those that the multiprocessor can hold."""
    limit: Limit


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def occupancy(kernel: Kernel, target: Target) -> Occupancy:
    """Blocks that one multiprocessor holds, by its scarcest resource."""
    warps = kernel.num_warps
    registers = _round_up(max(kernel.resources.registers, 1) * THREADS_PER_WARP, REGISTERS_PER_ALLOCATION) * warps
    shared = kernel.resources.shared_bytes + target.shared_reserved_bytes
    fits: dict[Limit, int] = {
        "warps": target.warps_per_sm // warps,
        "blocks": target.blocks_per_sm,
        "registers": target.registers_per_sm // registers,
        "shared memory": target.shared_per_sm_bytes // _round_up(shared, SHARED_BYTES_PER_ALLOCATION),
    }
    if kernel.resources.shared_bytes > target.shared_per_block_bytes:
        fits["shared memory"] = 0
    limit = min(fits, key=lambda name: fits[name])
    return Occupancy(fits[limit], warps, fits[limit] * warps / target.warps_per_sm, limit)
