"""What the card says of itself: identity, clocks, power, temperature, and why it is slow. Read, never set."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch

from ...contract import Record
from ...identity import Identity

_SLOWED = 0x08 | 0x20 | 0x40 | 0x80
"""Hardware slowdown, software and hardware thermal, and power brake; a power cap (0x04) is a busy card's normal."""


class CardState(Record):
    """At one moment. Clocks in MHz, power in watts, temperature in degrees Celsius; 0 where the card does not say."""

    sm_mhz: int = 0
    memory_mhz: int = 0
    power_w: float = 0.0
    celsius: int = 0
    throttle: int = 0
    """NVML's bit field of reasons."""

    @property
    def slowed(self) -> bool:
        return bool(self.throttle & _SLOWED)


class Card:
    """NVML's view of the device that torch uses."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._nvml: Any = None
        with contextlib.suppress(Exception):
            import pynvml  # pyright: ignore[reportMissingImports]

            pynvml.nvmlInit()
            self._nvml, self._handle = pynvml, pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{_torch_uuid()}".encode())

    def state(self) -> CardState:
        if self._handle is None:
            return CardState()
        nvml, handle = self._nvml, self._handle

        def read(call: Any, *more: Any) -> int:
            with contextlib.suppress(nvml.NVMLError):
                return int(call(handle, *more))
            return 0

        return CardState(
            sm_mhz=read(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            memory_mhz=read(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            power_w=read(nvml.nvmlDeviceGetPowerUsage) / 1000,
            celsius=read(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            throttle=read(nvml.nvmlDeviceGetCurrentClocksThrottleReasons),
        )

    def others(self) -> int:
        """Processes besides this one that compute on the card, as far as NVML may say."""
        if self._handle is None:
            return 0
        with contextlib.suppress(self._nvml.NVMLError):
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
            return sum(process.pid != os.getpid() for process in running)
        return 0

    def identity(self) -> Identity:
        driver = "unknown"
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                found = self._nvml.nvmlSystemGetDriverVersion()
                driver = found.decode() if isinstance(found, bytes) else str(found)
        return Identity(torch.cuda.get_device_name(), f"GPU-{_torch_uuid()}", driver)


def _torch_uuid() -> str:
    return str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
