"""Plots as inline SVG. Colours come from the page's style, so they follow its light and dark scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

WIDTH, HEIGHT = 720, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 16, 40
LOG_FROM = 6.0
"""Ratio of the largest to the least value from which the vertical axis is logarithmic."""


@dataclass(frozen=True)
class Point:
    """`value_us` None or infinite is a cross on the lower edge. `style` is a class of the style sheet."""

    value_us: float | None
    style: str
    label: str


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    logarithmic: bool

    def at(self, value: float) -> float:
        """Height in the picture."""
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def plot(
    points: Sequence[Point], best: Sequence[float | None], *, across: str, floor_us: float | None = None
) -> Markup:
    """Values in order, a step line of the best so far, and the roofline where there is one.

    `best` has one entry a point, None before there is a best. `across` names the horizontal axis.
    """
    values = [point.value_us for point in points if point.value_us is not None and math.isfinite(point.value_us)]
    axis = _axis([*values, floor_us] if floor_us is not None else values)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(points))

    def x(index: int) -> float:
        return LEFT + step * (index + 0.5)

    parts = [*_grid(axis), *_numbers(len(points), x, across)]
    if floor_us is not None:
        height = axis.at(floor_us)
        parts.append(f'<line class="floor" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text class="floor" x="{WIDTH - RIGHT}" y="{height - 5:.1f}" text-anchor="end">roofline</text>')
    parts.append(_steps(best, x, step, axis))
    parts.extend(_mark(point, x(index), axis) for index, point in enumerate(points))
    title = escape(f"Modelled time in µs by {across}")
    body = "".join(parts)
    return Markup(f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">{body}</svg>')


def _axis(values: Sequence[float]) -> _Axis:
    if not values:
        return _Axis(1, 10, True)
    low, high = min(values), max(values)
    if high / low >= LOG_FROM:
        return _Axis(low / 1.25, high * 1.25, True)
    margin = (high - low) * 0.12 or high * 0.1
    return _Axis(max(0.0, low - margin), high + margin, False)


def _ticks(axis: _Axis) -> list[float]:
    if axis.logarithmic:
        decades = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
        ticks = [base * 10.0**decade for decade in decades for base in (1, 2, 5)]
    else:
        rough = (axis.high - axis.low) / 4
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
        first = math.ceil(axis.low / step)
        ticks = [step * index for index in range(first, first + 8)]
    inside = [tick for tick in ticks if axis.low <= tick <= axis.high]
    return inside if len(inside) <= 7 else inside[:: math.ceil(len(inside) / 7)]


def _grid(axis: _Axis) -> list[str]:
    parts = [f'<text class="unit" x="{LEFT - 10}" y="{HEIGHT - BOTTOM + 20}" text-anchor="end">µs</text>']
    for tick in _ticks(axis):
        height = axis.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text x="{LEFT - 10}" y="{height + 4:.1f}" text-anchor="end">{tick:,.10g}</text>')
    return parts


def _numbers(count: int, x: Callable[[int], float], across: str) -> list[str]:
    every = max(1, math.ceil(count / 16))
    base = HEIGHT - BOTTOM
    parts = [
        f'<text x="{x(index):.1f}" y="{base + 20}" text-anchor="middle">{index + 1}</text>'
        for index in range(0, count, every)
    ]
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    parts.append(f'<text class="unit" x="{WIDTH - RIGHT}" y="{base + 36}" text-anchor="end">{escape(across)}</text>')
    return parts


def _steps(best: Sequence[float | None], x: Callable[[int], float], step: float, axis: _Axis) -> str:
    commands: list[str] = []
    for index, value in enumerate(best):
        if value is None:
            continue
        height = axis.at(value)
        if not commands:
            commands.append(f"M{x(index):.1f} {height:.1f}")
        commands.append(f"V{height:.1f}")
        commands.append(f"H{x(index) + (step / 2 if index == len(best) - 1 else step):.1f}")
    return f'<path class="best" d="{"".join(commands)}"/>' if commands else ""


def _mark(point: Point, across: float, axis: _Axis) -> str:
    title = f"<title>{escape(point.label)}</title>"
    if point.value_us is None or not math.isfinite(point.value_us):
        low, arm = HEIGHT - BOTTOM - 8, 3.5
        cross = f"M{across - arm:.1f} {low - arm}l{2 * arm} {2 * arm}m0 {-2 * arm}l{-2 * arm} {2 * arm}"
        return f'<path class="mark {point.style}" d="{cross}">{title}</path>'
    place = f'cx="{across:.1f}" cy="{axis.at(point.value_us):.1f}"'
    return f'<circle class="dot {point.style}" {place} r="4.5">{title}</circle>'
