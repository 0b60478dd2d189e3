"""Interleaved measurement: blocks in which every arm runs forwards and backwards, with the card's state beside each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from ...contract import Record
from .executor import wait
from .nvml import Card, CardState
from .statistics import median, ratio_interval

CLOCK_SHIFT = 0.02
"""Of the run's median SM clock: a block further from it is dropped."""
MIN_BLOCKS, MAX_BLOCKS = 20, 200
LIMIT_S = 30.0


class Block(Record):
    """Times of each arm in µs a call, in the order in which they were taken: once forwards, once backwards."""

    times_us: dict[str, tuple[float, float]]
    card: CardState
    dropped: str = ""


@dataclass
class Arm:
    """One contender. `replay` puts `calls` calls on the current stream; `prepare` runs before it, outside the clock."""

    name: str
    replay: Callable[[], None]
    calls: int
    prepare: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True)
class Samples:
    """What the blocks of one comparison say."""

    blocks: tuple[Block, ...]

    @property
    def kept(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if not block.dropped)

    @property
    def dropped(self) -> int:
        return len(self.blocks) - len(self.kept)

    def times_us(self, arm: str) -> list[float]:
        return [time_us for block in self.kept for time_us in block.times_us[arm]]

    def ratio(self, numerator: str, denominator: str) -> tuple[float, float, float]:
        """The 95 % interval of the time of one arm over that of another, paired within blocks."""
        pairs = [(sum(b.times_us[numerator]), sum(b.times_us[denominator])) for b in self.kept]
        return ratio_interval([one / other for one, other in pairs])


def measure(
    arms: Sequence[Arm], card: Card, budget_s: float, on_block: Callable[[int], None] = lambda number: None
) -> Samples:
    """Blocks of A B C … C B A until the time is spent, at least MIN_BLOCKS; a replay of A that does not count comes
    first, as the card was idle. The order of the arms changes from block to block; the first two take turns at being A.
    `on_block` is called after each block, outside the clock. DeviceFault where an arm fails."""
    for arm in arms:
        for _ in range(3):
            arm.prepare()
            arm.replay()
    wait(LIMIT_S)
    blocks: list[Block] = []
    begun = time.monotonic()
    while len(blocks) < MIN_BLOCKS or (time.monotonic() - begun < budget_s and len(blocks) < MAX_BLOCKS):
        order = _order(arms, len(blocks))
        _timed(order[0])
        events = [(arm, _timed(arm)) for arm in (*order, *reversed(order))]
        wait(LIMIT_S)
        state = card.state()
        taken: dict[str, list[float]] = {}
        for arm, (start, stop) in events:
            taken.setdefault(arm.name, []).append(start.elapsed_time(stop) * 1e3 / arm.calls)
        blocks.append(Block(times_us={name: (t[0], t[1]) for name, t in taken.items()}, card=state))
        on_block(len(blocks))
    return Samples(tuple(_dropping(blocks)))


def _order(arms: Sequence[Arm], number: int) -> list[Arm]:
    """The first two arms swap places, and the others turn round, from block to block."""
    ours = list(arms[:2]) if number % 2 == 0 else list(reversed(arms[:2]))
    others = list(arms[2:])
    turn = number % len(others) if others else 0
    middle = [*others[turn:], *others[:turn]]
    return [ours[0], *middle, *ours[1:]] if number % 4 < 2 else [*ours, *middle]


def _timed(arm: Arm) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    arm.prepare()
    start.record()
    arm.replay()
    stop.record()
    return start, stop


def _dropping(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in which the card says that it slowed down, or whose clock is not the run's, are marked. If that were
    most of them, the clock of the run is not known: then only slowed ones are."""
    clock = median([block.card.sm_mhz for block in blocks])
    shifted = [abs(block.card.sm_mhz - clock) > CLOCK_SHIFT * clock for block in blocks]
    if sum(shifted) > len(blocks) // 2:
        shifted = [False] * len(blocks)
    return [
        block.model_copy(update={"dropped": "slowed down" if block.card.slowed else "clock shifted"})
        if block.card.slowed or moved
        else block
        for block, moved in zip(blocks, shifted, strict=True)
    ]


def two_clocks(arm: Arm, repeats: int) -> tuple[float, float]:
    """µs a call by the device's events and by the host's clock around an idle device: they must agree."""
    arm.prepare()
    torch.cuda.synchronize()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begun = time.perf_counter()
    start.record()
    for _ in range(repeats):
        arm.replay()
    stop.record()
    torch.cuda.synchronize()
    host_us = (time.perf_counter() - begun) * 1e6
    return start.elapsed_time(stop) * 1e3 / (repeats * arm.calls), host_us / (repeats * arm.calls)


def call_latency_us(call: Callable[[], object], repeats: int = 40) -> float:
    """Median µs from before one call to an idle device after it."""
    call()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begun) * 1e6)
    return median(times)


def medians(samples: Samples, names: Mapping[str, object] | Sequence[str]) -> dict[str, float]:
    return {name: median(samples.times_us(name)) for name in names}
