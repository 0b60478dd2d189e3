"""Frames: what is packed comes back; what is not a frame, or too large, is refused before it is kept."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright_sandbox import wire

BLOBS = st.dictionaries(st.text(min_size=1, max_size=20), st.binary(max_size=200), max_size=8)


@given(st.binary(max_size=300), BLOBS)
@settings(max_examples=100, deadline=None)
def test_round_trip(body: bytes, blobs: dict[str, bytes]) -> None:
    frame = wire.pack(body, blobs)
    assert wire.unpack(io.BytesIO(frame)) == (body, blobs)
    assert wire.bytes_needed(frame) == len(frame)


@given(st.binary(max_size=40), BLOBS)
@settings(max_examples=50, deadline=None)
def test_every_prefix_asks_for_more_and_never_for_too_much(body: bytes, blobs: dict[str, bytes]) -> None:
    frame = wire.pack(body, blobs)
    for length in range(len(frame)):
        assert length < wire.bytes_needed(frame[:length]) <= len(frame)
        with pytest.raises(EOFError):
            wire.unpack(io.BytesIO(frame[:length]))


def test_two_frames_on_one_stream_are_two_frames() -> None:
    stream = io.BytesIO(wire.pack(b"one", {"a": b"1"}) + wire.pack(b"two"))
    assert [wire.unpack(stream), wire.unpack(stream)] == [(b"one", {"a": b"1"}), (b"two", {})]


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (b"HTTP/1.1 200", wire.FrameError),
        (wire.MAGIC + struct.pack("<II", 1001, 0), wire.FrameTooLarge),
        (wire.MAGIC + struct.pack("<II", 0, wire.MAX_BLOBS + 1), wire.FrameTooLarge),
        (wire.MAGIC + struct.pack("<IIH", 0, 1, 1) + b"a" + struct.pack("<Q", 1 << 62), wire.FrameTooLarge),
        (wire.MAGIC + struct.pack("<II", 0, 1) + struct.pack("<H", 60_000), wire.FrameError),
        (wire.MAGIC + struct.pack("<II", 0, 1) + struct.pack("<H", 0), wire.FrameError),
    ],
    ids=["not a frame", "body", "blob count", "blob", "long name", "no name"],
)
def test_false_claims_are_refused_from_the_head_alone(frame: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        wire.bytes_needed(frame, limit_bytes=1000)
    with pytest.raises(error):
        wire.unpack(io.BytesIO(frame + bytes(100)), limit_bytes=1000)


def test_blobs_that_exceed_the_limit_together_are_refused() -> None:
    frame = wire.pack(b"", {"a": bytes(600), "b": bytes(600)})
    with pytest.raises(wire.FrameTooLarge):
        wire.unpack(io.BytesIO(frame), limit_bytes=1000)
    with pytest.raises(wire.FrameTooLarge):
        wire.bytes_needed(frame, limit_bytes=1000)


def test_names_that_are_double_or_not_text_are_refused() -> None:
    entry = struct.pack("<H", 1) + b"a" + struct.pack("<Q", 0)
    with pytest.raises(wire.FrameError, match="two blobs"):
        wire.unpack(io.BytesIO(wire.MAGIC + struct.pack("<II", 0, 2) + entry * 2))
    with pytest.raises(wire.FrameError, match="not UTF-8"):
        wire.unpack(io.BytesIO(wire.MAGIC + struct.pack("<II", 0, 1) + entry.replace(b"a", b"\xff")))
    with pytest.raises(wire.FrameError):
        wire.pack(b"", {"": b""})
