"""A kernel's arguments: as Triton must see them to specialise, and as the cubin takes them.

Order and types follow Triton 3.6's CUDA launcher: constants vanish, tuples are flattened, and a host TensorDescriptor
becomes a TMA descriptor (compute capability ≥ 9) or a pointer with shape and strides, then shape and strides again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from ..contract import Argument, Pointer, Scalar, TensorMap
from .guard import Watch
from .source import here
from .storage import Storages


class DevicePointer:
    """A tensor as Triton's specialisation reads it: a dtype and an address with the true alignment."""

    def __init__(self, tensor: torch.Tensor, address: int) -> None:
        self.tensor, self.dtype, self.address = tensor, tensor.dtype, address

    def data_ptr(self) -> int:
        return self.address


def wrap(value: Any, storages: Storages, watch: Watch) -> Any:
    """`value` with every tensor in it, tuples and descriptors included, as a DevicePointer."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "cuda":
            watch.refuse(
                "policy", "host_tensor_not_allowed", f"{here()} passes a host tensor to a kernel. Say device=x.device."
            )
        return DevicePointer(value, storages.address(value))
    if isinstance(value, TensorDescriptor):
        return _wrap_descriptor(value, storages, watch)
    if isinstance(value, tuple):
        parts = [wrap(part, storages, watch) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return tuple(wrap(part, storages, watch) for part in value)
    if isinstance(value, torch.dtype):
        watch.refuse("capture", "launcher_error", f"{here()} passes {value} to a kernel. Pass a triton.language dtype.")
    if isinstance(value, int) and storages.owns_address(value):
        _refuse_address(watch)
    return value


def _refuse_address(watch: Watch) -> None:
    watch.refuse(
        "capture",
        "pointer_as_integer",
        f"{here()} passes an address as an integer. Addresses change from run to run: pass the tensor.",
    )


def _wrap_descriptor(descriptor: TensorDescriptor, storages: Storages, watch: Watch) -> TensorDescriptor:
    pointer = wrap(descriptor.base, storages, watch)
    if pointer.address % 16:
        watch.refuse(
            "capture",
            "misaligned_descriptor",
            f"{here()} makes a tensor descriptor of a base that is not aligned to 16 bytes. Offset it by a multiple.",
        )
    wrapped = object.__new__(TensorDescriptor)
    wrapped.base, wrapped.padding = pointer, descriptor.padding
    wrapped.shape, wrapped.strides = list(map(int, descriptor.shape)), list(map(int, descriptor.strides))
    wrapped.block_shape = list(map(int, descriptor.block_shape))
    return wrapped


def unwrap(value: Any) -> Any:
    """The launcher's own tensors again, as a grid function expects them."""
    if isinstance(value, DevicePointer):
        return value.tensor
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(unwrap(part) for part in value)
    return value


def expand(kind: Any, value: Any, storages: Storages, capability: int) -> Iterator[Argument]:
    """The arguments that one parameter of Triton type `kind` puts into the cubin's parameter list."""
    if isinstance(kind, tuple):
        for part_kind, part in zip(kind, value, strict=True):
            yield from expand(part_kind, part, storages, capability)
    elif kind == "constexpr":
        return
    elif kind.startswith("tensordesc"):
        yield from _expand_descriptor(value, storages, capability)
    elif kind.startswith("*"):
        yield pointer_to(value, storages)
    else:
        yield Scalar(type=kind, value=value)


def pointer_to(value: DevicePointer | None, storages: Storages) -> Argument:
    if value is None:
        return Scalar(type="u64", value=0)
    tensor = value.tensor
    return Pointer(buffer=storages.buffer(tensor), offset_bytes=int(tensor.storage_offset()) * tensor.dtype.itemsize)


def _expand_descriptor(descriptor: TensorDescriptor, storages: Storages, capability: int) -> Iterator[Argument]:
    tensor = descriptor.base.tensor
    shape, strides = tuple(descriptor.shape), tuple(descriptor.strides)
    if capability >= 90:
        yield TensorMap(
            buffer=storages.buffer(tensor),
            offset_bytes=int(tensor.storage_offset()) * tensor.dtype.itemsize,
            dtype=storages.dtype(tensor),
            shape=shape,
            strides=strides,
            block_shape=tuple(descriptor.block_shape),
            swizzle=0,
            elem_size=tensor.dtype.itemsize,
            elem_type=0,
            padding="nan" if descriptor.padding == "nan" else "zero",
        )
    else:
        yield pointer_to(descriptor.base, storages)
        yield from (Scalar(type="i64", value=extent) for extent in (*shape, *strides))
        yield Scalar(type="i1", value=descriptor.padding == "nan")
    yield from (Scalar(type="i32", value=extent) for extent in shape)
    yield from (Scalar(type="i64", value=stride) for stride in strides)
