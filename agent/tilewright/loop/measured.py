"""What a verdict's measured times amount to: means over workloads, whether they are a win, and what is left to win."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tilewright_sandbox.contract import Measured, MeasuredTime, Rejected, Spec, Workload


def measured_times(verdict: Measured | Rejected | None) -> tuple[MeasuredTime, ...]:
    times = verdict.times if isinstance(verdict, Measured) else ()
    return tuple(time for time in times if isinstance(time, MeasuredTime))


def timed_workloads(spec: Spec) -> tuple[Workload, ...]:
    """What a device measures: the bench workloads, or those for tuning where there are none."""
    return spec.with_role("bench") or spec.with_role("tune")


def weighted(times: Sequence[MeasuredTime], figure: Callable[[MeasuredTime], float]) -> float | None:
    """Geometric mean of a figure over the workloads, by their weights; 0 where one is 0, None where there are none."""
    if not times:
        return None
    if any(figure(time) <= 0 for time in times):
        return 0.0
    total = sum(time.workload.weight for time in times)
    return math.exp(sum(time.workload.weight * math.log(figure(time)) for time in times) / total)


def median_us(times: Sequence[MeasuredTime]) -> float | None:
    return weighted(times, lambda time: time.median_us)


def of_roofline(times: Sequence[MeasuredTime]) -> float | None:
    """Time over that of the roofline at the card's measured peaks, 1 at best."""
    return weighted(times, lambda time: time.median_us / time.roofline_us)


def speedup(times: Sequence[MeasuredTime]) -> tuple[float, float, float] | None:
    """Low, mid, high of the paired ratio against the strongest baseline of each workload."""
    low, mid, high = (weighted(times, lambda time, end=end: time.ratio[end]) for end in range(3))  # type: ignore[misc]
    return None if low is None or mid is None or high is None else (low, mid, high)


def shortfalls(times: Sequence[MeasuredTime], min_speedup: float) -> tuple[str, ...]:
    """Workloads on which the speed-up is not proved; empty where it is a win on each."""
    return tuple(
        f"the lower end of the speed-up is {time.ratio[0]:.3f}, less than min_speedup {min_speedup}, "
        f"at {time.workload.label}"
        for time in times
        if time.ratio[0] < min_speedup or not time.faster
    )


def verdict_obstacles(verdict: Measured | Rejected, spec: Spec) -> tuple[str, ...]:
    """Why a verdict is not enough, all reasons: checks that were not run, workloads without a time or without a win."""
    if isinstance(verdict, Rejected):
        return (f"it was rejected at {verdict.stage}: {verdict.message}",)
    times = measured_times(verdict)
    timed = {time.workload.label for time in times}
    untimed = [w.label for w in timed_workloads(spec) if w.label not in timed] if verdict.device_uuid else []
    return (
        *verdict.obstacles,
        *(f"no time was measured at {label}" for label in untimed),
        *shortfalls(times, spec.accept.min_speedup),
    )


def headroom(times: Sequence[MeasuredTime]) -> tuple[float, MeasuredTime] | None:
    """The workload on which the strongest baseline is nearest to the roofline, and its time over the roofline's."""
    found = [(time.baselines_us[time.strongest] / time.roofline_us, time) for time in times if time.strongest]
    return min(found, key=lambda pair: pair[0], default=None)
