"""Search spaces and first guesses: analytic seeds for the target, no measurement behind them yet.

Rules of thumb for Hopper: about 8 KiB of traffic per program for pointwise work and at least 8 waves; one row in
registers up to 32 Ki elements; a product's accumulator of at most 32,768 float32 elements, 8 warps from 16,384 on, the
deepest pipeline that fits in shared memory; an IEEE float32 product runs on FMA units and wants small tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_sandbox.contract import DTYPE_BYTES, ConfigValue, Spec, Workload
from tilewright_sandbox.targets import TARGETS

from .extents import Monomial

Trial = dict[str, ConfigValue]
Space = dict[str, list[ConfigValue]]

UNKNOWN_TARGET = TARGETS["sm_90"]
"""Figures for a target that the table lacks: first guesses, not limits."""


@dataclass(frozen=True)
class Shapes:
    """The extents of one two-dimensional index space over the workloads that count."""

    rows: Monomial
    cols: Monomial
    spec: Spec

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return self.spec.with_role("tune", "bench") or self.spec.workloads

    def cols_most(self) -> int:
        return max(self.cols.value(w.axes) for w in self.workloads)

    def cols_least(self) -> int:
        return min(self.cols.value(w.axes) for w in self.workloads)

    def rows_least(self) -> int:
        return min(self.rows.value(w.axes) for w in self.workloads)

    def cols_domain(self) -> int:
        """The longest row that the spec's domain allows."""
        return self.cols.value({name: axis.max for name, axis in self.spec.axes.items()})


def next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def element_bytes(spec: Spec) -> int:
    return max(DTYPE_BYTES[t.dtype] for t in spec.tensor_inputs if t.dtype not in ("int64", "int32", "bool"))


