"""One shape with more than 2³¹ elements, where 32-bit offsets overflow; its oracle is computed a slice at a time.

That needs an axis along which the reference treats every index alike, such as the tokens of a norm: it must lead every
output and every input that has it, and slices of a small shape must give the slices of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...contract import Check, Spec, Workload
from ...jobs import BuildJob
from ...twins import elements
from ..budget import deviate, thresholds
from ..cases import Case
from ..inputs import Inputs, draw_inputs
from ..observe import Observations
from ..oracle import Oracle
from ..reference import Reference
from .observer import DEVICE, DeviceObserver

SLICE_ELEMENTS = 1 << 26


def slice_axis(spec: Spec, reference: Reference, base: Mapping[str, int]) -> str | None:
    """The axis along which the reference can be computed slice by slice; None where there is none."""
    outputs = spec.outputs
    if not outputs or not all(output.shape and isinstance(output.shape[0], str) for output in outputs):
        return None
    axis = str(outputs[0].shape[0])
    if any(output.shape[0] != axis or axis in output.shape[1:] for output in outputs):
        return None
    having = [tensor.shape for tensor in spec.tensor_inputs if axis in tensor.shape]
    if any(shape[0] != axis or axis in shape[1:] for shape in having):
        return None
    if base[axis] < 2:
        return None
    inputs = draw_inputs(spec, base, b"may it be sliced", device=DEVICE)
    whole = reference.run_float64(inputs)
    cut = base[axis] // 2
    parts = [reference.run_float64(_sliced(spec, inputs, axis, *ends)) for ends in ((0, cut), (cut, base[axis]))]
    same = all(
        torch.allclose(torch.cat([one, two]), true, rtol=1e-12, atol=1e-12, equal_nan=True)
        for one, two, true in zip(parts[0], parts[1], whole, strict=True)
    )
    return axis if same else None


def large_index(seen: Observations, observer: DeviceObserver, jobs: tuple[BuildJob, ...], seed: bytes) -> Check | None:
    """The failed check, or None where the shape was right or there is none. Notes what was compared."""
    spec, reference = seen.spec, seen.oracle.reference
    job = next((job for job in jobs if job.workload.role == "edge" and largest(spec, job.workload) > 1 << 31), None)
    base = next((job.workload.axes for job in jobs if job.workload.role == "twin"), None)
    if job is None or base is None:
        return None
    axis = slice_axis(spec, reference, base)
    if axis is None:
        return None
    case = Case("shapes", job.workload, job.dtypes)
    try:
        (observation,) = observer.run([case])
        inputs = seen.oracle.inputs(case)
        found = _compare(seen, inputs, axis, job.workload, observation.outputs, seed)
    except torch.OutOfMemoryError:
        seen.notes["shapes_large_index"] = "more memory than the device has"
        return None
    seen.notes["shapes_large_index"] = job.workload.label
    return found


def _compare(
    seen: Observations, inputs: Inputs, axis: str, workload: Workload, outputs: tuple[Tensor, ...], seed: bytes
) -> Check | None:
    spec, extent = seen.spec, workload.axes[axis]
    rows = max(1, SLICE_ELEMENTS // max(1, largest(spec, workload) // extent))
    limits = thresholds()
    for start in range(0, extent, rows):
        end = min(extent, start + rows)
        oracle = Oracle(spec, seen.oracle.reference, seed, DEVICE)
        expected = oracle.compute(_sliced(spec, inputs, axis, start, end))
        limit = limits.element_mean_zero if expected.linear else limits.element_otherwise
        for place, declared in enumerate(spec.outputs):
            part = outputs[place][start:end]
            exact, spread, spacing = expected.exact[place], expected.spread[place], expected.half_spacing[place]
            found = deviate(part, exact, spread, spacing, limit)
            if found.count or found.norm_c > limits.norm:
                at = found.first if found.count else (0,)
                got, want = part[at].flatten()[0].item(), exact[at].flatten()[0].item()
                text = (
                    f"{declared.name}[{start + at[0]}, …] is {got:.6g} and should be {want:.6g} at {workload.label}, "
                    "which has more than 2³¹ elements. Offsets must be 64-bit: .to(tl.int64) before the product."
                )
                return Check(
                    name="shapes", status="FAIL", reason=text,
                    facts={"code": "wrong_values", "case": workload.label, "worst_c": found.worst_c},
                )  # fmt: skip
    return None


def largest(spec: Spec, workload: Workload) -> int:
    """Elements of the largest tensor."""
    return elements(spec, workload.axes)


def _sliced(spec: Spec, inputs: Inputs, axis: str, start: int, end: int) -> Inputs:
    names = {tensor.name for tensor in spec.tensor_inputs if tensor.shape and tensor.shape[0] == axis}
    return {name: value[start:end] if name in names else value for name, value in inputs.items()}
