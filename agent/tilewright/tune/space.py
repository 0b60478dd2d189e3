"""SPACE as a search sees it: points, their feasibility, neighbours, and their coordinates in an Optuna study."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright_sandbox.contract import Candidate, Config, ConfigValue, Spec
from tilewright_sandbox.expressions import compile_where

COUNTED_POINTS = 20_000
"""Larger spaces are sampled and not enumerated."""


@dataclass(frozen=True)
class Parameter:
    """One name of SPACE that has a choice. Numbers are ordered by size, so that neighbours are near in value."""

    name: str
    choices: tuple[ConfigValue, ...]

    @property
    def ordered(self) -> bool:
        return not isinstance(self.choices[0], bool | str)

    @property
    def log2_low(self) -> int | None:
        """log2 of the first choice, where the choices are consecutive powers of two."""
        low = self.choices[0]
        if not self.ordered or not isinstance(low, int) or low < 1 or low & (low - 1):
            return None
        return low.bit_length() - 1 if all(c == low << i for i, c in enumerate(self.choices)) else None

    def coordinate(self, value: ConfigValue) -> int:
        """What the study calls a value: log2 of it, or its place among the choices."""
        return self.choices.index(value) + (self.log2_low or 0)

    def value(self, coordinate: int) -> ConfigValue:
        return self.choices[coordinate - (self.log2_low or 0)]

    def distribution(self) -> Any:
        """An optuna distribution of the coordinate; names and flags have no order."""
        from optuna.distributions import CategoricalDistribution, IntDistribution

        if not self.ordered:
            return CategoricalDistribution(tuple(range(len(self.choices))))
        low = self.log2_low or 0
        return IntDistribution(low, low + len(self.choices) - 1)


class SearchSpace:
    """SPACE and WHERE of a candidate on the tune and bench workloads of a spec."""

    def __init__(self, candidate: Candidate, spec: Spec) -> None:
        self.names = tuple(candidate.space)
        self.parameters = tuple(
            Parameter(name, choices if isinstance(choices[0], bool | str) else tuple(sorted(choices)))
            for name, choices in candidate.space.items()
            if len(choices) > 1
        )
        self._fixed = {name: choices[0] for name, choices in candidate.space.items() if len(choices) == 1}
        self._conditions = [compile_where(text) for text in candidate.where]
        self._workloads = spec.with_role("tune", "bench")
        self.size = math.prod(len(choices) for choices in candidate.space.values())
        self.feasible: tuple[Config, ...] | None = None
        """Every point that WHERE allows, in order; None where SPACE is too large to enumerate."""
        if self.size <= COUNTED_POINTS:
            self.feasible = tuple(config for config in self.points() if self.violation(config) == 0)

    def points(self) -> Iterator[Config]:
        for values in itertools.product(*(parameter.choices for parameter in self.parameters)):
            yield self.config(dict(zip((p.name for p in self.parameters), values, strict=True)))

    def config(self, values: Mapping[str, ConfigValue]) -> Config:
        """The point with these values, its names in the order of SPACE."""
        merged = {**self._fixed, **values}
        return Config({name: merged[name] for name in self.names})

    def violation(self, config: Config) -> float:
        """0 where WHERE holds on every workload; otherwise the sum over conditions of the worst relative excess."""
        return sum(
            max(where.violation(config, workload.axes) for workload in self._workloads) for where in self._conditions
        )

    def broken_condition(self, config: Config) -> str:
        """The first condition that does not hold, and where."""
        for where in self._conditions:
            for workload in self._workloads:
                if not where.holds(config, workload.axes):
                    return f"{where.text} is false on {workload.label}"
        return ""

    def neighbours(self, config: Config) -> Iterator[Config]:
        """Feasible points one step away in one parameter; every other choice where there is no order."""
        for parameter in self.parameters:
            here = parameter.choices.index(config.root[parameter.name])
            near = (here - 1, here + 1) if parameter.ordered else range(len(parameter.choices))
            for index in near:
                if index != here and 0 <= index < len(parameter.choices):
                    other = self.config({**config.root, parameter.name: parameter.choices[index]})
                    if self.violation(other) == 0:
                        yield other

    def coordinates(self, config: Config) -> dict[str, int]:
        return {p.name: p.coordinate(config.root[p.name]) for p in self.parameters}

    def from_coordinates(self, coordinates: Mapping[str, int]) -> Config:
        return self.config({p.name: p.value(coordinates[p.name]) for p in self.parameters})
