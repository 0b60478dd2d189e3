"""Which cases a verdict runs: a few that decide most failures at once, then everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..contract import Spec, Workload
from ..twins import twin_dtypes
from .cases import Case
from .inputs import draw_inputs
from .lattice import widest_lattice
from .reference import Reference
from .transforms import TRANSFORMS


def screen_cases(spec: Spec, base: Mapping[str, int]) -> list[Case]:
    """Structure, memory and budget on the base shape, in every twin."""
    workload = Workload(role="twin", axes=dict(base))
    cases: list[Case] = []
    for dtypes in twin_dtypes(spec):
        first = Case("budget", workload, dtypes)
        cases += [first, Case("memory", workload, dtypes, poison="large", twin_of=first)]
        cases += [Case("budget", workload, dtypes, draw) for draw in budget_draws(spec)]
    return cases


def last_first(case: Case) -> Case:
    """The same run, from the last program of each grid to the first."""
    return replace(case, group="determinism", twin_of=case, repeat=1, program_order="reversed")


def budget_draws(spec: Spec) -> list[str]:
    bounded = any(t.low is not None or t.high is not None or t.fill == "uniform" for t in spec.tensor_inputs)
    return ["again"] if bounded else ["again", "signed_lognormal"]


def lattice_cases(spec: Spec, reference: Reference, shapes: Iterable[Mapping[str, int]]) -> list[Case]:
    """The widest integers at every shape and twin, and {−1, 0, 1} at the first; empty where the test does not apply."""
    cases: list[Case] = []
    for place, axes in enumerate(shapes):
        workload = Workload(role="twin", axes=dict(axes))
        for dtypes in twin_dtypes(spec):
            widest = widest_lattice(reference, spec, axes, dtypes)
            if widest:
                cases.append(Case("lattice", workload, dtypes, f"lattice:{widest}"))
            if widest > 1 and place == 0:
                cases.append(Case("lattice", workload, dtypes, "lattice:1"))
    return cases


def transform_cases(spec: Spec, base: Mapping[str, int], seed: bytes) -> tuple[list[Case], list[str]]:
    """One case a transform, two where the half twin may tell more; and the names of those that the domain excludes."""
    workload = Workload(role="twin", axes=dict(base))
    cases, excluded = [], []
    for place, dtypes in enumerate(twin_dtypes(spec)):
        inputs = draw_inputs(spec, base, seed, dtypes)
        for name, transform in TRANSFORMS.items():
            if place > 0 and not transform.in_half:
                continue
            if transform.admitted(spec, base, inputs, seed):
                cases.append(Case("transforms", workload, dtypes, name))
            elif name not in excluded:
                excluded.append(name)
    return cases, excluded


def layout_cases(spec: Spec, base: Mapping[str, int]) -> list[Case]:
    workload, dtypes = Workload(role="twin", axes=dict(base)), twin_dtypes(spec)[0]
    return [Case("shapes", workload, dtypes, layout=layout) for layout in spec.accept.layouts if layout != "contiguous"]


def shape_cases(spec: Spec, workloads: Iterable[Workload], start: int = 0, *, any_order: bool = True) -> list[Case]:
    """Twins alternate; every third shape runs a second time with other poison, and every third with the last program of
    each grid first, unless not `any_order`. `start`: how many shapes came before."""
    twins = twin_dtypes(spec)
    cases: list[Case] = []
    for i, workload in enumerate(workloads, start):
        first = Case("shapes", workload, twins[i % len(twins)])
        if i % 3 == 1 and any_order:
            first = replace(first, program_order="reversed")
        cases.append(first)
        if i % 3 == 0:
            cases.append(Case("memory", workload, first.dtypes, poison="large", twin_of=first))
    return cases
