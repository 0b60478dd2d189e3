"""Records the ATen calls of a launcher as Plan steps, and refuses those that the policy does not allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..contract import DTYPE_BYTES, Contraction, Copy, Fill, Step, View
from .aten_rules import classify_aten, op_name, refusal_text, taken_apart
from .guard import Watch
from .source import here
from .storage import Storages

_FILLED_WITH = {"zeros": 0, "zeros_like": 0, "new_zeros": 0, "zero_": 0, "ones": 1, "ones_like": 1, "new_ones": 1}
_FILL_ARGUMENT = {"full": 1, "full_like": 1, "new_full": 2, "fill_": 1, "scalar_tensor": 0}
_CONVOLUTION = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")


class RecordAten(TorchDispatchMode):
    """Sits above FakeTensorMode and sees every ATen call. `steps` grows in program order."""

    def __init__(self, storages: Storages, watch: Watch, library: tuple[str, ...]) -> None:
        super().__init__()
        self.storages, self.watch, self.library = storages, watch, library
        self.steps: list[Step] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        with self:
            parts = taken_apart(func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        kind, name = classify_aten(func), op_name(func)
        if kind is None or (kind == "contraction" and name not in self.library):
            text = refusal_text(func, here(), self.library)
            self.watch.refuse("policy", "aten_not_allowed", text, op=f"aten.{name}")
        if kind == "reads_value":
            self.watch.refuse(
                "capture",
                "reads_value",
                f"{here()} reads a tensor's contents on the host (aten.{name}). Tensors are fake while a launcher is "
                "captured; decide from shapes and dtypes, or inside the kernel.",
            )
        if name == "_to_copy" and not _on_device(args[0]):
            return self._place_constant(args[0], kwargs)
        out = func(*args, **kwargs)
        if kind not in ("query", "view"):
            self._check_device(out, name, args)
            for tensor in _tensors(out):
                if _on_device(tensor):
                    self.storages.add(tensor)
            if kind != "allocate":
                _RECORDERS[kind](self, name, args, kwargs, out)
        return out

    def _check_device(self, out: Any, name: str, args: tuple[Any, ...]) -> None:
        for tensor in _tensors(out):
            if _on_device(tensor) and tensor.device.index not in (None, 0):
                text = f"{here()} uses {tensor.device}. There is one device: x.device."
                self.watch.refuse("policy", "device_not_allowed", text)
        if all(_on_device(tensor) for tensor in _tensors(out)):
            return
        if name == "_to_copy" and _on_device(args[0]):
            self.watch.refuse(
                "capture",
                "reads_value",
                f"{here()} moves a tensor to the host. Tensors are fake during the capture; compute in a kernel.",
            )
        self.watch.refuse(
            "policy",
            "host_tensor_not_allowed",
            f"{here()} makes a tensor on the host. Say device=x.device (aten.{name}).",
        )

    def _emit(self, step: Step, target: torch.Tensor) -> None:
        input_name = self.storages.input_name(target)
        if input_name is not None:
            self.watch.refuse(
                "structure",
                "input_mutated",
                f"{here()} writes to the input {input_name}. Inputs are read only: allocate a tensor for it.",
            )
        if target.numel():
            self.steps.append(step)

    def _fill(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: torch.Tensor) -> None:
        value = _FILLED_WITH.get(name)
        if value is None:
            position = _FILL_ARGUMENT[name]
            given = args[position] if len(args) > position else kwargs.get("fill_value", kwargs.get("value"))
            value = self._constant(given) if isinstance(given, torch.Tensor) else given
        self._emit(Fill(target=self.storages.view(out), value=value), out)

    def _place_constant(self, tensor: torch.Tensor, kwargs: Mapping[str, Any]) -> torch.Tensor:
        """`torch.tensor(2.0, device=…)`: an allocation and a fill. FakeTensorMode would move the real constant."""
        value, dtype = self._constant(tensor), kwargs.get("dtype") or tensor.dtype
        out: torch.Tensor = torch.empty(tensor.shape, dtype=dtype, device=kwargs.get("device") or tensor.device)
        self._check_device(out, "_to_copy", (tensor,))
        self.storages.add(out)
        self._emit(Fill(target=self.storages.view(out), value=value), out)
        return out

    def _constant(self, tensor: torch.Tensor) -> Any:
        """The Python value of a zero-dimensional host tensor made from a literal."""
        constant = getattr(tensor, "constant", None)
        if constant is None or tensor.numel() != 1:
            self.watch.refuse(
                "policy",
                "host_data_not_allowed",
                f"{here()} puts host data on the device. A plan fills with one constant; the rest is a kernel's work.",
            )
        with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            return constant.item()

    def _copy(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        if name in _LAID_OUT:
            _LAID_OUT[name](self, name, args, kwargs, out)
            return
        source: torch.Tensor = args[1 if name == "copy_" else 0]
        if not _on_device(source):
            self._emit(Fill(target=self.storages.view(out), value=self._constant(source)), out)
            return
        self._emit(Copy(source=broadcast(self.storages.view(source), out.shape), target=self.storages.view(out)), out)

    def _join(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: torch.Tensor) -> None:
        dim = (args[1] if len(args) > 1 else kwargs.get("dim", 0)) % out.dim()
        start, whole = 0, self.storages.view(out)
        for tensor in args[0]:
            if name == "cat" and tensor.dim() != out.dim():
                continue  # torch ignores the legacy empty tensor of shape (0,)
            source = self.storages.view(tensor)
            if name == "stack":
                source = source.model_copy(
                    update={
                        "shape": (*source.shape[:dim], 1, *source.shape[dim:]),
                        "strides": (*source.strides[:dim], 0, *source.strides[dim:]),
                    }
                )
            offset = whole.offset_bytes + start * whole.strides[dim] * out.dtype.itemsize
            start += source.shape[dim]
            target = whole.model_copy(update={"shape": source.shape, "offset_bytes": offset})
            if tensor.numel():
                self._emit(Copy(source=source, target=target), out)

    def _pad(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: torch.Tensor) -> None:
        """A fill and a copy into the middle; a negative width cuts off."""
        value = args[2] if len(args) > 2 else kwargs.get("value", 0)
        source, target = self.storages.view(args[0]), self.storages.view(out)
        widths = list(args[1])
        for axis, (before, after) in enumerate(zip(widths[::2], widths[1::2], strict=True), 1):
            inner = source.shape[-axis] - max(0, -before) - max(0, -after)
            source = _window(source, out.dim() - axis, max(0, -before), inner)
            target = _window(target, out.dim() - axis, max(0, before), inner)
        if target.shape != tuple(out.shape):
            self._emit(Fill(target=self.storages.view(out), value=value), out)
        if math.prod(target.shape):
            self._emit(Copy(source=source, target=target), out)

    def _repeat(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: torch.Tensor) -> None:
        """One copy in which every axis is two: which repetition, and where in it."""
        source, target = self.storages.view(args[0]), self.storages.view(out)
        missing = out.dim() - len(source.shape)
        shape, strides = (1,) * missing + source.shape, (0,) * missing + source.strides
        if not out.numel():
            return
        axes = list(zip(shape, strides, target.shape, target.strides, strict=True))
        twofold = tuple(n for part, _, whole, _ in axes for n in (whole // part, part))
        read = tuple(n for _, stride, _, _ in axes for n in (0, stride))
        written = tuple(n for part, _, _, stride in axes for n in (part * stride, stride))
        source = source.model_copy(update={"shape": twofold, "strides": read})
        self._emit(Copy(source=source, target=target.model_copy(update={"shape": twofold, "strides": written})), out)

    def _contraction(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: torch.Tensor) -> None:
        operands = [tensor for tensor in args[:3] if isinstance(tensor, torch.Tensor)]
        parameters: dict[str, Any] = {}
        if name == "convolution":
            parameters = {
                key: list(value) if isinstance(value, list | tuple) else value
                for key, value in zip(_CONVOLUTION, args[3:], strict=True)
            }
        elif name in ("addmm", "baddbmm"):
            parameters = {"beta": kwargs.get("beta", 1), "alpha": kwargs.get("alpha", 1)}
        views = tuple(self.storages.view(operand) for operand in operands)
        step = Contraction(op=name, operands=views, target=self.storages.view(out), parameters=parameters)  # type: ignore[arg-type]
        self._emit(step, out)


_RECORDERS: dict[str, Callable[..., None]] = {
    "fill": RecordAten._fill,
    "copy": RecordAten._copy,
    "contraction": RecordAten._contraction,
}


_LAID_OUT: dict[str, Callable[..., None]] = {
    "cat": RecordAten._join,
    "stack": RecordAten._join,
    "constant_pad_nd": RecordAten._pad,
    "repeat": RecordAten._repeat,
}
"""Copies of which a part of the output is the target, or the source comes more than once."""


def _window(view: View, axis: int, start: int, extent: int) -> View:
    """`view.narrow(axis, start, extent)`."""
    shape = (*view.shape[:axis], extent, *view.shape[axis + 1 :])
    offset = view.offset_bytes + start * view.strides[axis] * DTYPE_BYTES[view.dtype]
    return view.model_copy(update={"shape": shape, "offset_bytes": offset})


def broadcast(view: View, shape: Iterable[int]) -> View:
    """The view read as `shape` under torch's broadcasting rules: expanded extents have stride 0."""
    shape = tuple(shape)
    missing = len(shape) - len(view.shape)
    old_shape, old_strides = (1,) * missing + view.shape, (0,) * missing + view.strides
    strides = tuple(
        0 if old == 1 != new else stride for old, new, stride in zip(old_shape, shape, old_strides, strict=True)
    )
    return view.model_copy(update={"shape": shape, "strides": strides})


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def _on_device(tensor: torch.Tensor) -> bool:
    return bool(tensor.device.type == "cuda")


class AnswerHost(TorchFunctionMode):
    """Answers the few tensor methods that fake tensors cannot: addresses, and moves to "the" CUDA device."""

    def __init__(self, storages: Storages, watch: Watch) -> None:
        super().__init__()
        self.storages, self.watch = storages, watch

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.data_ptr:
            return self.storages.address(args[0])
        if func in (torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.tolist):
            self.watch.refuse(
                "capture",
                "reads_value",
                f"{here()} reads a tensor's contents on the host ({func.__name__}). Tensors are fake while a launcher "
                "is captured; compute in a kernel.",
            )
        if func is torch.Tensor.cuda:
            func, args, kwargs = torch.Tensor.to, (args[0], _DEVICE), {}
        elif func is torch.Tensor.to:
            args = tuple(_indexed(value) for value in args)
            kwargs = {key: _indexed(value) for key, value in kwargs.items()}
        return func(*args, **kwargs)


_DEVICE = torch.device("cuda", 0)


def _indexed(value: Any) -> Any:
    """`cuda` without an index means device 0."""
    return _DEVICE if value == "cuda" or value == torch.device("cuda") else value
