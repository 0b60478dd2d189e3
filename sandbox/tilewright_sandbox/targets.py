"""What each target card can do: the figures behind every modelled time and every limit on a tile.

Origins: [sheet] NVIDIA's public data sheet of the card; [guide] CUDA C++ Programming Guide, technical specifications
per compute capability; [measured] measured once on an H200 (copy of large tensors, 8192³ bf16 cuBLAS product); [ratio]
the data sheet's figure times the fraction that the H200 was measured to sustain (0.9 of bandwidth, 0.8 of FLOP rate).
"""

from __future__ import annotations

from dataclasses import dataclass

from .contract import Dtype

SUSTAINED_BANDWIDTH = 0.9
"""[measured] 4.3 of the H200's 4.8 TB/s."""
SUSTAINED_FLOPS = 0.8
"""[measured] 790 of the H200's 989 TFLOP/s in bf16."""


@dataclass(frozen=True)
class Target:
    """One card. Rates are sustained ones, not peaks; FLOP rates are dense, counting a multiply-add as two."""

    name: str
    """Triton's and CUDA's name of the architecture: sm_90."""
    card: str
    sms: int
    clock_ghz: float
    """Boost clock [sheet]."""
    hbm_gb_per_s: float
    l2_gb_per_s: float
    """Rough: about 2.5 times memory bandwidth on these cards; no data sheet states it."""
    l2_bytes: int
    memory_bytes: int
    bf16_tflops: float
    """fp16 and bf16 tensor cores, fp32 accumulation."""
    tf32_tflops: float
    fp8_tflops: float
    """Equal to bf16_tflops where the card has no fp8 tensor cores."""
    fp32_tflops: float
    """CUDA cores."""
    fp64_tflops: float
    shared_per_block_bytes: int
    shared_per_sm_bytes: int
    registers_per_sm: int = 65536
    registers_per_thread: int = 255
    warps_per_sm: int = 64
    blocks_per_sm: int = 32
    shared_reserved_bytes: int = 1024
    """Per block, taken by the driver [guide]."""
    launch_us: float = 2.0
    """Of one kernel after another in a CUDA graph [measured: 1.5 to 2.5 µs on an H200]."""

    def dot_tflops(self, dtype: Dtype, precision: str = "ieee") -> float:
        """Rate of a matrix product with operands of that dtype. fp32 on tensor cores only where precision is tf32."""
        match dtype:
            case "float8_e4m3fn" | "float8_e5m2" | "int8" | "uint8":
                return self.fp8_tflops
            case "float16" | "bfloat16":
                return self.bf16_tflops
            case "float64":
                return self.fp64_tflops
            case _:
                return self.tf32_tflops if precision == "tf32" else self.fp32_tflops


TARGETS: dict[str, Target] = {
    "sm_80": Target(
        name="sm_80",
        card="NVIDIA A100-SXM4-80GB",
        sms=108,  # [sheet]
        clock_ghz=1.41,  # [sheet]
        hbm_gb_per_s=2039 * SUSTAINED_BANDWIDTH,  # [ratio]
        l2_gb_per_s=4600,
        l2_bytes=40 << 20,  # [sheet]
        memory_bytes=80 << 30,  # [sheet]
        bf16_tflops=312 * SUSTAINED_FLOPS,  # [ratio]
        tf32_tflops=156 * SUSTAINED_FLOPS,  # [ratio]
        fp8_tflops=312 * SUSTAINED_FLOPS,  # no fp8 tensor cores; int8 is not claimed
        fp32_tflops=19.5 * SUSTAINED_FLOPS,  # [ratio]
        fp64_tflops=19.5 * SUSTAINED_FLOPS,  # [ratio], tensor cores
        shared_per_block_bytes=163 << 10,  # [guide]
        shared_per_sm_bytes=164 << 10,  # [guide]
    ),
    "sm_90": Target(
        name="sm_90",
        card="NVIDIA H200",
        sms=132,  # [sheet]
        clock_ghz=1.98,  # [sheet]
        hbm_gb_per_s=4300,  # [measured], of 4800 [sheet]
        l2_gb_per_s=11000,
        l2_bytes=50 << 20,  # [sheet]
        memory_bytes=141 << 30,  # [sheet]
        bf16_tflops=790,  # [measured], of 989 [sheet]
        tf32_tflops=495 * SUSTAINED_FLOPS,  # [ratio]
        fp8_tflops=1979 * SUSTAINED_FLOPS,  # [ratio]
        fp32_tflops=67 * SUSTAINED_FLOPS,  # [ratio]
        fp64_tflops=67 * SUSTAINED_FLOPS,  # [ratio], tensor cores
        shared_per_block_bytes=227 << 10,  # [guide]
        shared_per_sm_bytes=228 << 10,  # [guide]
    ),
    "sm_100": Target(
        name="sm_100",
        card="NVIDIA B200",
        sms=148,  # [sheet]
        clock_ghz=1.97,  # [sheet]
        hbm_gb_per_s=8000 * SUSTAINED_BANDWIDTH,  # [ratio]
        l2_gb_per_s=18000,
        l2_bytes=126 << 20,  # [sheet]
        memory_bytes=180 << 30,  # [sheet]
        bf16_tflops=2250 * SUSTAINED_FLOPS,  # [ratio]
        tf32_tflops=1125 * SUSTAINED_FLOPS,  # [ratio]
        fp8_tflops=4500 * SUSTAINED_FLOPS,  # [ratio]
        fp32_tflops=75 * SUSTAINED_FLOPS,  # [ratio]
        fp64_tflops=37 * SUSTAINED_FLOPS,  # [ratio]
        shared_per_block_bytes=227 << 10,  # [guide]
        shared_per_sm_bytes=228 << 10,  # [guide]
    ),
}
"""By architecture. The judge measures the card that it runs on and does not use these."""
