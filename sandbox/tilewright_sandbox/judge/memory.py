"""What a run did to memory that was not its own: margins, inputs, outputs left unwritten, values read from outside."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..contract import Dtype, Scalar, Spec, TensorOutput
from ..poison import poison_word
from .observe import Observation, Observations, same_bits
from .pattern import describe_pattern
from .stores import stored_arguments


@dataclass(frozen=True)
class Finding:
    """One defect: a stable code, and where it was seen."""

    code: str
    message: str


def margin_written(spec: Spec, seen: Observation) -> Finding | None:
    """A write outside a buffer."""
    inputs = {tensor.name for tensor in spec.tensor_inputs}
    for name, at in seen.written_outside.items():
        place = f"{-at} bytes before its start" if at < 0 else f"{at} bytes past its end"
        kind = f"input {name}" if name in inputs else f"the buffer {name} that run allocated (t0 is the first)"
        text = f"A kernel writes outside {kind}: about {place}. Mask the store, or mend its offsets."
        return Finding("writes_outside", text)
    return None


def input_changed(seen: Observation) -> Finding | None:
    """An input whose bytes differ after the run."""
    for name, at in seen.changed.items():
        text = (
            f"The input {name} is overwritten (first at element {at}). Inputs are read-only; write into a new tensor."
        )
        return Finding("input_changed", text)
    return None


def writes_input(seen: Observations) -> Finding | None:
    """A store, as TTIR has it, through an argument that is an input: it may restore what it overwrites."""
    for plan in seen.plans:
        for launch in plan.launches if plan.compiled else ():
            kernel = plan.kernels[launch.kernel]
            stored = stored_arguments(seen.ttir[kernel.ttir_sha256])
            for place, argument in enumerate(launch.arguments):
                if place not in stored or isinstance(argument, Scalar):
                    continue
                buffer = plan.buffers[argument.buffer]
                if buffer.role == "input":
                    text = (
                        f"Kernel {kernel.name} has a store through its argument {place + 1}, the input {buffer.name}. "
                        "Inputs are read-only, even where their values are put back: take a workspace."
                    )
                    return Finding("writes_input", text)
    return None


def unwritten(spec: Spec, seen: Observation) -> Finding | None:
    """Elements of an output that still hold the poison. Only NaN poison in a float dtype is proof by itself: arithmetic
    gives a NaN with all bits set only from another one."""
    if seen.case.poison != "nan":
        return None
    for declared, output in zip(spec.outputs, seen.outputs, strict=True):
        left = _still_poison(output, seen)
        if output.is_floating_point() and bool(left.any()):
            text = (
                f"{_some(declared, left)} hold what lay in memory before the run: they are never written, or are "
                "computed from values outside a buffer or between the elements of a strided input. "
                "Let the grid and the masks cover the whole output, and use the strides of the inputs."
            )
            return Finding("unwritten", text)
    return None


def reads_outside(spec: Spec, seen: Observation, twin: Observation) -> Finding | None:
    """Outputs that depend on what lies around or inside unwritten buffers: `seen` and `twin` differ in poison alone."""
    for declared, one, two in zip(spec.outputs, seen.outputs, twin.outputs, strict=True):
        if one.shape != two.shape or one.dtype != two.dtype or same_bits(one, two):
            continue
        left = _still_poison(one, seen) & _still_poison(two, twin)
        if bool(left.any()):
            text = f"{_some(declared, left)} are never written. Let the grid and the masks cover the whole output."
            return Finding("unwritten", text)
        differ = (_bits(one) != _bits(two)).any(-1)
        text = (
            f"{_some(declared, differ)} depend on memory that no kernel wrote or that lies outside a buffer. "
            "Mask the loads and give `other`; write a workspace before it is read."
        )
        return Finding("reads_outside", text)
    return None


def _some(declared: TensorOutput, mask: Tensor) -> str:
    """For example `2 of 305 elements of y (last 2 of 61 along cols)`."""
    where = describe_pattern(mask, declared.shape) if mask.dim() == len(declared.shape) else "another shape"
    return f"{int(mask.sum())} of {mask.numel()} elements of {declared.name} ({where})"


def _bits(tensor: Tensor) -> Tensor:
    """The bytes of every element along a new last dimension."""
    return tensor.contiguous().reshape(*tensor.shape, 1).view(torch.uint8)


def _still_poison(tensor: Tensor, seen: Observation) -> Tensor:
    dtype: Dtype = str(tensor.dtype).removeprefix("torch.")  # type: ignore[assignment]
    word = poison_word(seen.case.poison, dtype)[: tensor.element_size()]
    return (_bits(tensor) == torch.tensor(list(word), dtype=torch.uint8, device=tensor.device)).all(-1)
