"""Which cases a verdict on a device runs over its plans."""

from __future__ import annotations

from collections.abc import Mapping

from ...contract import Dtype, Spec, Workload
from ...jobs import BuildJob
from ...twins import elements
from ..cases import Case
from ..inputs import draw_inputs
from ..lattice import widest_lattice
from ..plan_cases import budget_draws
from ..reference import Reference
from ..transforms import TRANSFORMS

LARGEST = 1 << 31
"""Shapes with more elements have an oracle of their own: see `large`."""
LARGE_VALUES = "×10000 where beyond 1"
AT_SIZE = (
    "a spike of 300 at the end", "one spike of 300", "−inf in the first half of rows", "NaN in some rows",
    "mean 200, spread 1", "all indices the greatest",
)  # fmt: skip
"""Transforms that are run on the tune workload too: what they show needs more than one block."""


def screen_cases(spec: Spec, jobs: tuple[BuildJob, ...]) -> list[Case]:
    """Structure, memory, determinism and budget on the base shape in every dtype, and on the tune workloads."""
    cases: list[Case] = []
    for job in _with_role(jobs, "twin")[:2]:
        first = Case("budget", job.workload, job.dtypes)
        cases += [first, Case("memory", job.workload, job.dtypes, poison="large", twin_of=first)]
        cases += [Case("budget", job.workload, job.dtypes, draw) for draw in budget_draws(spec)]
    for job in _with_role(jobs, "tune"):
        first = Case("budget", job.workload, job.dtypes)
        cases += [first, Case("memory", job.workload, job.dtypes, poison="large", twin_of=first)]
        cases.append(Case("determinism", job.workload, job.dtypes, twin_of=first, repeat=1))
    cases.append(Case("determinism", cases[0].workload, cases[0].dtypes, twin_of=cases[0], repeat=1))
    return cases


def guard_cases(spec: Spec, jobs: tuple[BuildJob, ...], seed: bytes) -> list[Case]:
    """Ordinary and large values on the base shape, for a run on buffers with a guard."""
    cases = []
    for job in _with_role(jobs, "twin")[:2]:
        cases.append(Case("budget", job.workload, job.dtypes))
        inputs = draw_inputs(spec, job.workload.axes, seed, job.dtypes)
        if TRANSFORMS[LARGE_VALUES].admitted(spec, job.workload.axes, inputs, seed):
            cases.append(Case("transforms", job.workload, job.dtypes, LARGE_VALUES))
    return cases


def transform_cases(spec: Spec, jobs: tuple[BuildJob, ...], seed: bytes) -> tuple[list[Case], list[str]]:
    """One case a transform and dtype on the base shape; and the names of those that the domain excludes."""
    cases: list[Case] = []
    excluded: list[str] = []
    for place, job in enumerate(_with_role(jobs, "twin")[:2]):
        inputs = draw_inputs(spec, job.workload.axes, seed, job.dtypes)
        for name, transform in TRANSFORMS.items():
            if place > 0 and not transform.in_half:
                continue
            if transform.admitted(spec, job.workload.axes, inputs, seed):
                cases.append(Case("transforms", job.workload, job.dtypes, name))
            elif name not in excluded:
                excluded.append(name)
    for job in _with_role(jobs, "tune")[:1]:
        names = [case.draw for case in cases if case.dtypes == cases[0].dtypes]
        cases += [Case("transforms", job.workload, job.dtypes, name) for name in names if name in AT_SIZE]
    return cases, excluded


def lattice_cases(spec: Spec, reference: Reference, jobs: tuple[BuildJob, ...], device: str) -> list[Case]:
    """The widest integers on small and long shapes and on tune and bench workloads; {−1, 0, 1} on the small ones."""
    cases: list[Case] = []
    for job in (*_with_role(jobs, "twin"), *_with_role(jobs, "tune", "bench")):
        widest = widest_lattice(reference, spec, job.workload.axes, job.dtypes, device)
        if widest:
            cases.append(Case("lattice", job.workload, job.dtypes, f"lattice:{widest}"))
        elif job.workload.role == "twin" and not cases:
            break  # it does not apply to this operator
        if widest > 1 and job.workload.role == "twin":
            cases.append(Case("lattice", job.workload, job.dtypes, "lattice:1"))
    return cases


def shape_cases(spec: Spec, jobs: tuple[BuildJob, ...]) -> list[Case]:
    """Every hidden and edge shape; every third a second time with other poison."""
    cases: list[Case] = []
    for place, job in enumerate(_with_role(jobs, "hidden", "edge")):
        if elements(spec, job.workload.axes) > LARGEST:
            continue
        first = Case("shapes", job.workload, job.dtypes)
        cases.append(first)
        if place % 3 == 0:
            cases.append(Case("memory", job.workload, job.dtypes, poison="large", twin_of=first))
    return cases


def layout_cases(jobs: tuple[BuildJob, ...]) -> list[Case]:
    """The error budget on inputs that are views."""
    return [Case("shapes", job.workload, job.dtypes, layout=job.layout) for job in jobs if job.layout != "contiguous"]


def bench_cases(jobs: tuple[BuildJob, ...]) -> list[Case]:
    """The error budget at the shapes that are timed."""
    return [Case("shapes", job.workload, job.dtypes) for job in _with_role(jobs, "bench")]


def own_case(workload: Workload, dtypes: Mapping[str, Dtype], slot: int) -> Case:
    """Inputs of one slot of the timed rotation: each slot has values of its own."""
    return Case("budget", workload, dtypes, draw=f"slot:{slot}")


def _with_role(jobs: tuple[BuildJob, ...], *roles: str) -> list[BuildJob]:
    return [job for job in jobs if job.workload.role in roles and job.layout == "contiguous"]
