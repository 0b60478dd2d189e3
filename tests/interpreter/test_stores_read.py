"""Arguments that a kernel stores through, read from what Triton itself writes for each form of control flow."""

from __future__ import annotations

from typing import Any

import pytest

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from tilewright_sandbox.judge.stores import stored_arguments  # noqa: E402


@triton.jit
def through_an_offset(x, y, z, n):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * n + tl.arange(0, 16)
    tl.store(y + at, tl.load(x + at) + tl.load(z + at), mask=at < n)


@triton.jit
def at_a_loaded_place(x, y, z, n):  # type: ignore[no-untyped-def]
    places = tl.load(x + tl.arange(0, 16)).to(tl.int32)
    tl.store(y + places, tl.load(z + places))


@triton.jit
def restored(x, y, z, n):  # type: ignore[no-untyped-def]
    at = tl.arange(0, 16)
    kept = tl.load(x + at)
    tl.store(x + at, 2.0 * kept)
    tl.store(y + at, tl.load(x + at) * 0.5 + tl.load(z + at))
    tl.store(x + at, kept)


@triton.jit
def pointer_that_moves(x, y, z, n):  # type: ignore[no-untyped-def]
    source, target = x + tl.arange(0, 16), y + tl.arange(0, 16)
    for _ in range(n):
        tl.store(target, tl.load(source))
        source += 16
        target += 16


@triton.jit
def pointers_that_swap(x, y, z, n):  # type: ignore[no-untyped-def]
    source, target = x + tl.arange(0, 16), y + tl.arange(0, 16)
    for _ in range(n):
        tl.store(target, tl.load(source))
        source, target = target, source


@triton.jit
def after_a_loop(x, y, z, n):  # type: ignore[no-untyped-def]
    target = y
    for _ in range(n):
        target = z
    tl.store(target, 1.0)


@triton.jit
def in_a_while(x, y, z, n):  # type: ignore[no-untyped-def]
    source, target, left = x, y, n
    while left > 0:
        tl.store(target, tl.load(source))
        target, source, left = target + 1, source + 1, left - 1
    tl.store(target, 0.0)


@triton.jit
def after_a_branch(x, y, z, n):  # type: ignore[no-untyped-def]
    target = y
    if n > 3:
        target = z
    tl.store(target, tl.load(x))


@triton.jit
def chosen_by_where(x, y, z, n):  # type: ignore[no-untyped-def]
    at = tl.arange(0, 16)
    tl.store(tl.where(at < n, y + at, x + at), tl.load(z + at))


@triton.jit(noinline=True)
def write(target, value):  # type: ignore[no-untyped-def]
    tl.store(target, value)


@triton.jit(noinline=True)
def second_of(one, two):  # type: ignore[no-untyped-def]
    return two + 1


@triton.jit
def in_a_function(x, y, z, n):  # type: ignore[no-untyped-def]
    write(y, tl.load(x))


@triton.jit
def by_a_function(x, y, z, n):  # type: ignore[no-untyped-def]
    tl.store(second_of(x, z), tl.load(x))


@triton.jit
def early_return(x, y, z, n):  # type: ignore[no-untyped-def]
    if n > 3:
        return
    tl.store(y, tl.load(x))


@triton.jit
def atomically(x, y, z, n):  # type: ignore[no-untyped-def]
    tl.atomic_add(y + tl.arange(0, 16), tl.load(x + tl.arange(0, 16)))


@triton.jit
def exchanged(x, y, z, n):  # type: ignore[no-untyped-def]
    tl.atomic_xchg(x, tl.load(y))


@triton.jit
def by_descriptor(x, y, z, n):  # type: ignore[no-untyped-def]
    source = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [16, 64])
    target = tl.make_tensor_descriptor(y, [n, 64], [64, 1], [16, 64])
    target.store([0, 0], source.load([0, 0]))


@triton.jit
def by_block_pointer(x, y, z, n):  # type: ignore[no-untyped-def]
    source = tl.make_block_ptr(x, (n, 64), (64, 1), (0, 0), (16, 16), (1, 0))
    target = tl.make_block_ptr(y, (n, 64), (64, 1), (0, 0), (16, 16), (1, 0))
    for _ in range(4):
        tl.store(target, tl.load(source, boundary_check=(0,)), boundary_check=(0,))
        source, target = tl.advance(source, (0, 16)), tl.advance(target, (0, 16))


@triton.jit
def through_an_address(x, y, z, n):  # type: ignore[no-untyped-def]
    address = y.to(tl.int64) + 64
    tl.store(address.to(tl.pointer_type(tl.float32)), tl.load(x))


@triton.jit
def after_a_reduction(x, y, z, n):  # type: ignore[no-untyped-def]
    at = tl.arange(0, 16)
    best, place = tl.max(tl.load(x + at), 0, return_indices=True)
    tl.store(z + place, best)


CASES: dict[Any, set[str]] = {
    through_an_offset: {"y"}, at_a_loaded_place: {"y"}, restored: {"x", "y"}, pointer_that_moves: {"y"},
    pointers_that_swap: {"x", "y"}, after_a_loop: {"y", "z"}, in_a_while: {"y"}, after_a_branch: {"y", "z"},
    chosen_by_where: {"x", "y"}, in_a_function: {"y"}, by_a_function: {"z"}, early_return: {"y"}, atomically: {"y"},
    exchanged: {"x"}, by_descriptor: {"y"}, by_block_pointer: {"y"}, through_an_address: {"y"},
    after_a_reduction: {"z"},
}  # fmt: skip


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_stored_arguments_are_read(kernel: Any) -> None:
    signature = {"x": "*fp32", "y": "*fp32", "z": "*fp32", "n": "i32"}
    ttir = triton.compile(ASTSource(kernel, signature, {}), target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    assert {"xyzn"[place] for place in stored_arguments(str(ttir))} - {"n"} == CASES[kernel]
