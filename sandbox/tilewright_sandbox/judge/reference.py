"""The reference, executed: in its own dtypes, and in float64 with every cast inside it promoted too."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, Self

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..contract import Spec, resolve_shape
from ..spec import SpecError, SpecFolder
from .inputs import Inputs, torch_dtype

NARROW = (torch.float32, torch.float16, torch.bfloat16)
TO_FLOAT64 = {Tensor.float, Tensor.half, Tensor.bfloat16}


class PromoteFloats(TorchFunctionMode):
    """Inside, every float dtype that torch code asks for is float64: `.float()`, `.to(torch.bfloat16)`, `dtype=…`, and
    the default dtype of `torch.full(shape, 0.1)` and the like."""

    def __enter__(self) -> Self:
        self._default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        torch.set_default_dtype(self._default)

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in TO_FLOAT64:
            return args[0].to(torch.float64)
        promoted = tuple(torch.float64 if _is_narrow(argument) else argument for argument in args)
        named = {name: torch.float64 if _is_narrow(value) else value for name, value in (kwargs or {}).items()}
        return func(*promoted, **named)


def _is_narrow(value: object) -> bool:
    return isinstance(value, torch.dtype) and value in NARROW


class Reference:
    """`reference.py` of a spec folder as a callable. SpecError names file and line where it fails or does not fit."""

    def __init__(self, folder: SpecFolder) -> None:
        self.spec: Spec = folder.spec
        self.file = folder.reference_path
        name = f"tilewright_reference_{folder.spec.reference_sha256[:12]}"
        source = folder.reference_source
        filename = str(self.file)
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        module = ModuleType(name)
        module.__file__ = filename
        try:
            exec(compile(source, filename, "exec"), module.__dict__)
        except Exception as error:
            raise self._failed("cannot be imported", error) from error
        self.function: Callable[..., Any] = module.__dict__["reference"]

    def run(self, inputs: Mapping[str, Any]) -> tuple[Tensor, ...]:
        """Outputs in the spec's order, in the dtypes that the reference gives for these inputs."""
        return self._call(inputs)

    def run_float64(self, inputs: Mapping[str, Any]) -> tuple[Tensor, ...]:
        """The oracle: floating inputs and all casts inside in float64; outputs that were floating are float64."""
        with PromoteFloats():
            return self._call(widen(inputs))

    def check_fits(self, outputs: tuple[Tensor, ...], axes: Mapping[str, int]) -> None:
        """SpecError where shapes or dtypes of a native run differ from what the spec declares."""
        for output, declared in zip(outputs, self.spec.outputs, strict=True):
            shape = resolve_shape(declared.shape, dict(axes))
            if tuple(output.shape) != shape:
                raise SpecError(f'output "{declared.name}" has shape {tuple(output.shape)}, the spec says {shape}',
                                self.file, self._line(), "mend the reference or [outputs]")  # fmt: skip
            if output.dtype != torch_dtype(declared.dtype):
                mend = f"end with .to(torch.{declared.dtype}), or mend [outputs]"
                raise SpecError(f'output "{declared.name}" is {output.dtype}, the spec says {declared.dtype}',
                                self.file, self._line(), mend)  # fmt: skip

    def _call(self, inputs: Mapping[str, Any]) -> tuple[Tensor, ...]:
        arguments = [inputs[item.name] for item in self.spec.inputs]
        device = next((value.device for value in arguments if isinstance(value, Tensor)), torch.device("cpu"))
        try:
            with torch.no_grad(), device:
                result = self.function(*arguments)
        except torch.OutOfMemoryError:
            raise  # the device's failure, not the reference's
        except Exception as error:
            raise self._failed("fails", error) from error
        outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
        if len(outputs) != len(self.spec.outputs) or not all(isinstance(o, Tensor) for o in outputs):
            kinds = ", ".join(type(o).__name__ for o in outputs)
            message = f"returns ({kinds}), the spec has {len(self.spec.outputs)} output(s)"
            raise SpecError(message, self.file, self._line(), "return one tensor for each of [outputs], in order")
        return outputs

    def _line(self) -> int:
        return self.function.__code__.co_firstlineno

    def _failed(self, what: str, error: Exception) -> SpecError:
        lines = [f.lineno for f in traceback.extract_tb(sys.exc_info()[2]) if f.filename == str(self.file)]
        message = str(error).splitlines()[0] if str(error) else ""
        return SpecError(f"{what}: {type(error).__name__}: {message}", self.file, lines[-1] if lines else None,
                         "run reference() on small CPU tensors and mend it")  # fmt: skip


def widen(inputs: Mapping[str, Any]) -> Inputs:
    """Copies in which every floating tensor is float64."""
    return {
        name: value.double() if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in inputs.items()
    }
