"""Extents as monomials in the spec's axes: `16*hw`, `hidden//2`. Enough algebra to split and merge dimensions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


class Unsupported(Exception):
    """The graph is outside what the templates cover; the message says where. The proposer then offers nothing."""


@dataclass(frozen=True)
class Monomial:
    """`coefficient · Π axis^power`; powers are positive."""

    coefficient: Fraction = Fraction(1)
    powers: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def parse(extent: int | str) -> Monomial:
        """Read an extent of a `graph.Value`."""
        if isinstance(extent, int):
            return Monomial(Fraction(extent))
        product, _, divisor = extent.partition("//")
        coefficient = Fraction(1, int(divisor or 1))
        axes: Counter[str] = Counter()
        for factor in product.strip("()").split("*"):
            if factor.isdigit():
                coefficient *= int(factor)
            else:
                axes[factor] += 1
        return Monomial(coefficient, tuple(sorted(axes.items())))

    def __mul__(self, other: Monomial) -> Monomial:
        return Monomial(self.coefficient * other.coefficient, _combine(self.powers, other.powers, 1))

    def over(self, other: Monomial) -> Monomial | None:
        """The quotient, or None where it is not an extent for every binding of the axes."""
        powers = _combine(self.powers, other.powers, -1)
        coefficient = self.coefficient / other.coefficient
        if any(power < 0 for _, power in powers) or (coefficient.denominator > 1 and not powers):
            return None
        return Monomial(coefficient, powers)

    @property
    def is_one(self) -> bool:
        return self == Monomial()

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(axis for axis, _ in self.powers)

    @property
    def axis(self) -> str | None:
        """The axis that this extent is, if it is one."""
        return self.powers[0][0] if self.coefficient == 1 and len(self.powers) == 1 and self.powers[0][1] == 1 else None

    def value(self, axes: Mapping[str, int]) -> int:
        return int(self.coefficient * math.prod(axes[axis] ** power for axis, power in self.powers))

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """As an expression in Python and Triton, e.g. `16 * hw` or `channels // 32`."""
        names = names or {}
        factors = [names.get(axis, axis) for axis, power in self.powers for _ in range(power)]
        if self.coefficient.numerator != 1 or not factors:
            factors.insert(0, str(self.coefficient.numerator))
        product = " * ".join(factors)
        if self.coefficient.denominator == 1:
            return product
        return (
            f"{product} // {self.coefficient.denominator}"
            if len(factors) == 1
            else f"({product}) // {self.coefficient.denominator}"
        )


def product(extents: list[Monomial]) -> Monomial:
    total = Monomial()
    for extent in extents:
        total = total * extent
    return total


def _combine(a: tuple[tuple[str, int], ...], b: tuple[tuple[str, int], ...], sign: int) -> tuple[tuple[str, int], ...]:
    powers = Counter(dict(a))
    for axis, power in b:
        powers[axis] += sign * power
    return tuple(sorted((axis, power) for axis, power in powers.items() if power))
