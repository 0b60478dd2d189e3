"""Frames on a pipe: one JSON body and named byte strings, each length-prefixed. The only format that crosses a boundary.

Layout: magic `TWF1`, u32 body length, u32 blob count, then per blob u16 name length, name, u64 length; then the body and
the blobs' bytes in that order. All integers little-endian. A frame that claims more than the limit is refused before any
of it is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO

MAGIC = b"TWF1"
LIMIT_BYTES = 1 << 30
MAX_BLOBS = 65_536


class FrameError(ValueError):
    """The bytes are not a frame, or a larger one than the limit."""


def pack(body: bytes, blobs: Mapping[str, bytes] | None = None) -> bytes:
    blobs = blobs or {}
    parts = [MAGIC, struct.pack("<II", len(body), len(blobs))]
    for name, blob in blobs.items():
        encoded = name.encode()
        parts += [struct.pack("<H", len(encoded)), encoded, struct.pack("<Q", len(blob))]
    return b"".join([*parts, body, *blobs.values()])


def _exactly(stream: BinaryIO, count: int) -> bytes:
    chunks: list[bytes] = []
    missing = count
    while missing:
        chunk = stream.read(min(missing, 1 << 20))
        if not chunk:
            raise EOFError(f"the stream ended {missing} bytes short")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)


def unpack(stream: BinaryIO, limit_bytes: int = LIMIT_BYTES) -> tuple[bytes, dict[str, bytes]]:
    """Read one frame. EOFError if the stream ends first, FrameError if it is not a frame or claims too much."""
    head = _exactly(stream, 12)
    if head[:4] != MAGIC:
        raise FrameError(f"not a frame: starts with {head[:4]!r}")
    body_bytes, count = struct.unpack("<II", head[4:])
    if count > MAX_BLOBS:
        raise FrameError(f"{count} blobs, more than {MAX_BLOBS}")
    sizes: dict[str, int] = {}
    for _ in range(count):
        (name_bytes,) = struct.unpack("<H", _exactly(stream, 2))
        name = _exactly(stream, name_bytes).decode(errors="strict")
        (sizes[name],) = struct.unpack("<Q", _exactly(stream, 8))
    if len(sizes) != count:
        raise FrameError("two blobs have one name")
    if body_bytes + sum(sizes.values()) > limit_bytes:
        raise FrameError(f"frame of {body_bytes + sum(sizes.values())} bytes, more than the limit of {limit_bytes}")
    body = _exactly(stream, body_bytes)
    return body, {name: _exactly(stream, size) for name, size in sizes.items()}
