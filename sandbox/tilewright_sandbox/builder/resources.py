"""What a cubin needs, read with the tools of the triton wheel: registers, spills, stack, shared memory, SASS."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import triton

from ..contract import Resources, SandboxUnavailable

_BIN = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
_INSTRUCTION = re.compile(r"^\s*(?:\{\s*)?/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", re.MULTILINE)
_USAGE = re.compile(r"REG:(\d+)\s+STACK:(\d+)\s+SHARED:\d+\s+LOCAL:(\d+)")


def _tool(name: str, *arguments: str) -> str:
    try:
        done = subprocess.run([str(_BIN / name), *arguments], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"{name} of the triton wheel failed: {error}", "reinstall triton") from error
    return done.stdout


def read_resources(cubin: Path, shared_bytes: int) -> Resources:
    """The resources of the kernel in a cubin file. `shared_bytes` is what the launch asks for: Triton
    has no static shared memory, and the 1 KiB that cuobjdump shows from sm_90 on is the system's.

    `spill_bytes` counts the local memory traffic that the code holds: 4 bytes times the width of each STL.
    """
    usage = _USAGE.search(_tool("cuobjdump", "-res-usage", str(cubin)))
    if usage is None:
        raise SandboxUnavailable("cuobjdump printed no resource usage", "reinstall triton")
    registers, stack, local = map(int, usage.groups())
    sass = _tool("nvdisasm", "-c", str(cubin))
    return Resources(
        registers=registers,
        spill_bytes=_stored_to_stack(sass),
        stack_bytes=stack + local,
        shared_bytes=shared_bytes,
        cubin_bytes=cubin.stat().st_size,
        instructions=dict(sorted(Counter(_INSTRUCTION.findall(sass)).items())),
    )


def _stored_to_stack(sass: str) -> int:
    widths = re.findall(r"\bSTL(?:\.(\d+|U8|S8|U16|S16))?", sass)
    return sum({"": 4, "64": 8, "128": 16, "U8": 1, "S8": 1, "U16": 2, "S16": 2}.get(width, 4) for width in widths)
