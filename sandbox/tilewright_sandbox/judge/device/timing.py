"""How long a candidate takes on one workload, against the spec's baselines, and whether what was timed was right.

Inputs are rotated over slots that hold more than three times the L2 cache, each slot with values of its own; every arm
is one CUDA graph over all slots; outputs are poisoned before each replay; what a secret choice of replays wrote is kept
and checked afterwards against an oracle that did not exist while the clock ran.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...contract import MeasuredTime, Plan, Record, Spec, Workload
from ..cases import Case
from .arena import SMALL_MARGIN_BYTES, Arena
from .baselines import Baselines, precision
from .blocks import Arm, Block, Samples, call_latency_us, measure, two_clocks
from .device_cases import own_case
from .executor import Bound, capture, wait
from .nvml import Card
from .observer import DEVICE, DeviceObserver
from .statistics import median, quantile

L2_MULTIPLE = 3
MAX_SLOTS = 32
MIN_SLOTS = 2
SLOT_MEMORY_SHARE = 0.4
SHARE_CHECKED = 0.2
SNAPSHOT_BYTES = 8 << 30
CLOCKS_AGREE = 1.5
"""Most that the host's clock may read over the device's, for work of CLOCKS_LEAST_US or more."""
CLOCKS_LEAST_US = 2000.0
BUDGET_S = 1.0
OURS, AGAIN = "candidate", "candidate again"


class Timing(Record):
    """The raw record of one timed workload, kept with the certificate."""

    workload: Workload
    slots: int
    blocks: tuple[Block, ...]
    device_clock_us: float
    host_clock_us: float
    checked_slots: tuple[int, ...]
    """Slots whose timed outputs were compared with the oracle."""


@dataclass
class Timed:
    """A measured workload and what is left to compare."""

    time: MeasuredTime
    raw: Timing
    snapshots: list[tuple[Case, tuple[Tensor, ...]]]
    """Outputs that the timed replays wrote, with the case whose inputs they are of."""


class ClocksDisagree(Exception):
    """Device and host do not tell the same time: work went on outside the clock."""


@dataclass
class _Slot:
    case: Case
    arena: Arena
    bound: Bound
    inputs: dict[str, Any]


def _poison(plan: Plan, slots: list[_Slot]) -> None:
    """NaN in every output buffer of every slot."""
    for slot in slots:
        for view in plan.outputs.values():
            slot.arena.raw[view.buffer].view(torch.int64).fill_(-1)


def slot_count(plan: Plan, caches: int) -> int:
    """Slots that hold more than so many L2 caches in all, as far as memory goes."""
    each = max(1, sum(buffer.bytes + 2 * SMALL_MARGIN_BYTES for buffer in plan.buffers))
    l2 = int(torch.cuda.get_device_properties(0).L2_cache_size)
    free = int(torch.cuda.mem_get_info()[0])
    wanted = min(MAX_SLOTS, max(MIN_SLOTS, math.ceil(caches * l2 / each) + 1))
    return max(1, min(wanted, int(SLOT_MEMORY_SHARE * free) // each))


class Timer:
    """Times the workloads of one request."""

    def __init__(self, spec: Spec, observer: DeviceObserver, baselines: Baselines, card: Card, seed: bytes) -> None:
        self.spec, self.observer, self.baselines, self.card, self.seed = spec, observer, baselines, card, seed

    def time(self, case: Case, roofline_us: float, budget_s: float = BUDGET_S) -> Timed:
        """Measure one bench or tune workload. DeviceFault where the plan fails; ClocksDisagree where no time can be
        trusted."""
        with precision(self.spec):
            return self._time(case, roofline_us, budget_s)

    def _time(self, case: Case, roofline_us: float, budget_s: float) -> Timed:
        plan = self.observer.inspect(case)
        slots = [self._slot(plan, case, number) for number in range(slot_count(plan, L2_MULTIPLE))]
        calls = self.baselines.of(slots[0].inputs)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            arms = [self._our_arm(name, plan, slots) for name in (OURS, AGAIN)]
            arms += [self._arm(name, call, slots, plan) for name, call in calls.items()]
            keeper = _Keeper(self.spec, plan, slots, self.seed)
            samples = measure(arms, self.card, budget_s, keeper.after_block)
            keeper.keep_last()
            repeats = self._repeats(samples)
            device_us, host_us = two_clocks(arms[0], repeats)
            long = device_us * arms[0].calls * repeats > CLOCKS_LEAST_US
            if long and host_us > CLOCKS_AGREE * device_us:
                raise ClocksDisagree(f"{device_us:.1f} µs a call by the device's clock, {host_us:.1f} µs by the host's")
            latency = call_latency_us(slots[0].bound.run)
            call_us = {name: call_latency_us(functools.partial(call, slots[0].inputs)) for name, call in calls.items()}
            wait()
        torch.cuda.current_stream().wait_stream(stream)
        time = self._record(case, samples, list(calls), roofline_us, latency, call_us)
        raw = Timing(
            workload=case.workload, slots=len(slots), blocks=samples.blocks, device_clock_us=device_us,
            host_clock_us=host_us, checked_slots=tuple(sorted({slot for slot, _ in keeper.kept})),
        )  # fmt: skip
        return Timed(time, raw, [(slots[slot].case, outputs) for slot, outputs in keeper.kept])

    @staticmethod
    def _repeats(samples: Samples) -> int:
        return max(3, min(200, math.ceil(2 * CLOCKS_LEAST_US / max(1.0, median(samples.times_us(OURS))))))

    def _slot(self, plan: Plan, case: Case, number: int) -> _Slot:
        slot_case = own_case(case.workload, case.dtypes, number)
        arena = Arena(plan.buffers, DEVICE, SMALL_MARGIN_BYTES)
        arena.poison("nan")
        self.observer.write_inputs(plan, slot_case, arena)
        inputs = {
            item.name: arena.view(plan.inputs[item.name]) if item.kind == "tensor" else item.value
            for item in self.spec.inputs
        }
        return _Slot(slot_case, arena, self.observer.bind(case, arena), inputs)

    def _our_arm(self, name: str, plan: Plan, slots: list[_Slot]) -> Arm:
        def run() -> None:
            for slot in slots:
                slot.bound.run()

        run()
        wait()
        return Arm(name, capture(run).replay, len(slots), functools.partial(_poison, plan, slots))

    def _arm(self, name: str, call: Callable[[dict[str, Any]], Any], slots: list[_Slot], plan: Plan) -> Arm:
        """A baseline. The same buffers are poisoned before it as before ours: the cache is in the same state."""

        def run() -> None:
            for slot in slots:
                call(slot.inputs)

        run()
        wait()
        try:
            replay = capture(run).replay
        except RuntimeError:  # an operator that cannot be captured: it is timed as it is
            torch.cuda.synchronize()
            replay = run
        return Arm(name, replay, len(slots), functools.partial(_poison, plan, slots))

    def _record(
        self,
        case: Case,
        samples: Samples,
        names: list[str],
        roofline_us: float,
        latency: float,
        call_us: dict[str, float],
    ) -> MeasuredTime:
        ours = samples.times_us(OURS)
        against = {name: samples.ratio(name, OURS) for name in names}
        strongest = min(against, key=lambda name: against[name][1], default="")
        return MeasuredTime(
            workload=case.workload, median_us=median(ours), p10_us=quantile(ours, 0.1), p90_us=quantile(ours, 0.9),
            samples=len(ours), baselines_us={name: median(samples.times_us(name)) for name in names},
            ratio=against.get(strongest, (0.0, 0.0, 0.0)), strongest=strongest, roofline_us=roofline_us,
            noise=samples.ratio(AGAIN, OURS), call_us=latency, baseline_call_us=call_us,
            missing_baselines=dict(self.baselines.missing), dropped_blocks=samples.dropped,
        )  # fmt: skip


class _Keeper:
    """Keeps outputs of timed replays: of blocks and slots that nobody can foresee, and always of the last."""

    def __init__(self, spec: Spec, plan: Plan, slots: list[_Slot], seed: bytes) -> None:
        self.views = [plan.outputs[declared.name] for declared in spec.outputs]
        self.slots = slots
        self.chance = random.Random(int.from_bytes(seed, "little") ^ 0x7157)
        self.kept: list[tuple[int, tuple[Tensor, ...]]] = []
        each = sum(math.prod(view.shape) * 8 for view in self.views)
        self.most = max(1, min(math.ceil(SHARE_CHECKED * len(slots)) + 1, SNAPSHOT_BYTES // max(1, each)))
        self.blocks = set(self.chance.sample(range(1, 16), k=min(15, max(0, self.most - 1))))

    def after_block(self, number: int) -> None:
        """One of our two arms is the last of a block, so its outputs are what the buffers hold."""
        if number in self.blocks:
            self._keep(self.chance.randrange(len(self.slots)))

    def keep_last(self) -> None:
        self._keep(self.chance.randrange(len(self.slots)))

    def _keep(self, slot: int) -> None:
        arena = self.slots[slot].arena
        outputs = tuple(arena.view(view).clone(memory_format=torch.contiguous_format) for view in self.views)
        self.kept.append((slot, outputs))
