"""What `run` returned against what the spec says it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..contract import Launch, Pointer, Step, TensorMap, TensorOutput
from .refusal import Refusal
from .returned import plain_tensor, returned_values
from .storage import Storages, dtype_name


def check_outputs(
    returned: Any,
    expected: Sequence[tuple[TensorOutput, tuple[int, ...], str]],
    storages: Storages,
    steps: Sequence[Step],
) -> list[torch.Tensor]:
    """The returned tensors in the spec's order. Refusal where one has the wrong form or was written by no kernel."""
    values = returned_values(returned)
    if len(values) != len(expected):
        raise Refusal(
            "structure",
            "output_count",
            f"run returns {len(values)} value(s); the spec has {len(expected)} output(s). Return them in its order.",
        )
    written = {
        argument.buffer
        for step in steps
        if isinstance(step, Launch)
        for argument in step.arguments
        if isinstance(argument, Pointer | TensorMap)
    }
    values = [
        plain_tensor(value, output.name, FakeTensor) for value, (output, _, _) in zip(values, expected, strict=True)
    ]
    for value, (output, shape, dtype) in zip(values, expected, strict=True):
        _check_form(value, output.name, shape, dtype)
        _check_memory(value, output.name, storages)
        if value.numel() and storages.buffer(value) not in written:
            raise Refusal(
                "capture",
                "output_not_written",
                f"Output {output.name} is given to no kernel launch. Every output must be written by a kernel.",
            )
    return values


def _check_form(value: torch.Tensor, name: str, shape: tuple[int, ...], dtype: str) -> None:
    if value.device.type != "cuda":
        raise Refusal("structure", "output_device", f"Output {name} is on {value.device}; it must be on the GPU.")
    if tuple(value.shape) != shape:
        raise Refusal(
            "structure", "output_shape", f"Output {name} has shape {tuple(value.shape)}; the spec says {shape}."
        )
    if dtype_name(value.dtype) != dtype:
        raise Refusal(
            "structure", "output_dtype", f"Output {name} has dtype {dtype_name(value.dtype)}; the spec says {dtype}."
        )


def _check_memory(value: torch.Tensor, name: str, storages: Storages) -> None:
    source = storages.input_name(value)
    if source is not None:
        raise Refusal(
            "structure", "output_aliases_input", f"Output {name} shares memory with the input {source}. Allocate it."
        )
    reach = 1
    for stride, extent in sorted((s, n) for s, n in zip(value.stride(), value.shape, strict=True) if n > 1):
        if stride < reach and value.numel():
            raise Refusal(
                "structure",
                "output_overlaps",
                f"Output {name} has elements that share memory (strides {value.stride()}).",
            )
        reach = stride * extent
