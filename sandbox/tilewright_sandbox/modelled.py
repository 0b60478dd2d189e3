"""`modelled_time`: what a Plan would take on a card that is not here. A prediction, never evidence.

Five terms for each launch, all from the plan: bytes through memory, bytes through L2, matrix products, instructions
issued, and latency that nothing hides. The slowest counts in full, the others by the part that cannot overlap with it.
`docs/design/time_model.md` gives every formula and what the model does not see.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .contract import (
    DTYPE_BYTES,
    Contraction,
    Copy,
    Fill,
    Kernel,
    Launch,
    ModelledTime,
    Plan,
    Pointer,
    Scalar,
    Spec,
    View,
)
from .graph import OpGraph
from .occupancy import Occupancy, occupancy
from .targets import Target
from .work import Product, min_bytes, products, roofline_us

__all__ = ["modelled_time", "roofline_us"]

MEMORY_LATENCY_US = 0.7
"""From a load to its value under load, Hopper, rounded; published micro-benchmarks give 0.5 to 0.8."""
LOAD_BYTES_PER_WARP = 512
"""One load instruction: 32 lanes of 16 bytes."""
ISSUE_PER_CLOCK = 4
"""Warp instructions that one multiprocessor issues in a clock."""
MMA_SYNC_SHARE = 0.62
"""Of the tensor cores' rate, what `mma.sync` reaches on cards that also have asynchronous products: sm_90 and later."""
THREADS_PER_WARP = 32
PRODUCT_STEP = 64
"""Elements of k that a turn of a product's loop is taken to cover; what a product spills, it spills in every turn."""


@dataclass(frozen=True)
class _Traffic:
    """Bytes of one step by where they go."""

    memory: int
    cache: int


@dataclass(frozen=True)
class _StepTime:
    total_us: float
    memory_us: float
    compute_us: float
    latency_us: float
    occupancy: float = 1.0


def modelled_time(spec: Spec, plan: Plan, target: Target, graph: OpGraph | None = None) -> ModelledTime:
    """The modelled time of a compiled plan in µs; infinite where a kernel does not fit on the target.

    Never under the roofline. The graph makes FLOPs and least bytes exact; without it they come from shapes and names of
    axes. ValueError for a plan that was captured and not compiled.
    """
    if not plan.compiled:
        raise ValueError("a plan that was captured and not compiled has no resources to model a time from")
    steps = list(_step_times(spec, plan, target, graph))
    floor_us = roofline_us(spec, plan.workload, target, graph)
    slowest = max(steps, key=lambda step: step.total_us, default=_StepTime(0, 0, 0, 0))
    shares: dict[Literal["memory", "compute", "latency"], float] = {
        "memory": sum(step.memory_us for step in steps),
        "compute": sum(step.compute_us for step in steps),
        "latency": sum(step.latency_us for step in steps),
    }
    bound = max(shares, key=lambda name: shares[name])
    return ModelledTime(
        workload=plan.workload,
        modelled_us=max(floor_us, sum(step.total_us for step in steps)),
        roofline_us=floor_us,
        bound=bound,
        occupancy=slowest.occupancy,
        min_bytes=min_bytes(spec, plan.workload, graph),
    )


def _step_times(spec: Spec, plan: Plan, target: Target, graph: OpGraph | None) -> Iterator[_StepTime]:
    work = products(spec, plan.workload, graph)
    computing = _computing_launches(plan) if work and not plan.hybrid else []
    touched: set[int] = set()
    for index, step in enumerate(plan.steps):
        match step:
            case Launch():
                traffic = _traffic(step, plan, target, touched)
                share = [
                    p for number, p in enumerate(work) if computing and computing[number % len(computing)] == index
                ]
                yield _launch_time(step, plan.kernels[step.kernel], traffic, share, target)
            case Fill(target=view):
                yield _stream_time(_view_bytes(view), target)
                touched.add(view.buffer)
            case Copy(source=source, target=view):
                yield _stream_time(_view_bytes(source) + _view_bytes(view), target)
                touched.update((source.buffer, view.buffer))
            case Contraction():
                yield _library_time(step, spec, target)
                touched.update(view.buffer for view in (*step.operands, step.target))


def _computing_launches(plan: Plan) -> list[int]:
    """Steps that compute the matrix products: with tensor-core instructions, or else the one with the most FFMA."""
    launches = [(index, step) for index, step in enumerate(plan.steps) if isinstance(step, Launch)]
    tensor = [index for index, step in launches if _mma(plan.kernels[step.kernel])]
    if tensor or not launches:
        return tensor
    return [max(launches, key=lambda pair: plan.kernels[pair[1].kernel].resources.instructions.get("FFMA", 0))[0]]


