"""Arguments as the bytes that a cubin's parameters take, checked against what the cubin itself says it takes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from ...contract import Argument, Pointer, Scalar, TensorMap

_FORMATS = {
    "i1": "<?", "u1": "<?", "i8": "<b", "u8": "<B", "i16": "<h", "u16": "<H", "i32": "<i", "u32": "<I",
    "i64": "<q", "u64": "<Q", "fp16": "<e", "fp32": "<f", "fp64": "<d",
}  # fmt: skip
TENSOR_MAP_BYTES = 128


class ParametersDiffer(Exception):
    """A plan's arguments are not what its cubin takes."""


def pack_scalar(scalar: Scalar) -> bytes:
    """Little-endian bytes. bf16 is the upper half of the float32, rounded to nearest even."""
    if scalar.type == "bf16":
        (word,) = struct.unpack("<I", struct.pack("<f", float(scalar.value)))
        return struct.pack("<H", (word + 0x7FFF + (word >> 16 & 1)) >> 16)
    try:
        code = _FORMATS[scalar.type]
    except KeyError:
        raise ParametersDiffer(f"a scalar of type {scalar.type} cannot be passed") from None
    value = scalar.value if code[1] in "efd?" else int(scalar.value)
    if (
        scalar.type in ("i8", "i16", "i32", "i64")
        and isinstance(value, int)
        and value >= 1 << (8 * struct.calcsize(code) - 1)
    ):
        value -= 1 << (8 * struct.calcsize(code))  # an unsigned value that Triton calls signed
    try:
        return struct.pack(code, value)
    except struct.error as error:
        raise ParametersDiffer(f"{scalar.value} is no {scalar.type}: {error}") from error


def pack(
    arguments: Sequence[Argument],
    parameters: Sequence[tuple[int, int]],
    address: Callable[[int], int],
    encode: Callable[[TensorMap], bytes],
    scratch: tuple[int, int] = (0, 0),
) -> tuple[bytes, tuple[int, ...]]:
    """The parameter block of one launch, and the offset of each parameter in it.

    `parameters`: (offset, bytes) of each parameter, as the cubin says. Triton 3.6 appends two pointers, to global and
    profile scratch. `address`: of a buffer by number; `encode`: the 128 bytes of a TMA descriptor. Raises
    ParametersDiffer where number or sizes do not fit.
    """
    values = [_bytes_of(argument, address, encode) for argument in arguments]
    values += [struct.pack("<Q", pointer) for pointer in scratch]
    if len(values) != len(parameters):
        raise ParametersDiffer(f"the cubin takes {len(parameters)} parameters, the plan gives {len(values)}")
    block = bytearray(max((offset + size for offset, size in parameters), default=0))
    for number, (value, (offset, size)) in enumerate(zip(values, parameters, strict=True)):
        if len(value) != size:
            raise ParametersDiffer(f"parameter {number} of the cubin has {size} bytes, the plan gives {len(value)}")
        block[offset : offset + size] = value
    return bytes(block), tuple(offset for offset, _ in parameters)


def _bytes_of(argument: Argument, address: Callable[[int], int], encode: Callable[[TensorMap], bytes]) -> bytes:
    if isinstance(argument, Pointer):
        return struct.pack("<Q", address(argument.buffer) + argument.offset_bytes)
    return pack_scalar(argument) if isinstance(argument, Scalar) else encode(argument)
