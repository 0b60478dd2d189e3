"""Intervals of paired ratios."""

from __future__ import annotations

import random

import pytest

from tilewright_sandbox.judge.device.statistics import median, quantile, ratio_interval


def test_quantiles_are_linear_between_order_statistics() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([1.0, 2.0], 0.0) == 1.0
    assert quantile([1.0, 2.0], 1.0) == 2.0
    assert median([5.0]) == 5.0


def test_interval_holds_the_median_and_narrows_with_blocks() -> None:
    chance = random.Random(3)
    few = ratio_interval([chance.gauss(1.2, 0.02) for _ in range(10)])
    many = ratio_interval([chance.gauss(1.2, 0.02) for _ in range(160)])
    assert few[0] <= few[1] <= few[2]
    assert many[2] - many[0] < few[2] - few[0]
    assert abs(many[1] - 1.2) < 0.01


def test_interval_covers_the_truth_nineteen_times_in_twenty() -> None:
    chance = random.Random(11)
    covered = 0
    for _ in range(200):
        low, _, high = ratio_interval([chance.gauss(1.0, 0.01) for _ in range(20)])
        covered += low <= 1.0 <= high
    assert covered >= 180


def test_same_blocks_same_interval() -> None:
    ratios = [1.0, 1.1, 1.05, 0.99]
    assert ratio_interval(ratios) == ratio_interval(ratios)


@pytest.mark.parametrize("ratio", [1.0, 2.5])
def test_one_ratio_has_no_width(ratio: float) -> None:
    assert ratio_interval([ratio]) == (ratio, ratio, ratio)