def flat_space(spec: Spec, tensors: int) -> tuple[Space, list[Trial]]:
    """8 KiB of traffic a program, shared among the tensors that it touches."""
    block = min(max(next_power_of_2(8192 // (element_bytes(spec) * max(tensors, 1))), 512), 4096)
    space: Space = {"BLOCK": [512, 1024, 2048, 4096, 8192], "num_warps": [2, 4, 8]}
    return space, [
        {"BLOCK": block, "num_warps": 4},
        {"BLOCK": 2 * block, "num_warps": 8},
        {"BLOCK": 1024, "num_warps": 4},
    ]


def tile_space(shapes: Shapes) -> tuple[Space, list[Trial]]:
    block = min(max(next_power_of_2(shapes.cols_most()), 64), 1024)
    space: Space = {"ROWS": [1, 2, 4, 8, 16], "BLOCK": [64, 128, 256, 512, 1024, 2048], "num_warps": [2, 4, 8]}
    rows = max(1, min(16, 2048 // block))
    return space, [
        {"ROWS": rows, "BLOCK": block, "num_warps": 4},
        {"ROWS": min(2 * rows, 16), "BLOCK": block, "num_warps": 4},
    ]


def row_warps(elements: int) -> int:
    """Eight to thirty-two elements a thread."""
    return (
        1 if elements <= 256 else 2 if elements <= 1024 else 4 if elements <= 4096 else 8 if elements <= 16384 else 16
    )


def resident_space(shapes: Shapes) -> tuple[Space, list[Trial]]:
    warps = row_warps(shapes.cols_most())
    space: Space = {"num_warps": [1, 2, 4, 8, 16, 32]}
    return space, [{"num_warps": w} for w in (warps, min(2 * warps, 32), max(warps // 2, 1))]


def multi_row_space(shapes: Shapes) -> tuple[Space, list[Trial]]:
    """Up to 8 rows a program, while 8 waves of programs remain."""
    width = next_power_of_2(shapes.cols_most())
    waves = max(1, shapes.rows_least() // (8 * UNKNOWN_TARGET.sms))
    rows = max(1, min(8, 4096 // width, 1 << (waves.bit_length() - 1)))
    space: Space = {"ROWS": [1, 2, 4, 8, 16], "num_warps": [1, 2, 4, 8]}
    trials = [{"ROWS": r, "num_warps": min(8, row_warps(r * width))} for r in (rows, 2 * rows, max(rows // 2, 1))]
    return space, [dict(t) for t in trials]


def looped_space(shapes: Shapes) -> tuple[Space, list[Trial]]:
    block = min(max(next_power_of_2(shapes.cols_most()) // 4, 1024), 8192)
    space: Space = {"BLOCK": [512, 1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16]}
    return space, [{"BLOCK": b, "num_warps": 8 if b <= 4096 else 16} for b in (block, max(block // 2, 512), 2 * block)]


def matmul_space(
    m: Monomial, n: Monomial, k: Monomial, spec: Spec, target: str, *, form: str
) -> tuple[Space, list[Trial], list[str]]:
    """Space, trials and feasibility of a product of `m` × `k` by `k` × `n`."""
    size = max(DTYPE_BYTES[t.dtype] for t in spec.tensor_inputs)
    fma = size == 4 and spec.accept.precision == "ieee"
    card = TARGETS.get(target, UNKNOWN_TARGET)
    shared, processors = card.shared_per_block_bytes - card.shared_reserved_bytes, card.sms
    space: Space = {
        "BLOCK_M": [16, 32, 64, 128] if fma else [16, 64, 128, 256],
        "BLOCK_N": [32, 64, 128] if fma else [32, 64, 128, 256],
        "BLOCK_K": [16, 32] if fma else [32, 64, 128],
        "GROUP_M": [1, 4, 8],
    }
    if form == "split":
        space["SPLIT_K"] = [2, 4, 8, 16]
    if form == "persistent":
        space["PROGRAMS"] = [processors, 2 * processors]
    space |= {"num_warps": [4, 8], "num_stages": [1, 2, 3] if fma else [2, 3, 4, 5]}
    where = [f"(BLOCK_M + BLOCK_N) * BLOCK_K * {size} * num_stages <= {shared}"]
    where.append("BLOCK_M * BLOCK_N <= 16384" if fma else "BLOCK_M * BLOCK_N <= 32768")
    where.append("num_warps == 4 or BLOCK_M * BLOCK_N >= 4096")
    shapes = Shapes(m, n, spec)
    workload = max(shapes.workloads, key=lambda w: w.weight * m.value(w.axes) * n.value(w.axes))
    trials = [
        _matmul_trial(
            m.value(workload.axes), n.value(workload.axes), k.value(workload.axes), size, shared, processors, fma, turn
        )
        for turn in (False, True)
    ]
    trials.append(trials[0] | {"num_stages": max(int(trials[0]["num_stages"]) - 1, 1)})
    for trial in trials:
        if form == "split":
            tiles = -(-m.value(workload.axes) // int(trial["BLOCK_M"])) * -(
                -n.value(workload.axes) // int(trial["BLOCK_N"])
            )
            trial["SPLIT_K"] = next((s for s in (2, 4, 8) if tiles * s >= processors), 16)
        if form == "persistent":
            trial["PROGRAMS"] = processors
    return space, [{name: trial[name] for name in space} for trial in trials], where


def _matmul_trial(m: int, n: int, k: int, size: int, shared: int, processors: int, fma: bool, turned: bool) -> Trial:
    """The largest tile that leaves at least 0.8 of a wave busy, then the deepest pipeline that fits."""
    tile_m, tile_n = (64, 64) if fma else (128, 256) if not turned else (256, 128)
    if fma and turned:
        tile_m, tile_n = 128, 64
    least_m, least_n = (16 if m <= 16 else 64 if not fma else 32), 64
    while tile_m // 2 >= max(least_m, next_power_of_2(m)) or (tile_m > m and tile_m // 2 >= least_m):
        tile_m //= 2
    while tile_n > max(n, 64) and tile_n // 2 >= least_n:
        tile_n //= 2

    def efficiency() -> float:
        tiles = -(-m // tile_m) * -(-n // tile_n)
        return tiles / (-(-tiles // processors) * processors)

    while efficiency() < 0.8 and (tile_m > least_m or tile_n > least_n):
        if tile_n >= tile_m and tile_n > least_n:
            tile_n //= 2
        elif tile_m > least_m:
            tile_m //= 2
        else:
            break
    tile_m = 16 if tile_m < 32 else 64 if tile_m == 32 and not fma else tile_m
    tile_k = 16 if fma else 64
    stages = next((s for s in ((3, 2) if fma else (4, 3)) if (tile_m + tile_n) * tile_k * size * s <= shared), 2)
    warps = 8 if tile_m * tile_n >= 16384 else 4
    return {
        "BLOCK_M": tile_m, "BLOCK_N": tile_n, "BLOCK_K": tile_k, "GROUP_M": 4 if m > 3 * n else 8,
        "num_warps": warps, "num_stages": stages,
    }  # fmt: skip


def blocks_few(m: Monomial, n: Monomial, k: Monomial, spec: Spec, target: str) -> bool:
    """Whether every workload has too few tiles to fill the GPU and a K long enough to split."""
    processors = TARGETS.get(target, UNKNOWN_TARGET).sms
    return all(
        m.value(w.axes) * n.value(w.axes) < 2 * processors * 128 * 128 and k.value(w.axes) >= 1024
        for w in Shapes(m, n, spec).workloads
    )