def _mma(kernel: Kernel) -> set[str]:
    return {name for name in kernel.resources.instructions if name.endswith("MMA") and name != "FFMA"}


# ------------------------------------------------------------------------------------------------------ traffic


def _view_bytes(view: View) -> int:
    return math.prod(view.shape) * DTYPE_BYTES[view.dtype]


def _traffic(launch: Launch, plan: Plan, target: Target, touched: set[int]) -> _Traffic:
    """Each buffer that the launch is given counts once: through L2 where it may still be there or need not leave it."""
    offsets: dict[int, int] = {}
    for argument in launch.arguments:
        if not isinstance(argument, Scalar):
            offset = argument.offset_bytes if isinstance(argument, Pointer) else 0
            offsets[argument.buffer] = min(offset, offsets.get(argument.buffer, offset))
    memory = cache = 0
    for index, offset in offsets.items():
        buffer = plan.buffers[index]
        size = max(0, buffer.bytes - offset)
        near = index in touched or buffer.role == "workspace"
        if near and buffer.bytes <= target.l2_bytes // 2:
            cache += size
        else:
            memory += size
    touched.update(offsets)
    return _Traffic(memory, cache)


def _tile(kernel: Kernel, product: Product, programs: int) -> tuple[int, int]:
    """Rows and columns of the output tile: two constants whose product fits the grid, else the two that give most."""
    sizes = [int(text) for text in kernel.constants.values() if text.isdigit() and 16 <= int(text) <= 512]
    pairs = list(itertools.combinations(sizes, 2))
    grids = {pair: product.batch * -(-product.m // pair[0]) * -(-product.n // pair[1]) for pair in pairs}
    exact = [pair for pair in pairs if programs % grids[pair] == 0]
    if exact:
        return min(exact, key=lambda pair: (programs // grids[pair], pairs.index(pair)))
    if pairs:
        return max(pairs, key=lambda pair: (pair[0] * pair[1], -pairs.index(pair)))
    side = max(16, math.isqrt(max(1, product.batch * product.m * product.n // programs)))
    return side, side


def _operand_bytes(product: Product, tile: tuple[int, int]) -> float:
    """Bytes of operands that all tiles together read."""
    rows, cols = -(-product.m // tile[0]), -(-product.n // tile[1])
    elements = product.batch * product.k * (product.m * cols + product.n * rows)
    return float(elements * DTYPE_BYTES[product.dtype])


# -------------------------------------------------------------------------------------------------------- times


def _launch_time(launch: Launch, kernel: Kernel, traffic: _Traffic, work: list[Product], target: Target) -> _StepTime:
    fit = occupancy(kernel, target)
    if fit.blocks_per_sm == 0:
        return _StepTime(math.inf, 0.0, 0.0, math.inf, 0.0)
    blocks = math.prod(launch.grid) * kernel.num_ctas
    if blocks == 0:
        return _StepTime(target.launch_us, 0.0, 0.0, target.launch_us, fit.fraction)
    tiles = [_tile(kernel, product, blocks) for product in work]
    operand_bytes = sum(_operand_bytes(product, tile) for product, tile in zip(work, tiles, strict=True))
    read_bytes = max(float(traffic.memory + traffic.cache), operand_bytes) / blocks
    in_flight, trips = _in_flight(kernel, read_bytes)
    uneven = _unevenness(blocks, target.sms)

    memory_us = _memory_us(traffic.memory, blocks, in_flight, fit, target)
    turns = _product_turns(work, tiles, blocks) if work else trips
    spilled = 2.0 * kernel.resources.spill_bytes * THREADS_PER_WARP * fit.warps_per_block * blocks * turns
    cache_us = (traffic.cache + operand_bytes + spilled) / target.l2_gb_per_s / 1e3 * uneven
    compute_us = uneven * sum(
        _product_us(product, tile, kernel, blocks, target) for product, tile in zip(work, tiles, strict=True)
    )
    instructions = sum(kernel.resources.instructions.values()) * fit.warps_per_block * blocks * (1 if work else trips)
    issue_us = instructions / (ISSUE_PER_CLOCK * target.sms * target.clock_ghz * 1e3) * uneven
    waves = math.ceil(blocks / (fit.blocks_per_sm * target.sms))
    latency_us = waves * MEMORY_LATENCY_US * (trips if not work else 1.0)

    terms = (memory_us, cache_us, compute_us, issue_us, latency_us)
    stages = kernel.num_stages if _is_asynchronous(kernel) else 1
    unhidden = 1.0 / (1 + fit.blocks_per_sm * stages)
    total_us = max(terms) + unhidden * (sum(terms) - max(terms)) + target.launch_us
    return _StepTime(
        total_us, memory_us, max(cache_us, compute_us, issue_us), latency_us + target.launch_us, fit.fraction
    )


def _is_asynchronous(kernel: Kernel) -> bool:
    """Whether loads go to shared memory on their own (cp.async or TMA), ahead of their use."""
    return any(name in kernel.resources.instructions for name in ("LDGSTS", "UTMALDG", "UBLKCP"))


def _in_flight(kernel: Kernel, read_bytes: float) -> tuple[float, float]:
    """Bytes that one block keeps on their way, and how often it must wait for a batch of them at least."""
    resources = kernel.resources
    if _is_asynchronous(kernel):
        ahead = resources.shared_bytes * max(1, kernel.num_stages - 1) / max(1, kernel.num_stages)
        return max(1.0, min(ahead, read_bytes)), 1.0
    batch = float(resources.instructions.get("LDG", 0) * LOAD_BYTES_PER_WARP * kernel.num_warps)
    if batch == 0:
        return math.inf, 1.0
    held = resources.registers * 4 * THREADS_PER_WARP * kernel.num_warps / 2
    return max(1.0, min(batch, held, read_bytes)), max(1.0, read_bytes / batch)


def _memory_us(moved: int, blocks: int, in_flight: float, fit: Occupancy, target: Target) -> float:
    """Full waves at the bandwidth that their bytes in flight sustain, the last wave at its own (Little's law)."""
    needed = target.hbm_gb_per_s * 1e3 * MEMORY_LATENCY_US
    resident = fit.blocks_per_sm * target.sms
    last = blocks % resident

    def share_us(count: int) -> float:
        if not count:
            return 0.0
        filled = in_flight * min(count, resident) / needed
        return moved * count / blocks / (target.hbm_gb_per_s * 1e3 * _saturation(filled))

    return share_us(blocks - last) + share_us(last)


def _saturation(filled: float) -> float:
    """Share of the bandwidth at `filled` times the bytes in flight that latency asks for: linear, then flat."""
    return 1.0 if filled > 1e3 else float(filled / (1 + filled**4) ** 0.25)


def _unevenness(blocks: int, sms: int) -> float:
    """How much longer the busiest multiprocessor works than the average one."""
    return math.ceil(blocks / sms) * sms / blocks


def _product_us(product: Product, tile: tuple[int, int], kernel: Kernel, blocks: int, target: Target) -> float:
    """Tiles are whole: what sticks out of the output is computed too, and a persistent grid ends on a whole round."""
    rows, cols = -(-product.m // tile[0]), -(-product.n // tile[1])
    padded = rows * tile[0] * cols * tile[1] / (product.m * product.n)
    tiles = product.batch * rows * cols
    rounds = math.ceil(tiles / blocks) * blocks / tiles if tiles > blocks else 1.0
    names = _mma(kernel)
    if not names:
        rate = target.fp64_tflops if product.dtype == "float64" else target.fp32_tflops
    else:
        rate = target.dot_tflops(product.dtype, "tf32")
        asynchronous = any("GMMA" in name or name.startswith("UTC") for name in names)
        rate *= 1.0 if asynchronous or target.name == "sm_80" else MMA_SYNC_SHARE
    return product.flops * padded * rounds / rate / 1e6


def _product_turns(work: list[Product], tiles: list[tuple[int, int]], blocks: int) -> float:
    """Turns of the loops over k that one block makes, all its tiles together; at least 1."""
    turns = sum(
        product.batch * -(-product.m // tile[0]) * -(-product.n // tile[1]) * -(-product.k // PRODUCT_STEP)
        for product, tile in zip(work, tiles, strict=True)
    )
    return max(1.0, turns / blocks)


def _stream_time(moved: int, target: Target) -> _StepTime:
    memory_us = moved / target.hbm_gb_per_s / 1e3
    return _StepTime(memory_us + target.launch_us, memory_us, 0.0, target.launch_us)


def _library_time(step: Contraction, spec: Spec, target: Target) -> _StepTime:
    """A library product, taken to be at its roofline."""
    left, right = step.operands[-2:] if step.op != "convolution" else step.operands[:2]
    depth = math.prod(right.shape[1:]) if step.op == "convolution" else left.shape[-1]
    rate = target.dot_tflops(left.dtype, spec.accept.precision)
    compute_us = 2.0 * math.prod(step.target.shape) * depth / rate / 1e6
    moved = sum(_view_bytes(view) for view in (*step.operands, step.target))
    memory_us = moved / target.hbm_gb_per_s / 1e3
    return _StepTime(max(compute_us, memory_us) + target.launch_us, memory_us, compute_us, target.launch_us)
