"""Which buffer a fake tensor lives in, and the window of it that the tensor is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import torch

from ..contract import DTYPE_BYTES, Buffer, Dtype, View
from .guard import Watch
from .source import here

Role = Literal["input", "output", "workspace"]
ADDRESS_BITS = 40
"""Buffer number n starts at the pretended address 2⁶⁰ + n·2⁴⁰: aligned to 256 bytes and far more."""
_FIRST_ADDRESS = 1 << 60


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@dataclass
class _Allocation:
    storage: Any  # kept alive, so that its key is not given to another
    number: int
    input_name: str | None
    buffer: int = -1


class Storages:
    """The allocations of one capture. A buffer gets its index when a step, or an output, first refers to it."""

    def __init__(self, watch: Watch, earlier: Storages | None = None) -> None:
        self.watch, self.earlier = watch, earlier
        self._known: dict[int, _Allocation] = {}
        self._order: list[_Allocation] = []

    @staticmethod
    def _key(tensor: torch.Tensor) -> int:
        return int(tensor.untyped_storage()._cdata)

    def add(self, tensor: torch.Tensor, input_name: str | None = None) -> None:
        """Register the tensor's storage, if it is new."""
        key = self._key(tensor)
        if key not in self._known:
            self._known[key] = _Allocation(tensor.untyped_storage(), len(self._known), input_name)
            if input_name is not None:
                self.buffer(tensor)

    def knows(self, tensor: torch.Tensor) -> bool:
        return self._key(tensor) in self._known

    def _allocation(self, tensor: torch.Tensor) -> _Allocation:
        found = self._known.get(self._key(tensor))
        if found is None:
            self._refuse_unknown(tensor)
        return found

    def _refuse_unknown(self, tensor: torch.Tensor) -> NoReturn:
        if self.earlier is not None and self.earlier.knows(tensor):
            self.watch.refuse(
                "capture",
                "not_repeatable",
                f"{here()} uses a tensor that an earlier call of run made. Allocate what a call needs in that call.",
            )
        self.watch.refuse(
            "capture",
            "foreign_tensor",
            f"{here()} uses a tensor that run neither got nor allocated (one made at import, or behind torch's "
            "dispatcher). Allocate it inside run.",
        )

    def buffer(self, tensor: torch.Tensor) -> int:
        allocation = self._allocation(tensor)
        if allocation.buffer < 0:
            allocation.buffer = len(self._order)
            self._order.append(allocation)
        return allocation.buffer

    def input_name(self, tensor: torch.Tensor) -> str | None:
        """The input whose memory the tensor is, or None."""
        return self._allocation(tensor).input_name

    def address(self, tensor: torch.Tensor) -> int:
        """The pretended device address of the tensor's first element."""
        offset = int(tensor.storage_offset() * tensor.dtype.itemsize)
        return _FIRST_ADDRESS + (self._allocation(tensor).number << ADDRESS_BITS) + offset

    def owns_address(self, value: int) -> bool:
        """Whether an integer is an address inside an allocation of this capture."""
        number, offset = divmod(value - _FIRST_ADDRESS, 1 << ADDRESS_BITS)
        return any(number == a.number and offset <= a.storage.nbytes() for a in self._known.values())

    def view(self, tensor: torch.Tensor) -> View:
        return View(
            buffer=self.buffer(tensor),
            offset_bytes=int(tensor.storage_offset()) * tensor.dtype.itemsize,
            shape=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
            dtype=self.dtype(tensor),
        )

    def dtype(self, tensor: torch.Tensor) -> Dtype:
        name = dtype_name(tensor.dtype)
        known: Dtype | None = next((known for known in DTYPE_BYTES if known == name), None)
        if known is None:
            self.watch.refuse(
                "capture", "dtype_not_supported", f"{here()} uses a tensor of dtype {name}, which no plan holds."
            )
        return known

    def buffers(self, outputs: set[int]) -> tuple[Buffer, ...]:
        """Every buffer referred to, in order; `outputs` are the indices that hold outputs."""
        made, made_count = [], 0
        for index, allocation in enumerate(self._order):
            name = allocation.input_name
            if name is None:
                name, made_count = f"t{made_count}", made_count + 1
            role: Role = "input" if allocation.input_name else "output" if index in outputs else "workspace"
            made.append(Buffer(name=name, role=role, bytes=int(allocation.storage.nbytes())))
        return tuple(made)
