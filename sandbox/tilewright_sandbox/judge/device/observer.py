"""Run a candidate's plans over a list of cases on the device and keep what came back. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from ...contract import Plan, Rejected, SandboxUnavailable, Spec
from ...jobs import BuildJob, InterpretFailed, JudgeRequest
from ..cases import Case, case_inputs
from ..observe import Observation, Stopped, flat_bytes, same_bits
from .arena import Arena
from .executor import Bound, KernelCache, wait
from .faults import DeviceFault
from .guarded import guarded
from .inspect_plan import PlanRefused, aliases, inspect_plan, layout_of, read_cubin

DEVICE = "cuda"
MEMORY_SHARE = 0.45
"""Of the device's free memory, that the buffers of one plan may take: the oracle needs as much again."""


class DeviceStopped(Stopped):
    """As Stopped; `sticky` where the judge's process must end after its reply."""

    def __init__(self, rejected: Rejected, case: Case, box: str, *, sticky: bool = False) -> None:
        super().__init__(InterpretFailed(rejected=rejected), case, box)
        self.sticky = sticky


class DeviceObserver:
    """The plans of one request, ready to run: `observer.run(cases)`."""

    def __init__(self, request: JudgeRequest, spec: Spec, seed: bytes, candidate_id: str) -> None:
        self.request, self.spec, self.seed, self.candidate_id = request, spec, seed, candidate_id
        self.label = request.box
        blobs = Path(request.blobs_path)
        self.kernels = KernelCache(lambda sha256: read_cubin(blobs, sha256))
        self._plans = {plan_key(plan.workload.label, plan.dtypes, layout_of(plan)): plan for plan in request.plans}
        self._inspected: set[str] = set()

    def plan(self, case: Case) -> Plan:
        """The plan that runs a case; SandboxUnavailable where whoever built them left it out."""
        plan = self._plans.get(plan_key(case.workload.label, case.dtypes, case.layout))
        if plan is None:
            raise SandboxUnavailable(
                f"no plan was built for {case.label}", "judge and builder differ: install one version"
            )
        return plan

    def has(self, job: BuildJob) -> bool:
        return plan_key(job.workload.label, job.dtypes, job.layout) in self._plans

    def run(self, cases: Iterable[Case]) -> list[Observation]:
        """Observations in order. DeviceStopped where a plan fails."""
        return [self._run(case) for case in cases]

    def bind(self, case: Case, arena: Arena) -> Bound:
        """The case's plan on those buffers. DeviceStopped where it cannot be loaded."""
        plan = self.plan(case)
        try:
            return Bound(plan, self.kernels.of(plan), arena)
        except (DeviceFault, PlanRefused) as error:
            raise self.stopped(error, case) from error

    def inspect(self, case: Case) -> Plan:
        plan = self.plan(case)
        try:
            if plan.sha256 not in self._inspected:
                inspect_plan(plan, self.spec, self.candidate_id)
                self._inspected.add(plan.sha256)
        except PlanRefused as error:
            raise self.stopped(error, case) from error
        return plan

    def _run(self, case: Case) -> Observation:
        plan = self.inspect(case)
        needed = sum(buffer.bytes for buffer in plan.buffers)
        free, _ = torch.cuda.mem_get_info()
        free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        if needed > MEMORY_SHARE * free:
            text = f"The plan's buffers take {needed >> 20} MiB, and {free >> 20} MiB are free on the device."
            raise self.stopped(PlanRefused("out_of_memory", f"{text} Use a smaller workspace."), case)
        arena = Arena(plan.buffers, DEVICE)
        if case.poison == "inf":
            raise AssertionError("infinite poison depends on the dtype: a device case uses nan or large")
        arena.poison(case.poison)
        self.write_inputs(plan, case, arena)
        bound = self.bind(case, arena)
        try:
            bound.run()
            wait()
        except DeviceFault as fault:
            raise self.stopped(fault, case) from fault
        outputs = tuple(arena.view(plan.outputs[declared.name]).clone(memory_format=torch.contiguous_format)
                        for declared in self.spec.outputs)  # fmt: skip
        outside = arena.written_outside(case.poison)
        return Observation(case, outputs, self._changed(plan, case, arena), outside, aliases(plan))

    def guard(self, cases: Iterable[Case]) -> None:
        """Run cases on buffers that end where memory ends; DeviceStopped, at `memory`, where an access leaves them."""
        for case in cases:
            plan = self.inspect(case)
            with guarded(plan.buffers) as arena:
                arena.fill(0xFF)
                self.write_inputs(plan, case, arena)
                bound = self.bind(case, arena)
                try:
                    bound.run()
                    wait()
                except DeviceFault as fault:
                    stopped = self.stopped(fault, case)
                    if fault.code == "illegal_address":
                        text = (
                            "A kernel reads or writes past the end of a buffer, where nothing is mapped. "
                            "Mask the access; a value that is multiplied by zero is read all the same."
                        )
                        failed = stopped.failed.rejected.model_copy(
                            update={"stage": "memory", "code": "reads_outside", "message": text}
                        )
                        raise DeviceStopped(failed, case, self.label, sticky=fault.sticky) from fault
                    raise stopped from fault

    def write_inputs(self, plan: Plan, case: Case, arena: Arena) -> None:
        for name, value in case_inputs(self.spec, case, self.seed, DEVICE).items():
            if isinstance(value, Tensor):
                arena.view(plan.inputs[name]).copy_(value)

    def _changed(self, plan: Plan, case: Case, arena: Arena) -> dict[str, int]:
        changed = {}
        for name, value in case_inputs(self.spec, case, self.seed, DEVICE).items():
            if isinstance(value, Tensor):
                now = arena.view(plan.inputs[name])
                if not same_bits(now, value):
                    differ = flat_bytes(now) != flat_bytes(value)
                    changed[name] = int(differ.nonzero()[0]) // value.element_size()
        return changed

    def stopped(self, error: DeviceFault | PlanRefused, case: Case) -> DeviceStopped:
        """The candidate's rejection at launch. An ECC error is the machine's."""
        if error.code == "ecc_error":
            raise SandboxUnavailable("the device has an uncorrectable memory error", "use another GPU") from error
        rejected = Rejected(
            candidate_id=self.candidate_id, stage="launch", code=error.code, message=str(error),
            config=self.request.config, workload=case.workload, box=self.label,
        )  # fmt: skip
        return DeviceStopped(rejected, case, self.label, sticky=isinstance(error, DeviceFault) and error.sticky)


def plan_key(label: str, dtypes: Mapping[str, str], layout: str) -> tuple[object, ...]:
    return label, tuple(sorted(dtypes.items())), layout
