"""`judge`: run the cases, apply the checks, decide. The first check to fail, in the order of STAGES, is the verdict."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from ..candidate import parse_candidate
from ..contract import (
    STAGES,
    Candidate,
    Check,
    CheckName,
    Measured,
    Rejected,
    SandboxUnavailable,
    Spec,
    Stage,
    Time,
    Workload,
)
from ..expressions import compile_where
from ..identity import Identity
from ..jobs import JudgeRequest
from ..shapes import choose_shapes, expected_accesses, least_shape, long_shapes, predicted_accesses
from ..spec import SpecFolder
from ..targets import TARGETS
from ..twins import Feasible, base_shape
from .checks import CHECKS
from .observe import Observation, Observations, Observer, Stopped, read_ttir, same_bits
from .oracle import Oracle
from .plan_cases import last_first, lattice_cases, layout_cases, screen_cases, shape_cases, transform_cases
from .reference import Reference
from .transforms import TRANSFORMS

SCREENED: tuple[CheckName, ...] = ("structure", "memory", "determinism", "budget", "ir")
LATTICE_LONG = 263
LATTICE_ACCESSES = 400
"""Loads and stores of one shape, predicted; the interpreter makes about a thousand a second."""
SHAPE_ACCESSES = 1500
BLOCK_SHAPES_ACCESSES = 3000
"""In all."""


def judge(request: JudgeRequest, folder: SpecFolder) -> Rejected | Measured:
    """The verdict on one config. SpecError and SandboxUnavailable are the spec's and the machine's failures."""
    candidate = parse_candidate(request.source, proposer=request.proposer, spec=folder.spec)
    if isinstance(candidate, Rejected):
        return candidate
    seed = bytes.fromhex(request.seed) if request.seed else secrets.token_bytes(16)
    clerk = Clerk(request, folder.spec, candidate, seed)
    decided: list[Check] = []

    def enough(seen: Observations) -> bool:
        decided[:] = apply_checks(seen, SCREENED)
        return request.depth == "screen" or any(check.status == "FAIL" for check in decided)

    try:
        seen = gather(request, folder, candidate, seed, enough)
    except Stopped as stopped:
        return clerk.stopped(stopped)
    if seen is None:
        text = "WHERE excludes every small shape of the spec's domain that was tried, so nothing can be run. Widen it."
        return clerk.rejected("shapes", "no_feasible_shape", text)
    return clerk.decide(tuple(decided) if seen.screened_only else apply_checks(seen, tuple(CHECKS)), seen)


def gather(
    request: JudgeRequest,
    folder: SpecFolder,
    candidate: Candidate,
    seed: bytes,
    enough: Callable[[Observations], bool],
) -> Observations | None:
    """Run the candidate over its cases in one session. `enough` looks at the screening cases and says whether to stop
    there. None where WHERE admits no shape; Stopped where the candidate fails to run."""
    spec, feasible = folder.spec, feasibility(candidate, request)
    base = base_shape(spec, feasible)
    if base is None:
        return None
    with Observer(request, spec, seed) as observer:
        seen = Observations(spec, request.config, request.plans, _ttir(request), Oracle(spec, Reference(folder), seed))
        seen.box = observer.label
        screened = screen_cases(spec, base)
        seen.observed += observer.run(screened)
        try:
            seen.observed += observer.run([last_first(screened[0])])
        except Stopped as stopped:
            if stopped.failed.rejected.code != "timeout":
                raise
            seen.programs_wait = True
        seen.screened_only = enough(seen)
        if not seen.screened_only:
            _observe_rest(request, seen, observer, base, feasible, seed)
    return seen


def feasibility(candidate: Candidate, request: JudgeRequest) -> Feasible:
    conditions = [compile_where(text) for text in candidate.where]
    return lambda axes: all(where.holds(request.config, axes) for where in conditions)


def _ttir(request: JudgeRequest) -> dict[str, str]:
    try:
        return read_ttir([plan for plan in request.plans if plan.compiled], Path(request.blobs_path))
    except FileNotFoundError as error:
        raise SandboxUnavailable(
            f"a kernel's TTIR is missing: {error.filename}", "write the build's blobs first"
        ) from error


def _observe_rest(
    request: JudgeRequest,
    seen: Observations,
    observer: Observer,
    base: Mapping[str, int],
    feasible: Feasible,
    seed: bytes,
) -> None:
    spec = seen.spec
    cases, excluded = transform_cases(spec, base, seed)
    if excluded:
        seen.notes["transforms_excluded"] = ", ".join(excluded)
    seen.observed += observer.run([*lattice_cases(spec, seen.oracle.reference, _lattice_shapes(seen, base, feasible))])
    seen.observed += observer.run(cases)
    again = [] if seen.programs_wait else [case for case in cases if TRANSFORMS[case.draw].shows_order]
    seen.observed += observer.run([last_first(case) for case in again])
    if seen.order_dependent():  # then by how much, on all hostile inputs
        seen.observed += observer.run([last_first(case) for case in cases if case not in again])
    least = least_shape(spec, feasible)  # run before the others are chosen: it tells how the count falls
    any_order = not seen.programs_wait
    seen.observed += observer.run([*layout_cases(spec, base), *shape_cases(spec, least, any_order=any_order)])
    counted = _counted(seen)
    chosen = choose_shapes(
        spec, request.config, feasible, seed, lambda axes: expected_accesses(axes, counted) <= SHAPE_ACCESSES
    )
    others = chosen.first[len(least) :]
    seen.observed += observer.run(shape_cases(spec, others, len(least), any_order=any_order))
    left_out = _observe_blocks(seen, observer, chosen.blocks)
    seen.notes |= {
        "shapes_run": len(chosen.first) + len(chosen.blocks) - left_out, "shapes_infeasible": chosen.infeasible,
        "shapes_too_slow": chosen.slow + left_out, "shapes_domain_share": round(chosen.domain_share, 3),
    }  # fmt: skip


def _lattice_shapes(seen: Observations, base: Mapping[str, int], feasible: Feasible) -> list[Mapping[str, int]]:
    """The base, and shapes long along one axis."""
    counted = _counted(seen)
    return [
        base,
        *long_shapes(
            seen.spec, feasible, lambda axes: predicted_accesses(axes, counted) <= LATTICE_ACCESSES, LATTICE_LONG
        ),
    ]


def _counted(seen: Observations) -> list[tuple[Mapping[str, int], int]]:
    return [(one.case.workload.axes, one.accesses) for one in seen.observed]


def _observe_blocks(seen: Observations, observer: Observer, workloads: tuple[Workload, ...]) -> int:
    """Run shapes about the config's blocks, the cheapest first, each prediction made from all runs before it; how many
    were left out."""
    left, spent = list(workloads), 0
    while left:
        counted = _counted(seen)
        cheapest = min(left, key=lambda workload: predicted_accesses(workload.axes, counted))
        if spent + predicted_accesses(cheapest.axes, counted) > BLOCK_SHAPES_ACCESSES:
            break
        left.remove(cheapest)
        place = len(workloads) - len(left)
        observed = observer.run(shape_cases(seen.spec, [cheapest], place, any_order=not seen.programs_wait))
        spent += sum(one.accesses for one in observed)
        seen.observed += observed
    return len(left)


def apply_checks(seen: Observations, names: tuple[CheckName, ...]) -> tuple[Check, ...]:
    """Checks in the order of STAGES. Structure comes first: where it fails, outputs cannot be compared."""
    checks: list[Check] = []
    for name in sorted(names, key=STAGES.index):
        checks.append(CHECKS[name](seen))
        if name == "structure" and checks[-1].status == "FAIL":
            break
    return tuple(checks)


class Clerk:
    """Makes the verdict's records for one request."""

    def __init__(self, request: JudgeRequest, spec: Spec, candidate: Candidate, seed: bytes) -> None:
        self.request, self.spec, self.candidate, self.seed = request, spec, candidate, seed

    def rejected(
        self, stage: Stage, code: str, message: str, checks: tuple[Check, ...] = (), box: str = ""
    ) -> Rejected:
        facts = next((check.facts for check in checks if check.name == stage), {})
        return Rejected(
            candidate_id=self.candidate.id, stage=stage, code=code, message=message, config=self.request.config,
            evidence={key: value for key, value in facts.items() if key != "code"}, checks=checks, box=box,
        )  # fmt: skip

    def stopped(self, stopped: Stopped) -> Rejected:
        if stopped.failed.unsupported:
            text = (
                f"Triton's interpreter cannot run this candidate ({stopped.failed.unsupported}), and this machine has "
                "no device to run it on. Judge it on a GPU, or write it without that construct."
            )
            return self.rejected("launch", "not_interpretable", text, box=stopped.box)
        failed = stopped.failed.rejected
        evidence = failed.evidence | {"case": stopped.case.label}
        message = f"{failed.message.rstrip().removesuffix('.')}. Seen at {stopped.case.label}."
        return failed.model_copy(update={"box": stopped.box, "evidence": evidence, "message": message})

    def decide(
        self, checks: tuple[Check, ...], seen: Observations, device: Identity | None = None
    ) -> Rejected | Measured:
        """`device` where the plans ran on one."""
        failed = next((check for check in checks if check.status == "FAIL"), None)
        if failed is not None:
            return self.rejected(failed.name, str(failed.facts["code"]), failed.reason, checks, seen.box)
        ran = {check.name for check in checks}
        left = tuple(
            Check(name=name, status="NOT_RUN", reason="screened only: the rest of the checks was not asked for")
            for name in CHECKS
            if name not in ran
        )
        compiled = bool(self.request.plans) and all(plan.compiled for plan in self.request.plans)
        return Measured(
            candidate_id=self.candidate.id, config=self.request.config,
            evidence=f"device: {device.name}" if device else f"interpreter + compiled for {self.request.target}"
            if compiled else "interpreter", device_uuid=device.uuid if device else None,
            target=self.request.target, checks=tuple(sorted((*checks, *left), key=lambda c: STAGES.index(c.name))),
            rung=rung(seen), times=seen.times if device else self._times(),
            plans=tuple(plan.sha256 for plan in self.request.plans),
            hybrid=any(plan.hybrid for plan in self.request.plans), box=seen.box,
            seed_commitment=hashlib.sha256(self.seed).hexdigest(), seed=self.seed.hex(),
        )  # fmt: skip

    def _times(self) -> tuple[Time, ...]:
        from ..modelled import modelled_time

        target = TARGETS.get(self.request.target)
        if target is None:
            return ()
        return tuple(modelled_time(self.spec, plan, target) for plan in self.request.plans if plan.compiled)


def rung(seen: Observations) -> Literal["bitwise", "within budget"]:
    """Bitwise where every output of every case is the reference's own, bit for bit, in the case's dtypes; all NaN are
    one."""
    if seen.bitwise is None:
        seen.bitwise = all(_is_native(seen, one) for one in seen.observed)
    return "bitwise" if seen.bitwise else "within budget"


def _is_native(seen: Observations, one: Observation) -> bool:
    native = seen.oracle.expected(one.case).native
    return all(_same_bits(output, own) for output, own in zip(one.outputs, native, strict=True))


def _same_bits(one: Tensor, other: Tensor) -> bool:
    if one.dtype != other.dtype or not one.is_floating_point():
        return same_bits(one, other)
    return same_bits(one.where(~one.isnan(), torch.nan), other.where(~other.isnan(), torch.nan))
