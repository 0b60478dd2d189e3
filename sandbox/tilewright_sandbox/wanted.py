"""Which plans a verdict on a device needs: the shapes and dtypes at which a candidate is captured before it is judged.

Who builds and who judges both work this out from (spec, config, WHERE, shape seed): a judge that misses a plan says so.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Literal

from .contract import DTYPE_BYTES, Config, Spec, TensorInput, TensorOutput, Workload, resolve_shape
from .jobs import BuildJob
from .shapes import choose_shapes, long_shapes
from .twins import Feasible, base_shape, elements, nearest, quick_on_device, twin_dtypes

BLOCK_SHAPES = 6
LATTICE_LONG = 1031
HIDDEN_MAX = 1 << 20
LARGE_BYTES = 24 << 30
"""Of all inputs and outputs of the shape beyond 2³¹ elements."""


def device_dtypes(spec: Spec) -> tuple[dict[str, str], ...]:
    """Of every tensor input: the twin in which rounding hides least, and the spec's own."""
    own = {tensor.name: str(tensor.dtype) for tensor in spec.tensor_inputs}
    wide: Mapping[str, str] = twin_dtypes(spec)[0]
    return (own,) if wide == own else (dict(wide), own)


def wanted_plans(
    spec: Spec, config: Config, feasible: Feasible, shape_seed: bytes, depth: Literal["screen", "full"]
) -> tuple[BuildJob, ...]:
    """Jobs for the builder, each once: the base shape in every dtype, tune and bench workloads in the spec's own, and
    for a full verdict shapes that nobody could foresee. Empty where WHERE admits no small shape."""
    base = base_shape(spec, feasible)
    if base is None:
        return ()
    dtypes = device_dtypes(spec)
    own = dtypes[-1]
    bound = [(Workload(role="twin", axes=base), kinds) for kinds in dtypes]
    bound += [(workload, own) for workload in spec.with_role("tune", "bench")]
    if depth == "full":
        shapes = choose_shapes(
            spec, config, feasible, shape_seed, fits=quick_on_device, hidden_max=HIDDEN_MAX
        )  # fmt: skip
        blocks = list(shapes.blocks)
        random.Random(shape_seed).shuffle(blocks)
        bound += [(workload, dtypes[place % len(dtypes)]) for place, workload in enumerate(shapes.first)]
        bound += [(workload, dtypes[0]) for workload in blocks[:BLOCK_SHAPES]]  # where rounding hides least
        if (large := large_shape(spec, feasible)) is not None:
            bound.append((Workload(role="edge", axes=large), own))
        for axes in long_shapes(spec, feasible, lambda axes: quick_on_device(spec, axes), LATTICE_LONG):
            bound += [(Workload(role="twin", axes=axes), kinds) for kinds in dtypes]
    layouts = [layout for layout in spec.accept.layouts if layout != "contiguous"]
    laid_out = tuple(
        BuildJob(config=config, workload=Workload(role="twin", axes=base), dtypes=dtypes[0], layout=layout)  # type: ignore[arg-type]
        for layout in layouts
    )
    jobs = {
        (workload.role, workload.label, tuple(kinds.items())): BuildJob(config=config, workload=workload, dtypes=kinds)  # type: ignore[arg-type]
        for workload, kinds in bound
    }
    return (*jobs.values(), *(laid_out if depth == "full" else ()))


def large_shape(spec: Spec, feasible: Feasible) -> dict[str, int] | None:
    """A shape whose leading axis is grown until some tensor has more than 2³¹ elements: from the tune and bench
    workloads, or with another axis at its greatest extent. None where the domain has no such shape, or where it would
    take more than LARGE_BYTES."""
    if not spec.outputs or not spec.outputs[0].shape or not isinstance(spec.outputs[0].shape[0], str):
        return None
    name = spec.outputs[0].shape[0]
    starts = [workload.axes for workload in spec.with_role("tune", "bench")]
    starts += [starts[0] | {other: axis.max} for other, axis in spec.axes.items() if other != name]
    for start in starts:
        one = elements(spec, start | {name: 1})
        axes = start | {name: nearest(spec.axes[name], (1 << 31) // one + 1)}
        if elements(spec, axes) > 1 << 31 and _bytes(spec, axes) <= LARGE_BYTES and feasible(axes):
            return axes
    return None


def _bytes(spec: Spec, axes: dict[str, int]) -> int:
    """Of all inputs and outputs."""
    tensors: list[TensorInput | TensorOutput] = [*spec.tensor_inputs, *spec.outputs]
    return sum(DTYPE_BYTES[one.dtype] * math.prod(resolve_shape(one.shape, axes)) for one in tensors)
