"""A verdict on a device: run the plans, apply the checks, measure, compare what was timed, decide."""

from __future__ import annotations

import dataclasses
import gc
import secrets
from pathlib import Path

import torch

from ...candidate import parse_candidate
from ...contract import Check, Measured, MeasuredTime, Rejected, SandboxUnavailable, Spec, Workload
from ...graph import OpGraph
from ...jobs import BuildJob, JudgeRequest
from ...spec import SpecFolder
from ...targets import TARGETS, Target
from ...wanted import wanted_plans
from ...work import min_bytes, roofline_us
from ..canonical import Untraceable
from ..cases import Case
from ..checks import CHECKS, timed_outputs
from ..observe import Observation, Observations, read_ttir
from ..oracle import Oracle
from ..reference import Reference
from ..trace import trace
from ..verdict import SCREENED, Clerk, apply_checks, feasibility, rung
from .baselines import Baselines, precision
from .device_cases import (
    bench_cases,
    guard_cases,
    lattice_cases,
    layout_cases,
    screen_cases,
    shape_cases,
    transform_cases,
)
from .driver import use_device
from .faults import DeviceFault
from .large import large_index
from .nvml import Card
from .observer import DEVICE, DeviceObserver, DeviceStopped
from .peaks import Peaks, peaks
from .timing import ClocksDisagree, Timed, Timer, Timing


@dataclasses.dataclass(frozen=True)
class DeviceVerdict:
    verdict: Rejected | Measured
    timing: tuple[Timing, ...] = ()
    sticky: bool = False
    """The process must end after its reply: the device's context is lost."""


def judge_on_device(request: JudgeRequest, folder: SpecFolder) -> DeviceVerdict:
    """SandboxUnavailable where there is no device that runs the plans, or where one is missing."""
    card = open_card(request.target)
    spec = folder.spec
    candidate = parse_candidate(request.source, proposer=request.proposer, spec=spec)
    if isinstance(candidate, Rejected):
        return DeviceVerdict(candidate)
    seed = bytes.fromhex(request.seed) if request.seed else secrets.token_bytes(16)
    clerk = Clerk(request, spec, candidate, seed)
    jobs = wanted_plans(
        spec, request.config, feasibility(clerk.candidate, request), bytes.fromhex(request.shape_seed), request.depth
    )
    if not jobs:
        text = "WHERE excludes every small shape of the spec's domain that was tried, so nothing can be run. Widen it."
        return DeviceVerdict(clerk.rejected("shapes", "no_feasible_shape", text))
    observer = DeviceObserver(request, spec, seed, clerk.candidate.id)
    jobs, missing = _available(spec, jobs, observer)
    reference = Reference(folder)
    seen = Observations(
        spec, request.config, request.plans, read_ttir(request.plans, Path(request.blobs_path)),
        Oracle(spec, reference, seed, DEVICE), box=request.box,
    )  # fmt: skip
    if missing:
        seen.unchecked += missing
    try:
        with precision(spec):
            checks = _equivalence(request, seen, observer, jobs, seed)
        if any(check.status == "FAIL" for check in checks) or not request.timed:
            return DeviceVerdict(clerk.decide(checks, seen, card.identity()))
        with precision(spec):
            rung(seen)
        seen.oracle.forget()
        seen.observed.clear()
        return _timed(request, folder, clerk, seen, observer, reference, checks, card, seed)
    except DeviceStopped as stopped:
        return DeviceVerdict(clerk.stopped(stopped), sticky=stopped.sticky)


def _available(
    spec: Spec, jobs: tuple[BuildJob, ...], observer: DeviceObserver
) -> tuple[tuple[BuildJob, ...], list[str]]:
    """Jobs whose plan was given, and the labels of those in the spec's own dtypes that were not. A twin in wider dtypes
    may need more shared memory than there is: it is left out."""
    own = {tensor.name: tensor.dtype for tensor in spec.tensor_inputs}
    given = tuple(job for job in jobs if observer.has(job))
    if not any(job.workload.role == "twin" for job in given):
        raise SandboxUnavailable("no plan of the base shape was given", "judge and builder differ: install one version")
    lost = [f"{job.workload.label} (no plan was given)" for job in jobs if job not in given and job.dtypes == own]
    return given, lost


def open_card(target: str) -> Card:
    """The device that runs plans of that target; SandboxUnavailable where there is none."""
    if not torch.cuda.is_available():
        raise SandboxUnavailable("this machine has no CUDA device", "judge on one that has, or without --judge device")
    use_device()
    major, minor = torch.cuda.get_device_capability()
    if target != f"sm_{major}{minor}":
        raise SandboxUnavailable(
            f"the plans are for {target}, and this device is sm_{major}{minor}",
            f"build with --target sm_{major}{minor}",
        )
    return Card()


