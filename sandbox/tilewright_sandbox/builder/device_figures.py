"""The limits of a target that launchers may ask for and that kernels must fit in. Source: CUDA C++ Programming Guide,
table of technical specifications per compute capability, and NVIDIA's data sheets."""

from __future__ import annotations

from dataclasses import dataclass

from .refusal import Refusal


@dataclass(frozen=True)
class DeviceFigures:
    capability: int
    name: str
    sms: int
    memory_bytes: int
    l2_bytes: int
    shared_bytes_per_block: int
    shared_bytes_per_sm: int
    registers_per_sm: int = 65536
    threads_per_sm: int = 2048


_FIGURES = {
    "sm_80": DeviceFigures(80, "NVIDIA A100-SXM4-80GB", 108, 80 << 30, 40 << 20, 163 << 10, 164 << 10),
    "sm_90": DeviceFigures(90, "NVIDIA H200", 132, 141 << 30, 50 << 20, 227 << 10, 228 << 10),
    "sm_100": DeviceFigures(100, "NVIDIA B200", 148, 180 << 30, 126 << 20, 227 << 10, 228 << 10),
}


def device_figures(target: str) -> DeviceFigures:
    """The figures of `sm_80`, `sm_90` or `sm_100`."""
    if target not in _FIGURES:
        raise Refusal("compile", "target_not_supported", f"Target {target} is not one of {', '.join(_FIGURES)}.")
    return _FIGURES[target]
