"""Run a plan: ATen steps with torch and launches with the driver, in order, on one stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ...contract import Contraction, Copy, Fill, Launch, Plan, Step, TensorMap
from .arena import Arena
from .driver import LoadedKernel, PreparedLaunch, encode_tensor_map, load_kernel
from .faults import DeviceFault, from_error_text
from .packing import ParametersDiffer, pack

RUN_LIMIT_S = 10.0
"""For one run of a plan: a kernel that is not done by then is endless."""
_POLL_S = 0.0002
Act = Callable[[int], None]
"""One step, on the stream of that handle, which is torch's current one."""


class KernelCache:
    """Cubins on the device, by hash: plans of one candidate share them."""

    def __init__(self, read_blob: Callable[[str], bytes]) -> None:
        self.read_blob = read_blob
        self._loaded: dict[tuple[str, str], LoadedKernel] = {}

    def of(self, plan: Plan) -> list[LoadedKernel]:
        found = []
        for kernel in plan.kernels:
            key = (kernel.cubin_sha256, kernel.name)
            if key not in self._loaded:
                self._loaded[key] = load_kernel(kernel, self.read_blob(kernel.cubin_sha256))
            found.append(self._loaded[key])
        return found


class Bound:
    """A plan tied to buffers: `run()` puts all its steps on torch's current stream."""

    def __init__(self, plan: Plan, kernels: list[LoadedKernel], arena: Arena) -> None:
        self.plan, self.arena = plan, arena
        self._kernels = kernels
        self._scratch: list[Tensor] = []
        self._acts: list[Act] = [self._prepare(step) for step in plan.steps]

    def run(self) -> None:
        """DeviceFault where the driver refuses a launch. Work is queued, not finished, on return."""
        stream = torch.cuda.current_stream().cuda_stream
        for act in self._acts:
            act(stream)

    def _prepare(self, step: Step) -> Act:
        if isinstance(step, Launch):
            return self._launch(step)
        if isinstance(step, Fill):
            target, value = self.arena.view(step.target), step.value
            return lambda stream: _ignore(target.fill_(value))
        if isinstance(step, Copy):
            source, into = self.arena.view(step.source), self.arena.view(step.target)
            return lambda stream: _ignore(into.copy_(source))
        return _contraction(step, self.arena)

    def _launch(self, step: Launch) -> Act:
        loaded = self._kernels[step.kernel]
        kernel, programs = loaded.kernel, step.grid[0] * step.grid[1] * step.grid[2]
        if programs == 0:
            return lambda stream: None
        scratch = tuple(
            self._allocate(each * programs * kernel.num_ctas, align)
            for each, align in (
                (kernel.global_scratch_bytes, kernel.global_scratch_align),
                (kernel.profile_scratch_bytes, 128),
            )
        )
        try:
            block, offsets = pack(
                step.arguments, loaded.parameters, self.arena.address, self._encode, (scratch[0], scratch[1])
            )
        except ParametersDiffer as error:
            raise DeviceFault("parameters_differ", f"Kernel {kernel.name}: {error}.", sticky=False) from error
        return PreparedLaunch(loaded, step.grid, block, offsets).launch

    def _allocate(self, count: int, align: int) -> int:
        """Scratch for one launch; torch aligns to 512 bytes."""
        if count == 0:
            return 0
        assert align <= 512, f"scratch alignment {align}"
        self._scratch.append(torch.zeros(count, dtype=torch.uint8, device=self.arena.raw[0].device))
        return int(self._scratch[-1].data_ptr())

    def _encode(self, described: TensorMap) -> bytes:
        return encode_tensor_map(described, self.arena.address(described.buffer) + described.offset_bytes)


def _ignore(_: object) -> None:
    return None


def _contraction(step: Contraction, arena: Arena) -> Act:
    operands, target = [arena.view(view) for view in step.operands], arena.view(step.target)
    function: Any = getattr(torch, step.op)
    parameters: Mapping[str, Any] = step.parameters
    if step.op == "convolution":
        return lambda stream: _ignore(target.copy_(function(*operands, **parameters)))
    return lambda stream: _ignore(function(*operands, **parameters, out=target))


def wait(limit_s: float = RUN_LIMIT_S) -> None:
    """Until the current stream is done. DeviceFault(endless) when it is late: the process must then end, which ends the
    kernel; DeviceFault of its kind where a kernel failed."""
    event = torch.cuda.Event()
    try:
        event.record()
        deadline = time.monotonic() + limit_s
        while not event.query():
            if time.monotonic() > deadline:
                raise DeviceFault("endless", f"It did not finish within {limit_s:g} s.", sticky=True)
            time.sleep(_POLL_S)
    except RuntimeError as error:
        fault = from_error_text(str(error))
        if fault is None:
            raise
        raise fault from error


def capture(run: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Record what `run` puts on the current stream as a CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph
