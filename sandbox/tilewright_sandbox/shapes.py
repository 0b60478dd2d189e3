"""Which shapes a candidate must get right: edges of the domain and of its blocks, and shapes that nobody could foresee.

A shape at which WHERE does not hold is outside the candidate's domain: it is counted and skipped. Shapes are bounded by
what the interpreter, or the oracle on a device, can run.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .contract import Config, Spec, Workload
from .twins import Feasible, interpretable, nearest

LONG = 131
HIDDEN = 5
UNLIMITED = 1000
DRAWS = 100
"""At most, to find so many hidden shapes that WHERE admits and the interpreter can run."""
HIDDEN_MAX = 300
NOT_BLOCKS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})
SMALL = (3, 2, 5, 1)
SAMPLED = 200


@dataclass(frozen=True)
class Shapes:
    first: tuple[Workload, ...]
    """Hidden draws, the least shape, and one long along each axis: run always."""
    blocks: tuple[Workload, ...]
    """Extents about the config's blocks: run in the order of their cost, up to a limit."""
    infeasible: int
    """Shapes that were wanted and that WHERE excludes."""
    slow: int
    """Edges of the domain that were wanted, feasible, and not quick."""
    domain_share: float
    """Of shapes sampled from the whole domain, the part that WHERE admits."""


def choose_shapes(
    spec: Spec,
    config: Config,
    feasible: Feasible,
    seed: bytes,
    quick: Feasible = lambda axes: True,
    *,
    fits: Callable[[Spec, Mapping[str, int]], bool] = interpretable,
    hidden_max: int = HIDDEN_MAX,
) -> Shapes:
    """Every shape is feasible, inside the domain, and `fits` whatever runs it. `quick` says whether the candidate makes
    few enough accesses there; a hidden shape is drawn again where it does not. The least shape need not be quick."""
    chance = random.Random(int.from_bytes(seed, "little"))
    seen: set[str] = set()
    infeasible = slow = 0

    def admit(
        role: Literal["hidden", "edge"], wanted: Iterable[dict[str, int]], quick: Feasible, most: int = UNLIMITED
    ) -> tuple[Workload, ...]:
        nonlocal infeasible, slow
        admitted: list[Workload] = []
        for axes in wanted:
            if len(admitted) == most:
                break
            bound = {name: nearest(spec.axes[name], extent) for name, extent in axes.items()}
            workload = Workload(role=role, axes=bound)
            if workload.label in seen or not fits(spec, bound):
                continue
            seen.add(workload.label)
            if not feasible(bound):
                infeasible += 1
            elif quick(bound):
                admitted.append(workload)
            elif role == "edge":
                slow += 1
        return tuple(admitted)

    least = admit("edge", [_least(spec)], _always)
    edges = admit("edge", _edges(spec), quick)
    hidden = admit("hidden", _hidden(spec, chance, hidden_max), quick, HIDDEN)
    blocks = admit("edge", _about_blocks(spec, config), _always)
    return Shapes((*least, *edges, *hidden), blocks, infeasible, slow, _domain_share(spec, feasible, chance))


def least_shape(spec: Spec, feasible: Feasible) -> tuple[Workload, ...]:
    """The least shape of the domain, first of all shapes; empty where WHERE or the interpreter excludes it."""
    bound = _least(spec)
    return (Workload(role="edge", axes=bound),) if interpretable(spec, bound) and feasible(bound) else ()


def predicted_accesses(axes: Mapping[str, int], counted: Iterable[tuple[Mapping[str, int], int]]) -> float:
    """At most how many loads and stores a run at a shape makes, from runs at others: the count grows with each extent
    no faster than the extent. The least of the predictions holds. Counts, not seconds: a verdict on a busy machine
    must look at the same shapes as on an idle one."""
    return min((count * _grown(axes, other) for other, count in counted), default=0.0)


