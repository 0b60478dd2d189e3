"""Precision read from TTIR: what is a breach of the policy and what is honest. The texts are Triton 3.6's."""

from __future__ import annotations

import pytest

from tilewright_sandbox.judge.ir import breaches, element_type, has_float_atomics

HEAD = "module {\n  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {\n"
TAIL = "    tt.return\n  }\n}\n"


def codes(body: str, *, allow_tf32: bool = False, half_inputs: bool = False) -> list[str]:
    return [b.code for b in breaches(HEAD + body + TAIL, "k", allow_tf32=allow_tf32, half_inputs=half_inputs)]


def dot(operand: str, result: str, attributes: str = "", a: str = "%a") -> str:
    types = f"tensor<16x64x{operand}> * tensor<64x64x{operand}> -> tensor<16x64x{result}>"
    return f"    %d = tt.dot {a}, %b, %c{attributes} : {types} loc(#loc7)\n"


def reduction(operand: str, terms: str, combine: str = "arith.addf", kind: str = "reduce") -> str:
    return (
        f'    %s = "tt.{kind}"({terms}) <{{axis = 0 : i32}}> ({{\n'
        f"    ^bb0(%arg3: {operand} loc(unknown), %arg4: {operand} loc(unknown)):\n"
        f"      %23 = {combine} %arg3, %arg4 : {operand} loc(#loc1)\n"
        f"      tt.{kind}.return %23 : {operand} loc(#loc1)\n"
        f"    }}) : (tensor<64x{operand}>) -> {operand} loc(#loc1)\n"
    )


def loop(element: str, operation: str = "arith.addf") -> str:
    return (
        f"    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%acc_1 = %zero) -> (tensor<64x{element}>)  : i32 {{\n"
        f"      %7 = tt.load %p : tensor<64x!tt.ptr<{element}>> loc(#loc)\n"
        f"      %8 = {operation} %acc_1, %7 : tensor<64x{element}> loc(#loc)\n"
        f"      scf.yield %8 : tensor<64x{element}> loc(#loc)\n"
        f"    }} loc(#loc)\n"
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (dot("f32", "f32", ", inputPrecision = tf32"), "tf32_dot"),
        (dot("f16", "f16"), "half_accumulator"),
        (reduction("f16", "%x"), "half_sum"),
        (reduction("bf16", "%x"), "half_sum"),
        (reduction("f16", "%x", kind="scan"), "half_sum"),
        (loop("bf16"), "half_accumulator"),
        (loop("f16", "arith.subf"), "half_accumulator"),
    ],
)
def test_breach_is_found_whatever_the_inputs_are(body: str, code: str) -> None:
    assert codes(body) == [code]
    assert codes(body, half_inputs=True) == [code]


@pytest.mark.parametrize(
    "body",
    [
        dot("f32", "f32"),
        dot("bf16", "f32", ", inputPrecision = tf32"),
        dot("f32", "f32", ", inputPrecision = bf16x3"),
        reduction("f32", "%x"),
        reduction("f16", "%x", "arith.maxnumf"),
        reduction("i32", "%x", "arith.addi"),
        loop("f32"),
        loop("bf16", "arith.maxnumf"),
        "    %9 = arith.truncf %8 : tensor<64xf32> to tensor<64xbf16> loc(#loc)\n    tt.store %p, %9 loc(#loc)\n",
    ],
)
def test_honest_kernels_have_no_breach(body: str) -> None:
    assert codes(body) == []


def test_tf32_is_allowed_where_the_spec_says_so() -> None:
    assert codes(dot("f32", "f32", ", inputPrecision = tf32"), allow_tf32=True) == []


ROUNDED = (
    "    %4 = arith.truncf %3 : tensor<64xf32> to tensor<64xbf16> loc(#loc)\n"
    "    %5 = arith.extf %4 : tensor<64xbf16> to tensor<64xf32> loc(#loc)\n"
    "    %6 = arith.mulf %5, %w : tensor<64xf32> loc(#loc)\n"
)


def test_rounding_on_the_way_into_a_sum_counts_only_where_no_input_is_half() -> None:
    assert codes(ROUNDED + reduction("f32", "%6")) == ["rounds_before_sum"]
    assert codes(ROUNDED + reduction("f32", "%6"), half_inputs=True) == []
    assert codes(ROUNDED + reduction("f32", "%3")) == []


def test_rounding_of_a_dot_operand_is_seen_through_a_view() -> None:
    cast = "    %4 = arith.truncf %3 : tensor<64x16xf32> to tensor<64x16xf16> loc(#loc)\n"
    view = "    %5 = tt.trans %4 {order = array<i32: 1, 0>} : tensor<64x16xf16> -> tensor<16x64xf16> loc(#loc)\n"
    assert codes(cast + view + dot("f16", "f32", a="%5")) == ["rounds_before_dot"]


def test_loops_that_use_the_same_names_are_told_apart() -> None:
    assert codes(loop("bf16") + loop("f32")) == ["half_accumulator"]
    assert codes(loop("f32") + loop("bf16")) == ["half_accumulator"]
    assert codes(loop("f32") + loop("f32")) == []


def test_element_types_and_atomics() -> None:
    assert element_type("tensor<128x64xbf16>") == "bf16"
    assert element_type("f32") == "f32"
    assert element_type("tensor<4x!tt.ptr<f32>>") == ""
    assert has_float_atomics("%1 = tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %m : (tensor<4x!tt.ptr<f32>>) -> f32")
    assert not has_float_atomics("%1 = tt.atomic_rmw add, acq_rel, gpu, %p, %v : (!tt.ptr<i32>) -> i32")
