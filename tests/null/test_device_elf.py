"""Sections of a cubin: device variables are found, and what is no ELF file is said to be none."""

from __future__ import annotations

import struct

import pytest

from tilewright_sandbox.judge.device.elf import keeps_state, sections


def elf(**contents: bytes) -> bytes:
    """A file with those sections; `NOBITS` ones are given by a length in text, such as b"size 12"."""
    names = b"\0"
    body = b""
    headers = [struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    for name, data in contents.items():
        label = len(names)
        names += b"." + name.replace("_", ".").encode() + b"\0"
        bits = not data.startswith(b"size ")
        length = len(data) if bits else int(data[5:])
        headers.append(struct.pack("<IIQQQQIIQQ", label, 1 if bits else 8, 0, 0, 64 + len(body), length, 0, 0, 0, 0))
        body += data if bits else b""
    label = len(names)
    names += b".shstrtab\0"
    headers.append(struct.pack("<IIQQQQIIQQ", label, 3, 0, 0, 64 + len(body), len(names), 0, 0, 0, 0))
    table = 64 + len(body) + len(names)
    head = b"\x7fELF\x02\x01" + bytes(0x28 - 6) + struct.pack("<Q", table)
    head += bytes(0x3A - len(head)) + struct.pack("<HHH", 64, len(headers), len(headers) - 1)
    return head + body + names + b"".join(headers)


def test_sections_are_read_by_name() -> None:
    assert sections(elf(text_kernel=b"code", nv_info=b"x"))[".text.kernel"] == b"code"


@pytest.mark.parametrize("data", [b"size 4", b"\0\0\0\0", b"a counter"])
@pytest.mark.parametrize("name", ["nv_global", "nv_global_init"])
def test_device_variables_are_state(name: str, data: bytes) -> None:
    assert keeps_state(elf(text_kernel=b"code", **{name: data}))


@pytest.mark.parametrize("data", [b"__CUDA_FTZ\0", b"__CUDA_FTZ\0__CUDA_PREC_SQRT\0", b""])
def test_the_switches_of_libdevice_are_none(data: bytes) -> None:
    assert not keeps_state(elf(text_kernel=b"code", nv_global_init=data))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\0" * 200, elf(text_kernel=b"code")[:80]])
def test_what_is_no_cubin_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(ValueError, match="ELF"):
        keeps_state(data)
