"""What a cubin needs, read with the tools of the triton wheel: registers, stack and shared memory."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import triton

from ..contract import Resources, SandboxUnavailable

_BIN = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
_USAGE = re.compile(r"REG:(\d+)\s+STACK:(\d+)\s+SHARED:\d+\s+LOCAL:(\d+)")


def run_tool(name: str, *arguments: str) -> str:
    """What `cuobjdump` or `nvdisasm` prints. SandboxUnavailable where it cannot run."""
    try:
        done = subprocess.run([str(_BIN / name), *arguments], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"{name} of the triton wheel failed: {error}", "reinstall triton") from error
    return done.stdout


def read_resources(cubin: Path, shared_bytes: int) -> Resources:
    """The resources of the kernel in a cubin file; its instructions and spills are `sass.read_code`'s to add.

    `shared_bytes` is what the launch asks for: Triton has no static shared memory, and the 1 KiB that cuobjdump shows
    from sm_90 on is the system's.
    """
    usage = _USAGE.search(run_tool("cuobjdump", "-res-usage", str(cubin)))
    if usage is None:
        raise SandboxUnavailable("cuobjdump printed no resource usage", "reinstall triton")
    registers, stack, local = map(int, usage.groups())
    return Resources(
        registers=registers,
        spill_bytes=0,
        stack_bytes=stack + local,
        shared_bytes=shared_bytes,
        cubin_bytes=cubin.stat().st_size,
    )
