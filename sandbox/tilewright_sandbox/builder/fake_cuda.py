"""A CUDA device that is not there: enough of it for launchers to run and for Triton to compile.

`install(name)` changes the process for good, so it is called in a child that serves one job. Device queries answer
with what is public of the target.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch._subclasses.fake_tensor as fake_tensor
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from ..contract import SandboxUnavailable
from ..targets import TARGETS, Target
from .refusal import Refusal
from .source import here

_CUDA, _META, _SLOTS = 1, 14, 22  # c10::DeviceType


def install_device_guard() -> None:
    """Let C++ code paths (indexing, `contiguous`, `copy_`) accept fake CUDA tensors.

    The slot of CUDA takes the guard of the meta device, which does nothing. A CPU build has no guard there; that of a
    CUDA build would initialise CUDA, in a forked child, and end the process where that fails.
    """
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        guards = (ctypes.c_void_p * _SLOTS).in_dll(
            ctypes.CDLL(str(library)), "_ZN3c104impl26device_guard_impl_registryE"
        )
    except (OSError, ValueError) as error:
        raise SandboxUnavailable(
            f"torch {torch.__version__} has no device guard registry ({error})", "install torch ≥ 2.7 for Linux"
        ) from error
    guards[_CUDA] = guards[_META]


class NoGpuDriver:
    """What Triton asks of a driver before it compiles. It loads and launches nothing."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.utils = SimpleNamespace(get_device_properties=self._properties)

    def _properties(self, device: int = 0) -> dict[str, int]:
        return {
            "max_shared_mem": self.target.shared_per_block_bytes,
            "max_num_regs": self.target.registers_per_sm,
            "multiprocessor_count": self.target.sms,
            "warpSize": 32,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }

    @property
    def launcher_cls(self) -> Any:
        raise Refusal(
            "policy",
            "compiler_not_allowed",
            f"{here()} launches a compiled kernel object. Launch the kernel itself: kernel[grid](...).",
        )

    def get_current_target(self) -> GPUTarget:
        return gpu_target(self.target)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        _only_device(device)

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return divmod(capability(self.target), 10)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda


def capability(target: Target) -> int:
    """The compute capability as Triton writes it: 90 for `sm_90`."""
    return int(target.name.removeprefix("sm_"))


def gpu_target(target: Target) -> GPUTarget:
    return GPUTarget("cuda", capability(target), 32)


class _CurrentStream:
    """The one stream there is. Work cannot be ordered against another."""

    device = torch.device("cuda", 0)
    device_index = 0
    cuda_stream = stream_id = 0

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        raise Refusal(
            "policy", "stream_not_allowed", f"{here()} uses Stream.{name}. Launch on the current stream, in order."
        )


class _Device:
    """`torch.cuda.device(...)` for a machine with one device."""

    def __init__(self, device: Any) -> None:
        _only_device(device)
        self.idx = 0

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _only_device(device: Any) -> int:
    index = device if isinstance(device, int) else getattr(torch.device(device or "cuda"), "index", 0)
    if index not in (None, 0, -1):
        raise Refusal(
            "policy", "device_not_allowed", f"{here()} uses CUDA device {index}. There is one device: x.device."
        )
    return 0


def _refuse_stream(*_: Any, **__: Any) -> Any:
    raise Refusal("policy", "stream_not_allowed", f"{here()} makes a stream. Launch on the current stream.")


def _refuse_graph(*_: Any, **__: Any) -> Any:
    raise Refusal(
        "policy", "cuda_graph_not_allowed", f"{here()} makes a CUDA graph. Launch eagerly; the judge does so."
    )


def install(name: str) -> Target:
    """Make this process see one device of the target `name` (`sm_90`), for torch and for Triton. Cannot be undone."""
    if name not in TARGETS:
        raise Refusal("compile", "target_not_supported", f"Target {name} is not one of {', '.join(TARGETS)}.")
    target = TARGETS[name]
    install_device_guard()
    major, minor = divmod(capability(target), 10)
    properties = SimpleNamespace(
        name=target.card,
        major=major,
        minor=minor,
        multi_processor_count=target.sms,
        total_memory=target.memory_bytes,
        warp_size=32,
        L2_cache_size=target.l2_bytes,
        regs_per_multiprocessor=target.registers_per_sm,
        max_threads_per_multi_processor=32 * target.warps_per_sm,
        max_threads_per_block=1024,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=target.shared_per_block_bytes,
        shared_memory_per_multiprocessor=target.shared_per_sm_bytes,
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": _only_device,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: target.card,
        "get_device_properties": lambda device=None: properties,
        "is_bf16_supported": lambda *_, **__: major >= 8,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "current_stream": lambda device=None: _CurrentStream(),
        "default_stream": lambda device=None: _CurrentStream(),
        "is_current_stream_capturing": lambda: False,
        "device": _Device,
        "device_of": lambda tensor: _Device(0),
        "Stream": _refuse_stream,
        "ExternalStream": _refuse_stream,
        "stream": _refuse_stream,
        "set_stream": _refuse_stream,
        "CUDAGraph": _refuse_graph,
        "graph": _refuse_graph,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    # a torch with CUDA in it would make a real tensor first, now that a device seems to be there
    fake_tensor.init_gpu_context = lambda *_: None
    driver.set_active(NoGpuDriver(target))  # pyright: ignore[reportArgumentType]  (a stub, by duck typing)
    return target
