"""Sections of a cubin that hold variables which outlive a launch: CUDA's ELF files, little-endian, 64 bit."""

from __future__ import annotations

import re
import struct

_GLOBALS = (".nv.global", ".nv.global.init")
_LIBDEVICE_SWITCHES = re.compile(rb"(__CUDA_[A-Z_]+\0+)*")
"""Names of compiler switches that libdevice asks for; ptxas leaves the texts behind, and no code refers to them."""


def sections(cubin: bytes) -> dict[str, bytes]:
    """Contents by section name; for sections without contents in the file, zeros of their size, at most 64 bytes.

    ValueError where the bytes are no such file.
    """
    try:
        if cubin[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        (table,) = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", cubin, table + number * size) for number in range(count)]
        names_offset = headers[names_at][4]
    except (struct.error, IndexError) as error:
        raise ValueError(f"not a whole ELF file: {error}") from error
    found = {}
    for name, kind, _, _, offset, length in headers:
        start = names_offset + name
        text = cubin[start : cubin.index(b"\0", start)].decode(errors="replace")
        found[text] = bytes(min(length, 64)) if kind == 8 else cubin[offset : offset + length]
    return found


def keeps_state(cubin: bytes) -> bool:
    """Whether the binary has device variables of its own. ValueError where it is no ELF file."""
    found = sections(cubin)
    return any(
        name.startswith(_GLOBALS) and contents and not _LIBDEVICE_SWITCHES.fullmatch(contents)
        for name, contents in found.items()
    )
