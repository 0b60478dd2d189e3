"""What this card can do, measured: copy bandwidth and matrix rates. Kept by the card's UUID, driver and torch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import torch

from ...contract import Record
from ...whole_file import write_whole
from .nvml import Card
from .statistics import median

COPY_BYTES = 4 << 30
SIZE = 8192
REPEATS = 12


class Peaks(Record):
    """Sustained rates of one card on random data. Bandwidth counts bytes read and bytes written."""

    device: str
    device_uuid: str
    driver: str
    torch: str
    copy_gb_per_s: float
    bf16_tflops: float
    fp16_tflops: float
    tf32_tflops: float
    fp32_tflops: float
    """Matrix product without TF32."""


def cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "tilewright"


def peaks(card: Card) -> Peaks:
    """Measured once, then read from the cache; a cache that cannot be read or written is measured again."""
    identity = card.identity()
    torch_version = str(torch.__version__).split("+")[0]
    path = cache_folder() / f"peaks-{identity.uuid}-{identity.driver}-{torch_version}.json"
    with contextlib.suppress(OSError, ValueError):
        return Peaks.model_validate_json(path.read_bytes())
    made = Peaks(
        device=identity.name, device_uuid=identity.uuid, driver=identity.driver, torch=torch_version,
        copy_gb_per_s=_copy_rate(), bf16_tflops=_product_rate(torch.bfloat16), fp16_tflops=_product_rate(torch.float16),
        tf32_tflops=_product_rate(torch.float32, tf32=True), fp32_tflops=_product_rate(torch.float32),
    )  # fmt: skip
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, made.model_dump_json(indent=1).encode())
    return made


def _copy_rate() -> float:
    """GB/s of a device-to-device copy."""
    free, _ = torch.cuda.mem_get_info()
    count = min(COPY_BYTES, free // 4)
    source = torch.randint(0, 255, (count,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return float(2 * count / (_median_us(lambda: target.copy_(source)) * 1e3))


def _product_rate(dtype: torch.dtype, *, tf32: bool = False) -> float:
    """TFLOP/s of a square product, a multiply-add counted as two."""
    size = SIZE if dtype != torch.float32 or tf32 else SIZE // 2
    a, b = (torch.randn(size, size, dtype=dtype, device="cuda") for _ in range(2))
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        return 2 * size**3 / (_median_us(lambda: torch.mm(a, b)) * 1e6)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


def _median_us(call: Callable[[], object]) -> float:
    for _ in range(3):
        call()
    times = []
    for _ in range(REPEATS):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3)
    return median(times)
