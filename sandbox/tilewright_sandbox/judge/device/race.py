"""Many plans of one workload, one after the other: run, compare, time. A ranking for the tuner, no verdict."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from ...contract import Dtype, Plan, Workload
from ...jobs import Raced, RaceReply, RaceRequest
from ...spec import SpecFolder
from ..budget import deviate, thresholds
from ..cases import Case, case_inputs
from ..oracle import Oracle
from ..reference import Reference
from .arena import SMALL_MARGIN_BYTES, Arena
from .baselines import precision
from .executor import Bound, KernelCache, capture, wait
from .faults import DeviceFault
from .inspect_plan import PlanRefused, inspect_plan, read_cubin
from .observer import DEVICE
from .statistics import median
from .timing import L2_MULTIPLE, slot_count
from .verdict import open_card

LARGEST_C = 1e30
KEPT_BYTES = 16 << 30
"""Outputs that wait for the oracle: no plan runs while it is in memory."""


def race(request: RaceRequest, folder: SpecFolder) -> RaceReply:
    """An entry a plan, in order; the race ends early where a fault costs the device's context."""
    started = time.monotonic()
    open_card(request.target)
    track = _Track(request, folder)
    entries: list[Raced] = []
    last = False
    with precision(folder.spec):
        for batch in track.batches():
            ran: list[tuple[Plan, Raced, tuple[Tensor, ...]]] = []
            for plan in batch:
                try:
                    entry, outputs = track.run(plan)
                except DeviceFault as fault:
                    entry, outputs, last = _failed(plan, fault), (), fault.sticky
                except PlanRefused as refused:
                    entry, outputs = _failed(plan, refused), ()
                ran.append((plan, entry, outputs))
                if last:
                    break
            entries += [entry for _, entry, _ in ran] if last else track.compare(ran)
            if last:
                break
    return RaceReply(entries=tuple(entries), seconds=time.monotonic() - started, last=last)


def _failed(plan: Plan, error: DeviceFault | PlanRefused) -> Raced:
    return Raced(plan_sha256=plan.sha256, median_us=None, stage="launch", code=error.code, message=str(error))


class _Track:
    """Inputs that all plans of a batch share, in as many slots as the cache asks for."""

    def __init__(self, request: RaceRequest, folder: SpecFolder) -> None:
        self.request, self.spec = request, folder.spec
        self.reference = Reference(folder)
        blobs = Path(request.blobs_path)
        self.kernels = KernelCache(lambda sha256: read_cubin(blobs, sha256))
        self.seed = b""
        self.slots: list[dict[str, Tensor]] = []
        self.workload: Workload = request.plans[0].workload

    def batches(self) -> Iterator[list[Plan]]:
        """Plans of one workload whose outputs fit beside each other; every batch has inputs of its own."""
        plans = list(self.request.plans)
        while plans:
            self.workload = plans[0].workload
            size = max(1, KEPT_BYTES // max(1, _output_bytes(plans[0])))
            batch: list[Plan] = []
            while plans and len(batch) < size and plans[0].workload == self.workload:
                batch.append(plans.pop(0))
            self.seed = secrets.token_bytes(16)
            count = slot_count(batch[0], L2_MULTIPLE)
            self.slots = [self._inputs(number) for number in range(count)]
            yield batch

    def _case(self, slot: int) -> Case:
        dtypes: dict[str, Dtype] = {tensor.name: tensor.dtype for tensor in self.spec.tensor_inputs}
        return Case("budget", self.workload, dtypes, f"slot:{slot}")

    def _inputs(self, slot: int) -> dict[str, Tensor]:
        drawn = case_inputs(self.spec, self._case(slot), self.seed, DEVICE)
        return {name: value for name, value in drawn.items() if isinstance(value, Tensor)}

    def run(self, plan: Plan) -> tuple[Raced, tuple[Tensor, ...]]:
        """Time of a call, and what it wrote into the first slot."""
        inspect_plan(plan, self.spec, plan.candidate_id)
        kernels = self.kernels.of(plan)
        bounds = []
        for inputs in self.slots:
            arena = Arena(plan.buffers, DEVICE, SMALL_MARGIN_BYTES)
            arena.poison("nan", inputs_too=False)
            for name, value in inputs.items():
                arena.view(plan.inputs[name]).copy_(value)
            bounds.append(Bound(plan, kernels, arena))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):

            def run() -> None:
                for bound in bounds:
                    bound.run()

            run()
            wait()
            first = bounds[0].arena
            views = [plan.outputs[declared.name] for declared in self.spec.outputs]
            outputs = tuple(first.view(view).clone(memory_format=torch.contiguous_format) for view in views)
            times = _times_us(capture(run), self.request.rounds)
        torch.cuda.current_stream().wait_stream(stream)
        return Raced(plan_sha256=plan.sha256, median_us=median(times) / len(bounds)), outputs

    def compare(self, ran: list[tuple[Plan, Raced, tuple[Tensor, ...]]]) -> list[Raced]:
        """Entries with the worst error constant; a time of wrong outputs is none."""
        oracle = Oracle(self.spec, self.reference, self.seed, DEVICE)
        case = self._case(0)
        limits = thresholds()
        try:
            expected = oracle.expected(case)
        except torch.OutOfMemoryError:
            return [entry for _, entry, _ in ran]  # not compared: worst_c stays None
        limit = limits.element_mean_zero if expected.linear else limits.element_otherwise
        compared = []
        for _, entry, outputs in ran:
            worst = 0.0
            for output, exact, spread, spacing in zip(
                outputs, expected.exact, expected.spread, expected.half_spacing, strict=False
            ):
                found = deviate(output, exact, spread, spacing, limit)
                worst = max(worst, found.worst_c, found.norm_c * limit / limits.norm)
            found_c: dict[str, object] = {"worst_c": min(worst, LARGEST_C)} if outputs else {}
            if worst > limit:
                text = f"The largest error is {worst:.3g} times what honest rounding gives; the limit is {limit:g}."
                found_c |= {"median_us": None, "stage": "budget", "code": "wrong_values", "message": text}
            compared.append(entry.model_copy(update=found_c))
        return compared


def _output_bytes(plan: Plan) -> int:
    return sum(math.prod(view.shape) * 8 for view in plan.outputs.values())


def _times_us(graph: torch.cuda.CUDAGraph, rounds: int) -> list[float]:
    graph.replay()
    events = []
    for _ in range(rounds):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        stop.record()
        events.append((start, stop))
    wait()
    return [start.elapsed_time(stop) * 1e3 for start, stop in events]
