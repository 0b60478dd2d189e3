"""Numbers and names as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .data import Pairs


def microseconds(value_us: float | None) -> str:
    """Three or four significant digits with the unit; a dash where there is no finite time."""
    if value_us is None or not math.isfinite(value_us):
        return "–"
    if value_us >= 10_000:
        return f"{value_us / 1000:,.1f} ms"
    return (
        f"{value_us:,.0f} µs" if value_us >= 1000 else f"{value_us:.1f} µs" if value_us >= 10 else f"{value_us:.2f} µs"
    )


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes >= 60
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )


def figure(value: bool | int | float | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def facts(values: Mapping[str, bool | int | float | str]) -> Pairs:
    return tuple((name.replace("_", " "), figure(value)) for name, value in values.items())


def times(ratio: float) -> str:
    return f"{ratio:.2f}×"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