def expected_accesses(axes: Mapping[str, int], counted: Iterable[tuple[Mapping[str, int], int]]) -> float:
    """As `predicted_accesses`, but where extents shrink the count falls as it fell from that run to smaller ones."""
    runs = list(counted)
    expected = (
        count * _grown(axes, other) * _shrunk(axes, other) ** _fall(other, count, runs) for other, count in runs
    )
    return min(expected, default=0.0)


def _grown(axes: Mapping[str, int], other: Mapping[str, int]) -> float:
    return math.prod(max(1.0, axes[n] / other[n]) for n in axes)


def _shrunk(axes: Mapping[str, int], other: Mapping[str, int]) -> float:
    return math.prod(min(1.0, axes[n] / other[n]) for n in axes)


def _fall(axes: Mapping[str, int], count: int, runs: list[tuple[Mapping[str, int], int]]) -> float:
    """The power of the number of points with which the count fell from a run to smaller ones, the least of those
    known: 1 where all of it is spread over the grid, 0 where blocks cover every extent or nothing smaller was run."""
    powers = [
        math.log(max(1, count) / max(1, fewer)) / -math.log(_shrunk(smaller, axes))
        for smaller, fewer in runs
        if smaller != axes and all(smaller[n] <= axes[n] for n in axes)
    ]
    return min(max(0.0, min(powers, default=0.0)), 1.0)


def _always(axes: Mapping[str, int]) -> bool:
    return True


def _least(spec: Spec) -> dict[str, int]:
    return {name: nearest(axis, axis.min) for name, axis in spec.axes.items()}


def _hidden(spec: Spec, chance: random.Random, most: int) -> Iterator[dict[str, int]]:
    for _ in range(DRAWS):
        yield {name: _log_uniform(axis.min, min(axis.max, most), chance) for name, axis in spec.axes.items()}


def _log_uniform(low: int, high: int, chance: random.Random) -> int:
    if high <= low:
        return low
    return min(high, int(low * ((high + 1) / low) ** chance.random()))


def _edges(spec: Spec) -> Iterator[dict[str, int]]:
    small = _small(spec)
    for name in _moving(spec):
        yield small | {name: LONG}
        yield small | {name: 1}


def _about_blocks(spec: Spec, config: Config) -> Iterator[dict[str, int]]:
    blocks = sorted({v for n, v in config.root.items() if type(v) is int and v >= 8 and n not in NOT_BLOCKS})
    small, moving = _small(spec), _moving(spec)
    for extent in (e for block in blocks for e in (2 * block + 1, block + 1, block - 1)):
        for name in moving:
            yield small | {name: extent}
    for block in blocks:
        yield {name: block if name in moving else small[name] for name in spec.axes}


def _small(spec: Spec) -> dict[str, int]:
    return {name: SMALL[i % len(SMALL)] for i, name in enumerate(spec.axes)}


def _moving(spec: Spec) -> list[str]:
    return [name for name, axis in spec.axes.items() if axis.min != axis.max]


def long_shapes(spec: Spec, feasible: Feasible, quick: Feasible, extent: int) -> list[dict[str, int]]:
    """For each axis that moves, a feasible shape that is long along it alone. An axis that no output has, along which
    a kernel adds up, is always there; the others where the interpreter is quick."""
    small = _small(spec)
    shapes = []
    for name in _moving(spec):
        bound = {n: nearest(spec.axes[n], e) for n, e in (small | {name: extent}).items()}
        added_up = not any(name in output.shape for output in spec.outputs)
        if interpretable(spec, bound) and feasible(bound) and (added_up or quick(bound)):
            shapes.append(bound)
    return shapes


def _domain_share(spec: Spec, feasible: Feasible, chance: random.Random) -> float:
    def sample() -> Mapping[str, int]:
        return {
            name: chance.choice(axis.choices)
            if axis.choices
            else nearest(axis, _log_uniform(axis.min, axis.max, chance))
            for name, axis in spec.axes.items()
        }

    return sum(feasible(sample()) for _ in range(SAMPLED)) / SAMPLED
