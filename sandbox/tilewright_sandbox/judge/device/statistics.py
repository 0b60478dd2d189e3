"""Medians, quantiles, and the bootstrap interval of paired ratios. Times in µs."""

from __future__ import annotations

import random
from collections.abc import Sequence

RESAMPLES = 2000


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between order statistics; `values` is not empty."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def ratio_interval(ratios: Sequence[float], seed: int = 0) -> tuple[float, float, float]:
    """Low, mid and high of the median ratio: percentile bootstrap over blocks, 95 %. One ratio has no width."""
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    chance = random.Random(seed)
    medians = [median(chance.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)]
    return quantile(medians, 0.025), median(ratios), quantile(medians, 0.975)
