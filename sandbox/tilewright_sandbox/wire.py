"""Frames on a pipe: a JSON body and named byte strings, length-prefixed. The only format that crosses a boundary.

Layout: magic `TWF1`, u32 body length, u32 blob count, then per blob u16 name length, name, u64 length; then the body
and the blobs' bytes in that order. All integers little-endian. A frame that claims more than the limit is refused
before any of it is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO

MAGIC = b"TWF1"
HEAD_BYTES = 12
LIMIT_BYTES = 1 << 30
MAX_BLOBS = 65_536
MAX_NAME_BYTES = 256


class FrameError(ValueError):
    """The bytes are not a frame, or a larger one than the limit."""


class FrameTooLarge(FrameError):
    """A frame that claims more bytes or blobs than the limit."""


def pack(body: bytes, blobs: Mapping[str, bytes] | None = None) -> bytes:
    """FrameError for a blob name of no or more than 256 bytes, or too many blobs."""
    blobs = blobs or {}
    if len(blobs) > MAX_BLOBS:
        raise FrameTooLarge(f"{len(blobs)} blobs, more than {MAX_BLOBS}")
    parts = [MAGIC, struct.pack("<II", len(body), len(blobs))]
    for name, blob in blobs.items():
        encoded = name.encode()
        if not 0 < len(encoded) <= MAX_NAME_BYTES:
            raise FrameError(f"a blob's name has {len(encoded)} bytes, not 1 to {MAX_NAME_BYTES}")
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


def _head(head: bytes, limit_bytes: int) -> tuple[int, int]:
    """Body length and blob count."""
    if head[:4] != MAGIC:
        raise FrameError(f"not a frame: starts with {head[:4]!r}")
    body_bytes, count = struct.unpack("<II", head[4:HEAD_BYTES])
    if count > MAX_BLOBS:
        raise FrameTooLarge(f"{count} blobs, more than {MAX_BLOBS}")
    if body_bytes > limit_bytes:
        raise FrameTooLarge(f"body of {body_bytes} bytes, more than the limit of {limit_bytes}")
    return body_bytes, count


def _name_bytes(prefix: bytes) -> int:
    (count,) = struct.unpack("<H", prefix)
    if not 0 < count <= MAX_NAME_BYTES:
        raise FrameError(f"a blob's name has {count} bytes, not 1 to {MAX_NAME_BYTES}")
    return int(count)


def _decode(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise FrameError(f"a blob's name is not UTF-8: {name[:40]!r}") from error


def _within(body_bytes: int, sizes: Mapping[str, int], limit_bytes: int) -> int:
    total = body_bytes + sum(sizes.values())
    if total > limit_bytes:
        raise FrameTooLarge(f"frame of {total} bytes, more than the limit of {limit_bytes}")
    return total


def unpack(stream: BinaryIO, limit_bytes: int = LIMIT_BYTES) -> tuple[bytes, dict[str, bytes]]:
    """Read one frame. EOFError if the stream ends first, FrameError if it is not a frame or claims too much."""
    body_bytes, count = _head(_exactly(stream, HEAD_BYTES), limit_bytes)
    sizes: dict[str, int] = {}
    for _ in range(count):
        name = _decode(_exactly(stream, _name_bytes(_exactly(stream, 2))))
        (sizes[name],) = struct.unpack("<Q", _exactly(stream, 8))
    if len(sizes) != count:
        raise FrameError("two blobs have one name")
    _within(body_bytes, sizes, limit_bytes)
    body = _exactly(stream, body_bytes)
    return body, {name: _exactly(stream, size) for name, size in sizes.items()}


def bytes_needed(prefix: bytes | bytearray, limit_bytes: int = LIMIT_BYTES) -> int:
    """Length of the frame that starts with `prefix`, or, while the prefix does not tell yet, a lower bound that is
    greater than `len(prefix)`. FrameError as in `unpack`, as soon as the prefix shows it."""
    if len(prefix) < HEAD_BYTES:
        return HEAD_BYTES
    body_bytes, count = _head(bytes(prefix[:HEAD_BYTES]), limit_bytes)
    at, total = HEAD_BYTES, body_bytes
    for entry in range(count):
        still = 11 * (count - entry)  # an entry has at least 11 bytes
        if len(prefix) < at + 2:
            return at + still
        at += 2 + _name_bytes(bytes(prefix[at : at + 2]))
        if len(prefix) < at + 8:
            return at + 8 + still - 11
        total += struct.unpack_from("<Q", prefix, at)[0]
        at += 8
        if total > limit_bytes:
            raise FrameTooLarge(f"frame of {total} bytes or more, over the limit of {limit_bytes}")
    return at + total
