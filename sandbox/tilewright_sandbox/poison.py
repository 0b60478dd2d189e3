"""What lies around and inside buffers before a kernel writes them. The interpreter worker fills, the judge compares."""

from __future__ import annotations

import struct
from typing import Literal

from .contract import DTYPE_BYTES, Dtype

Poison = Literal["nan", "inf", "large", "zero"]
WORD_BYTES = 8
"""Every pattern is one word: a whole number of elements of any dtype, so that it repeats without a seam."""
_INFINITY: dict[Dtype, bytes] = {
    "float64": struct.pack("<d", float("inf")),
    "float32": struct.pack("<f", float("inf")),
    "float16": struct.pack("<e", float("inf")),
    "bfloat16": b"\x80\x7f",
    "float8_e5m2": b"\x7c",
    "float8_e4m3fn": b"\x7e",  # has no infinity: its greatest value, 448
}


def poison_word(poison: Poison, dtype: Dtype) -> bytes:
    """Eight bytes of poison for elements of `dtype`.

    nan: all bits set, a NaN in every float dtype and −1 in signed integers. large: bytes 0x7b, 1.3e36 in float32 and
    61,280 in float16. zero: zeros. These three are the same bytes whatever the dtype. inf: +∞, or the greatest integer.
    """
    if poison == "inf":
        greatest = b"\xff" if dtype == "uint8" else b"\xff" * (DTYPE_BYTES[dtype] - 1) + b"\x7f"
        element = _INFINITY.get(dtype, greatest)
    else:
        element = {"nan": b"\xff", "large": b"\x7b", "zero": b"\x00"}[poison]
    return element * (WORD_BYTES // len(element))


def poison_bytes(poison: Poison, dtype: Dtype, count: int) -> bytes:
    """`count` bytes of the pattern, starting at an element's first byte."""
    word = poison_word(poison, dtype)
    return (word * (count // WORD_BYTES + 1))[:count]


def first_overwritten(poison: Poison, dtype: Dtype, margin: bytes) -> int | None:
    """Offset of the first byte of a margin that is not the poison any more, or None where all of it is."""
    expected = poison_bytes(poison, dtype, len(margin))
    if margin == expected:
        return None
    return next(at for at, (was, now) in enumerate(zip(expected, margin, strict=True)) if was != now)
