"""Arguments become the bytes that a cubin takes, or the plan is refused; no device needed."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright_sandbox.contract import Pointer, Scalar, TensorMap
from tilewright_sandbox.judge.device.packing import ParametersDiffer, pack, pack_scalar

MAP = TensorMap(
    buffer=0, dtype="float16", shape=(4, 8), strides=(8, 1), block_shape=(2, 8), swizzle=0, elem_size=2, elem_type=6
)


def no_map(described: TensorMap) -> bytes:
    raise AssertionError(described)


def test_offsets_are_the_cubin_s_own() -> None:
    arguments = (Pointer(buffer=1, offset_bytes=32), Scalar(type="i32", value=-7), Pointer(buffer=0))
    parameters = ((0, 8), (8, 4), (16, 8), (24, 8), (32, 8))
    block, offsets = pack(arguments, parameters, lambda number: 0x1000 * (number + 1), no_map, (0xAA, 0xBB))
    assert offsets == (0, 8, 16, 24, 32)
    assert struct.unpack("<QixxxxQQQ", block) == (0x2020, -7, 0x1000, 0xAA, 0xBB)


def test_a_descriptor_takes_128_bytes() -> None:
    block, offsets = pack((MAP,), ((0, 128), (128, 8), (136, 8)), lambda number: 0, lambda described: bytes([7]) * 128)
    assert block[:128] == bytes([7]) * 128
    assert offsets == (0, 128, 136)


@pytest.mark.parametrize(
    "parameters", [((0, 8), (8, 8)), ((0, 8), (8, 8), (16, 8), (24, 8)), ((0, 4), (8, 8), (16, 8))]
)
def test_another_number_or_size_of_parameters_is_refused(parameters: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ParametersDiffer):
        pack((Pointer(buffer=0),), parameters, lambda number: 0, no_map)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("i1", True, b"\x01"), ("i8", -1, b"\xff"), ("i8", 255, b"\xff"), ("i16", 65535, b"\xff\xff"),
        ("i32", 2**32 - 1, b"\xff" * 4), ("u32", 2**32 - 1, b"\xff" * 4), ("i64", -(2**63), b"\0" * 7 + b"\x80"),
        ("fp32", 1.0, struct.pack("<f", 1.0)), ("fp64", 0.1, struct.pack("<d", 0.1)), ("fp16", 2.0, b"\x00\x40"),
        ("bf16", 1.0, b"\x80\x3f"), ("bf16", 1.00390625, b"\x80\x3f"), ("bf16", 1.01171875, b"\x82\x3f"),
    ],
)  # fmt: skip
def test_scalars(kind: str, value: float, expected: bytes) -> None:
    assert pack_scalar(Scalar(type=kind, value=value)) == expected


@given(st.integers(-(2**31), 2**31 - 1))
def test_i32_round_trip(value: int) -> None:
    assert struct.unpack("<i", pack_scalar(Scalar(type="i32", value=value)))[0] == value


@pytest.mark.parametrize(("kind", "value"), [("i32", 2**40), ("u8", -1), ("i7", 1), ("fp16", 1e9)])
def test_what_does_not_fit_is_refused(kind: str, value: float) -> None:
    with pytest.raises((ParametersDiffer, OverflowError)):
        pack_scalar(Scalar(type=kind, value=value))
