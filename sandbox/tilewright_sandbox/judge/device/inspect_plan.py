"""A plan was made where candidate code ran: what it says is checked before anything of it reaches the device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ...contract import (
    DTYPE_BYTES,
    Contraction,
    Copy,
    Fill,
    Launch,
    Plan,
    Pointer,
    Spec,
    TensorMap,
    View,
    resolve_shape,
)
from ...jobs import Layout
from .elf import keeps_state

MAX_STEPS = 4096


class PlanRefused(Exception):
    """A plan that may not run, with a stable code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def inspect_plan(plan: Plan, spec: Spec, candidate_id: str) -> None:
    """Raises PlanRefused. Inputs are the spec's own; every view and pointer lies in its buffer; only steps that the
    spec allows; every output is written by a launch."""
    if plan.spec_sha256 != spec.sha256 or plan.candidate_id != candidate_id:
        raise PlanRefused("plan_of_another", "The plan was built for another spec or candidate.")
    if not plan.compiled:
        raise PlanRefused("plan_not_compiled", "The plan was captured, but not compiled.")
    if len(plan.steps) > MAX_STEPS:
        raise PlanRefused("too_many_steps", f"run makes {len(plan.steps)} steps; the limit is {MAX_STEPS}.")
    _inspect_inputs(plan, spec)
    for step in plan.steps:
        if isinstance(step, Contraction) and step.op not in spec.accept.library:
            raise PlanRefused("aten_not_allowed", f"The plan calls {step.op}, which the spec's library does not allow.")
        if not isinstance(step, Launch):
            for view in _views(step):
                _inside(plan, view, step.kind)
            continue
        for argument in step.arguments:
            if isinstance(argument, Pointer | TensorMap) and not (
                0 <= argument.offset_bytes <= plan.buffers[argument.buffer].bytes
            ):
                raise PlanRefused("pointer_outside", f"{step.kernel_name} gets a pointer outside its buffer.")
    pointed = {a.buffer for launch in plan.launches for a in launch.arguments if isinstance(a, Pointer | TensorMap)}
    written = pointed | {s.target.buffer for s in plan.steps if isinstance(s, Contraction)}
    for output in spec.outputs:
        given = plan.outputs.get(output.name)
        if given is None:
            raise PlanRefused("output_missing", f"The plan has no output {output.name}.")
        _inside(plan, given, f"output {output.name}")
        if given.buffer not in written and 0 not in given.shape and not _copied_from(plan, given.buffer, written):
            raise PlanRefused("output_not_computed", f"No kernel of the plan writes {output.name}.")


def _copied_from(plan: Plan, buffer: int, written: set[int]) -> bool:
    return any(isinstance(s, Copy) and s.target.buffer == buffer and s.source.buffer in written for s in plan.steps)


def _inspect_inputs(plan: Plan, spec: Spec) -> None:
    for tensor in spec.tensor_inputs:
        view = plan.inputs.get(tensor.name)
        shape = resolve_shape(tensor.shape, plan.workload.axes)
        if view is None or view.shape != shape or view.dtype != plan.dtypes.get(tensor.name, tensor.dtype):
            raise PlanRefused("inputs_differ", f"The plan's input {tensor.name} is not the spec's.")
        if layout_of(plan) not in spec.accept.layouts:
            raise PlanRefused(
                "inputs_differ", f"The plan's inputs are {layout_of(plan)}, which the spec does not list."
            )
        if plan.buffers[view.buffer].role != "input":
            raise PlanRefused("inputs_differ", f"The plan's input {tensor.name} lies in no input buffer.")
        _inside(plan, view, f"input {tensor.name}")
    places = [plan.inputs[tensor.name].buffer for tensor in spec.tensor_inputs]
    if len(set(places)) != len(places):
        raise PlanRefused("inputs_differ", "Two inputs of the plan share a buffer.")


def _views(step: Fill | Copy | Contraction) -> tuple[View, ...]:
    if isinstance(step, Fill):
        return (step.target,)
    return (step.source, step.target) if isinstance(step, Copy) else (*step.operands, step.target)


def _inside(plan: Plan, view: View, what: str) -> None:
    if not 0 <= view.buffer < len(plan.buffers) or len(view.shape) != len(view.strides):
        raise PlanRefused("view_outside", f"The view of {what} names no buffer.")
    if min((*view.shape, *view.strides, view.offset_bytes), default=0) < 0:
        raise PlanRefused("view_outside", f"The view of {what} has a negative extent, stride or offset.")
    item = DTYPE_BYTES[view.dtype]
    last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
    end = view.offset_bytes + (0 if 0 in view.shape else (last + 1) * item)
    if end > plan.buffers[view.buffer].bytes or view.offset_bytes % item:
        raise PlanRefused("view_outside", f"The view of {what} leaves its buffer.")


def read_cubin(folder: Path, sha256: str) -> bytes:
    """The bytes of that hash. PlanRefused where they are other bytes, or hold variables that outlive a launch."""
    data = (folder / sha256).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise PlanRefused("blob_differs", f"The binary {sha256[:16]} does not have the hash that it is named by.")
    try:
        stateful = keeps_state(data)
    except ValueError as error:
        raise PlanRefused("cubin_not_loaded", f"The binary {sha256[:16]} is no cubin: {error}.") from error
    if stateful:
        text = "A kernel keeps global variables on the device, which outlive a launch. Pass a workspace instead."
        raise PlanRefused("device_state", text)
    return data


def layout_of(plan: Plan) -> Layout:
    """How the plan's inputs lie in their buffers."""
    views = plan.inputs.values()
    if any(view.offset_bytes for view in views):
        return "offset"
    return "contiguous" if all(view.strides == _row_major(view.shape) for view in views) else "strided"


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


def aliases(plan: Plan) -> Mapping[str, str]:
    """Outputs that lie in an input's buffer: output name → input name."""
    owners = {view.buffer: name for name, view in plan.inputs.items()}
    return {name: owners[view.buffer] for name, view in plan.outputs.items() if view.buffer in owners}
