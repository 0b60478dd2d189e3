"""Twins: the dtypes and the small shapes on which Triton's interpreter can stand in for the device.

The interpreter's bfloat16 is wrong, so a spec in a half precision is judged twice: with every half input as float32,
where rounding hides nothing, and with every one as float16, where the candidate's casts are those of the real dtype.
Float64 is never narrowed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

from .contract import Axis, Dtype, Spec, resolve_shape

HALF = ("bfloat16", "float16")
BASE = {1: (61,), 2: (5, 61), 3: (3, 37, 53), 4: (3, 37, 53, 29)}
"""Extents of the base shape by number of axes: odd, prime, less than a usual block, so that masks are needed."""
LARGER = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
MAX_ELEMENTS = 65_536
MAX_VOLUME = 1 << 22
"""Product of all axes: multiplications of a contraction under the interpreter."""
DEVICE_MAX_ELEMENTS = 1 << 24
DEVICE_MAX_VOLUME = 1 << 34
MAX_TRIED = 4000

Feasible = Callable[[Mapping[str, int]], bool]


def twin_dtypes(spec: Spec) -> tuple[dict[str, Dtype], ...]:
    """Dtypes of every tensor input, one binding a twin; the first is the one in which rounding hides least."""
    own: dict[str, Dtype] = {tensor.name: tensor.dtype for tensor in spec.tensor_inputs}
    if not any(dtype in HALF for dtype in own.values()):
        return (own,)
    wide: dict[str, Dtype] = {n: "float32" if d in HALF else d for n, d in own.items()}
    half: dict[str, Dtype] = {n: "float16" if d in HALF else d for n, d in own.items()}
    return wide, half


def nearest(axis: Axis, wanted: int) -> int:
    """The extent in the axis' domain that is nearest to the one wanted; the smaller of two."""
    if axis.choices is not None:
        return min(axis.choices, key=lambda choice: (abs(choice - wanted), choice))
    step = axis.multiple_of
    low, high = math.ceil(axis.min / step) * step, axis.max // step * step
    return min(max(low, round(wanted / step) * step), high)


def elements(spec: Spec, axes: Mapping[str, int]) -> int:
    """Elements of the largest input or output."""
    shapes = [tensor.shape for tensor in spec.tensor_inputs] + [output.shape for output in spec.outputs]
    return max(math.prod(resolve_shape(shape, dict(axes))) for shape in shapes)


def interpretable(spec: Spec, axes: Mapping[str, int]) -> bool:
    """Whether the interpreter runs this shape in about a second."""
    return elements(spec, axes) <= MAX_ELEMENTS and math.prod(axes.values()) <= MAX_VOLUME


def quick_on_device(spec: Spec, axes: Mapping[str, int]) -> bool:
    """Whether the float64 oracle of this shape is a matter of milliseconds on a GPU."""
    return elements(spec, axes) <= DEVICE_MAX_ELEMENTS and math.prod(axes.values()) <= DEVICE_MAX_VOLUME


def base_shape(spec: Spec, feasible: Feasible) -> dict[str, int] | None:
    """A small shape inside domain and WHERE: BASE where it may be, the next larger extents otherwise; None if no
    combination tried is feasible."""
    wanted = itertools.chain(BASE.get(len(spec.axes), BASE[4]), itertools.repeat(3))
    options: list[list[int]] = []
    for (name, axis), first in zip(spec.axes.items(), wanted, strict=False):
        used = [w.axes[name] for w in spec.with_role("tune", "bench")]
        least = [min(axis.choices)] if axis.choices else []
        options.append(list(dict.fromkeys([*least, *(nearest(axis, e) for e in (first, *LARGER, 1)), *used])))
    best = itertools.islice(_by_rank(options), MAX_TRIED)
    bindings = (dict(zip(spec.axes, extents, strict=True)) for extents in best)
    return next((b for b in bindings if elements(spec, b) <= 4 * MAX_ELEMENTS and feasible(b)), None)


def _by_rank(options: list[list[int]]) -> list[tuple[int, ...]]:
    """All combinations, those that depart least from the first options first."""
    ranks = itertools.product(*(range(len(option)) for option in options))
    ordered = sorted(itertools.islice(ranks, 200_000), key=lambda rank: (sum(rank), rank))
    return [tuple(option[r] for option, r in zip(options, rank, strict=True)) for rank in ordered]