def _equivalence(
    request: JudgeRequest, seen: Observations, observer: DeviceObserver, jobs: tuple[BuildJob, ...], seed: bytes
) -> tuple[Check, ...]:
    spec = seen.spec
    seen.observed += observer.run(screen_cases(spec, jobs))
    decided = apply_checks(seen, SCREENED)
    seen.screened_only = request.depth == "screen" or any(check.status == "FAIL" for check in decided)
    if seen.screened_only:
        return decided
    seen.oracle.forget()
    observer.guard(guard_cases(spec, jobs, seed))
    cases, excluded = transform_cases(spec, jobs, seed)
    if excluded:
        seen.notes["transforms_excluded"] = ", ".join(excluded)
    seen.observed += observer.run(lattice_cases(spec, seen.oracle.reference, jobs, DEVICE))
    seen.observed += observer.run([*cases, *layout_cases(jobs), *shape_cases(spec, jobs)])
    seen.notes["shapes_run"] = sum(job.workload.role in ("hidden", "edge") for job in jobs)
    seen.notes["shapes_wide_twin"] = any(job.dtypes != jobs[-1].dtypes for job in jobs)
    for case in bench_cases(jobs):
        _with_oracle(seen, observer.run([case]))
    beyond = large_index(seen, observer, jobs, seed)
    torch.cuda.empty_cache()
    checks = apply_checks(seen, tuple(name for name in CHECKS if name != "physics"))
    if beyond is None:
        return checks
    return tuple(beyond if check.name == "shapes" and check.status != "FAIL" else check for check in checks)


def _with_oracle(seen: Observations, observed: list[Observation]) -> None:
    """Keep those observations whose oracle fits in memory."""
    for one in observed:
        try:
            seen.oracle.expected(one.case)
            seen.observed.append(one)
        except torch.OutOfMemoryError:
            seen.unchecked.append(f"{one.case.label} (more memory than the device has)")
        finally:
            gc.collect()
            seen.oracle.forget()
            torch.cuda.empty_cache()


def _timed(
    request: JudgeRequest, folder: SpecFolder, clerk: Clerk, seen: Observations, observer: DeviceObserver,
    reference: Reference, checks: tuple[Check, ...], card: Card, seed: bytes,
) -> DeviceVerdict:  # fmt: skip
    spec = folder.spec
    measured_card = as_target(TARGETS[request.target], peaks(card))
    graph = _graph(folder)
    timer = Timer(spec, observer, Baselines(spec, reference), card, seed)
    times: list[MeasuredTime] = []
    raw: list[Timing] = []
    floors: dict[str, float] = {}
    for workload in spec.with_role("bench") or spec.with_role("tune"):
        case = Case("budget", workload, {tensor.name: tensor.dtype for tensor in spec.tensor_inputs})
        try:
            timed = timer.time(case, roofline_us(spec, workload, measured_card, graph))
        except DeviceFault as fault:
            raise observer.stopped(fault, case) from fault
        except ClocksDisagree as error:
            return DeviceVerdict(clerk.rejected("timing", "clocks_disagree", f"{error}. Seen at {workload.label}."))
        wrong = _compare_timed(seen, timed)
        if wrong is not None:
            text = f"While the clock ran: {wrong.reason}"
            return DeviceVerdict(clerk.rejected("timing", "timed_output_wrong", text, box=request.box))
        times.append(timed.time)
        raw.append(timed.raw)
        floors[workload.label] = floor_us(spec, workload, measured_card, graph)
        del timed
        seen.oracle.forget()
        torch.cuda.empty_cache()
    seen.times, seen.floors_us = tuple(times), floors
    return DeviceVerdict(clerk.decide((*checks, CHECKS["physics"](seen)), seen, card.identity()), tuple(raw))


def _compare_timed(seen: Observations, timed: Timed) -> Check | None:
    """The failed check, where outputs that were written while the clock ran are wrong."""
    for case, outputs in timed.snapshots:
        try:
            check = timed_outputs(seen, [Observation(case, outputs, {}, {})])
        except torch.OutOfMemoryError:
            seen.unchecked.append(f"{case.label} (more memory than the device has)")
            continue
        finally:
            seen.oracle.forget()
            torch.cuda.empty_cache()
        if check.status == "FAIL":
            return check
    return None


def as_target(target: Target, measured: Peaks) -> Target:
    """The card's data sheet with the rates that were measured on it."""
    return dataclasses.replace(
        target, hbm_gb_per_s=measured.copy_gb_per_s, bf16_tflops=measured.bf16_tflops,
        tf32_tflops=measured.tf32_tflops, fp32_tflops=measured.fp32_tflops,
    )  # fmt: skip


def floor_us(spec: Spec, workload: Workload, card: Target, graph: OpGraph | None) -> float:
    """µs that the least bytes take at the card's bandwidth; 0 where they fit in its L2 cache."""
    count = min_bytes(spec, workload, graph)
    return count / (card.hbm_gb_per_s * 1e3) if count > card.l2_bytes else 0.0


def _graph(folder: SpecFolder) -> OpGraph | None:
    try:
        return trace(folder)
    except Untraceable:
        return None
