"""What the machine code of many cubins consists of, with one run of nvdisasm: its start costs more than its work."""

from __future__ import annotations

import bisect
import itertools
import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .resources import run_tool

_LINE = re.compile(r"^\s*(?:\{\s*)?/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)((?:\.\w+)*)", re.MULTILINE)
_STORE_BYTES = {"64": 8, "128": 16, "U8": 1, "S8": 1, "U16": 2, "S16": 2}


@dataclass(frozen=True)
class CodeMix:
    """Instruction classes and how often each stands in the code; the bytes that its STL instructions store."""

    instructions: dict[str, int]
    spill_bytes: int


def code_sections(cubin: bytes) -> bytes:
    """The `.text.*` sections of a cubin (64-bit little-endian ELF), one after the other."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + index * size) for index in range(count)]
    names = headers[names_index][4]
    code = b""
    for name, _, _, _, offset, length in headers:
        if cubin.startswith(b".text.", names + name):
            code += cubin[offset : offset + length]
    return code


def read_code(cubins: Sequence[bytes], architecture: str, folder: Path) -> list[CodeMix]:
    """The code mix of each cubin of one architecture (`sm_90`). SandboxUnavailable where nvdisasm fails."""
    sections = [code_sections(cubin) for cubin in cubins]
    starts = list(itertools.accumulate((len(code) for code in sections), initial=0))[:-1]
    path = folder / "code.bin"
    path.write_bytes(b"".join(sections))
    machine = architecture.replace("sm_", "SM") + ("a" if int(architecture.removeprefix("sm_")) >= 90 else "")
    text = run_tool("nvdisasm", "-b", machine, "-ndf", str(path))
    counts = [Counter[str]() for _ in cubins]
    spills = [0] * len(cubins)
    for address, opcode, modifiers in _LINE.findall(text):
        owner = bisect.bisect_right(starts, int(address, 16)) - 1
        counts[owner][opcode] += 1
        if opcode == "STL":
            widths = [_STORE_BYTES[part] for part in modifiers.split(".") if part in _STORE_BYTES]
            spills[owner] += widths[0] if widths else 4
    return [CodeMix(dict(sorted(count.items())), spill) for count, spill in zip(counts, spills, strict=True)]
