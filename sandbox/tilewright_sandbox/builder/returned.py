"""What `run` returned, read without running anything that the candidate could have put on it.

A tensor may carry instance attributes (`y.detach = …`) and classes may be patched, so values are read by functions of
torch's C base class that were taken before a candidate was loaded.
"""

from __future__ import annotations

from typing import Any

import torch

from .refusal import Refusal

_BASE: Any = torch._C.TensorBase
_DETACH, _CONTIGUOUS, _RESHAPE, _VIEW, _NUMPY = _BASE.detach, _BASE.contiguous, _BASE.reshape, _BASE.view, _BASE.numpy
_NUMEL, _IS_CONTIGUOUS, _STORAGE = _BASE.numel, _BASE.is_contiguous, _BASE.untyped_storage
_SHAPE, _DTYPE = _BASE.shape.__get__, _BASE.dtype.__get__
_STORAGE_BASE: Any = torch._C.StorageBase
_ADDRESS = _STORAGE_BASE.data_ptr
_BYTE = torch.uint8
_KINDS = (torch.Tensor, torch.nn.Parameter)


def returned_values(returned: Any) -> list[Any]:
    """The members of a returned tuple or list (named ones too), or the one value."""
    for kind in (tuple, list):
        if issubclass(type(returned), kind):
            return [*kind.__iter__(returned)]
    return [returned]


def plain_tensor(value: Any, name: str, *more: type) -> torch.Tensor:
    """A new tensor object over the memory of a returned one; Refusal for anything but a tensor, a parameter, or one of
    `more` types."""
    if type(value) not in (*_KINDS, *more):
        kind = type.__getattribute__(type(value), "__name__")
        raise Refusal("structure", "output_type", f"Output {name} is a {kind}; return a plain torch.Tensor.")
    detached: torch.Tensor = _DETACH(value)
    return detached


def tensor_bytes(tensor: torch.Tensor) -> bytes:
    """Contiguous row-major bytes."""
    if not _NUMEL(tensor):
        return b""
    flat = _RESHAPE(_CONTIGUOUS(_DETACH(tensor)), -1)
    data: bytes = _NUMPY(_VIEW(flat, _BYTE)).tobytes()
    return data


def tensor_form(tensor: torch.Tensor) -> tuple[tuple[int, ...], torch.dtype, bool]:
    """Shape, dtype and whether it is contiguous."""
    return tuple(_SHAPE(tensor)), _DTYPE(tensor), _IS_CONTIGUOUS(tensor)


def storage_address(tensor: torch.Tensor) -> int:
    """Where the tensor's memory starts."""
    address: int = _ADDRESS(_STORAGE(tensor))
    return address
