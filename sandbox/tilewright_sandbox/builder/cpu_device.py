"""CPU tensors that look like CUDA tensors to a launcher, and the rule on what a launcher may call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from .arena import Arenas
from .aten_rules import classify_aten, op_name, refusal_text, taken_apart
from .refusal import Refusal
from .source import here

_READS = {"tolist", "numpy", "item", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__array__"}
_READS |= {"__dlpack__", "__contains__"}
_TENSOR = torch._C.TensorBase


class LaunchLog:
    """What `run` does, in order. `own` is true while the worker's or Triton's code runs, not the launcher's."""

    def __init__(self, arenas: Arenas) -> None:
        self.arenas = arenas
        self.launches: list[str] = []
        self.aten: list[str] = []
        self.accesses = 0
        """Loads, stores and atomics so far, of all programs."""
        self.own = False

    @contextmanager
    def own_code(self) -> Iterator[None]:
        before, self.own = self.own, True
        try:
            yield
        finally:
            self.own = before


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


class CudaFace(TorchFunctionMode):
    """`x.device`, `x.is_cuda` and `device="cuda"` as on a machine with one GPU; the memory stays the CPU's."""

    def __init__(self, log: LaunchLog) -> None:
        super().__init__()
        self.log = log

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.log.own or func is torch.device:
            return func(*args, **kwargs)
        attribute = getattr(func, "__self__", None)
        if attribute in (_TENSOR.is_cuda, _TENSOR.is_cpu):
            return attribute is _TENSOR.is_cuda
        if attribute is _TENSOR.device:
            return torch.device("cuda", 0)
        name = getattr(func, "__name__", "")
        if name == "get_device":
            return 0
        if name == "cuda":
            return args[0]
        if name in _READS:
            raise Refusal(
                "capture", "reads_value", f"{here()} reads a tensor's values ({name}). A launcher sees metadata only."
            )
        return func(*map(_on_cpu, args), **{key: _on_cpu(value) for key, value in kwargs.items()})


class AtenRule(TorchDispatchMode):
    """Refuses what the table refuses; moves every fresh allocation into an arena."""

    def __init__(self, log: LaunchLog, library: tuple[str, ...]) -> None:
        super().__init__()
        self.log, self.library = log, library

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and the wrapper would import torch._dynamo: 1.2 s

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.log.own:
            return func(*args, **kwargs)
        with self:
            parts = taken_apart(func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        kind, name = classify_aten(func), op_name(func)
        if kind == "reads_value":
            raise Refusal(
                "capture",
                "reads_value",
                f"{here()} reads a tensor's values (aten.{name}). A launcher sees metadata only.",
            )
        if kind is None or (kind == "contraction" and name not in self.library):
            raise Refusal("policy", "aten_not_allowed", refusal_text(func, here(), self.library), op=f"aten.{name}")
        self.log.aten.append(name)
        with self.log.own_code():
            result = func(*args, **kwargs)
            return tree_map_only(torch.Tensor, lambda tensor: self._adopt(tensor, kind), result)

    def _adopt(self, tensor: torch.Tensor, kind: str) -> torch.Tensor:
        address = tensor.untyped_storage().data_ptr()
        if kind in ("view", "query") or not tensor.numel() or self.log.arenas.at(address) is not None:
            return tensor
        return self.log.arenas.adopt(tensor, keep_values=kind != "allocate")
