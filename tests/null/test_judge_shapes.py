"""Which shapes the judge chooses: inside the domain and WHERE, about the blocks, different for every seed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright_sandbox.contract import Axis, Config, Dtype, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.shapes import choose_shapes, expected_accesses, least_shape, long_shapes, predicted_accesses
from tilewright_sandbox.twins import MAX_ELEMENTS, base_shape, elements, nearest, twin_dtypes


def spec_of(axes: dict[str, Axis], dtype: Dtype = "bfloat16") -> Spec:
    names = tuple(axes)
    return Spec(
        name="any",
        summary="any",
        op="any",
        axes=axes,
        inputs=(TensorInput(name="x", shape=names, dtype=dtype),),
        outputs=(TensorOutput(name="y", shape=names, dtype=dtype),),
        workloads=(Workload(role="tune", axes={name: axis.max for name, axis in axes.items()}),),
        reference_sha256="0" * 64,
    )


ROWS = spec_of({"rows": Axis(min=1, max=65536), "cols": Axis(min=1, max=16384)})
EVERYWHERE = Config({"BLOCK": 1024, "num_warps": 8})


def always(axes: Mapping[str, int]) -> bool:
    return True


def test_hidden_shapes_differ_from_seed_to_seed_and_repeat_with_it() -> None:
    def hidden(seed: bytes) -> list[dict[str, int]]:
        return [w.axes for w in choose_shapes(ROWS, EVERYWHERE, always, seed).first if w.role == "hidden"]

    assert hidden(b"one" * 5) == hidden(b"one" * 5)
    assert hidden(b"one" * 5) != hidden(b"two" * 5)
    assert len(hidden(b"one" * 5)) == 5


def test_shapes_about_a_block_are_one_below_one_above_and_over_two_blocks() -> None:
    blocks = choose_shapes(ROWS, EVERYWHERE, always, b"seed").blocks
    assert {1023, 1025, 2049} <= {workload.axes["cols"] for workload in blocks}
    assert not any(workload.axes["cols"] in (7, 9, 17) for workload in blocks), "num_warps is no block"


def test_what_where_excludes_is_counted_and_never_chosen() -> None:
    def even(axes: Mapping[str, int]) -> bool:
        return axes["cols"] % 2 == 0

    chosen = choose_shapes(ROWS, EVERYWHERE, even, b"seed")
    assert chosen.infeasible > 0
    assert all(workload.axes["cols"] % 2 == 0 for workload in (*chosen.first, *chosen.blocks))
    assert 0.3 < chosen.domain_share < 0.7
    assert base_shape(ROWS, even) == {"rows": 5, "cols": 64}
    assert base_shape(ROWS, lambda axes: False) is None


def test_the_least_shape_of_the_domain_is_always_there() -> None:
    spec = spec_of({"rows": Axis(min=2, max=64), "cols": Axis(min=24, max=512, choices=(24, 64, 512))})
    axes = [workload.axes for workload in choose_shapes(spec, EVERYWHERE, always, b"seed").first]
    assert {"rows": 2, "cols": 24} in axes


def test_a_constant_axis_keeps_its_extent() -> None:
    spec = spec_of({"rows": Axis(min=1, max=64), "taps": Axis(min=4, max=4)})
    chosen = choose_shapes(spec, EVERYWHERE, always, b"seed")
    assert {workload.axes["taps"] for workload in (*chosen.first, *chosen.blocks)} == {4}
    assert all(shape["taps"] == 4 for shape in long_shapes(spec, always, always, 500))


axis = st.one_of(
    st.tuples(st.integers(1, 50), st.integers(0, 5000), st.sampled_from([1, 1, 8, 16])).map(
        lambda t: Axis(min=t[0] * t[2], max=t[0] * t[2] + t[1] * t[2], multiple_of=t[2])
    ),
    st.lists(st.integers(1, 9000), min_size=1, max_size=4, unique=True).map(
        lambda c: Axis(min=min(c), max=max(c), choices=tuple(c))
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(axis, min_size=1, max_size=3), st.binary(min_size=1, max_size=16))
def test_every_shape_is_inside_the_domain_and_small(axes: list[Axis], seed: bytes) -> None:
    spec = spec_of({f"a{i}": axis for i, axis in enumerate(axes)})
    chosen = choose_shapes(spec, EVERYWHERE, always, seed)
    for workload in (*chosen.first, *chosen.blocks):
        assert all(spec.axes[name].admits(extent) for name, extent in workload.axes.items())
        assert elements(spec, workload.axes) <= MAX_ELEMENTS


@given(axis, st.integers(1, 10_000))
def test_nearest_is_in_the_domain_and_no_admitted_extent_is_nearer(axis: Axis, wanted: int) -> None:
    found = nearest(axis, wanted)
    assert axis.admits(found)
    for other in (wanted, wanted - 1, wanted + 1):
        if axis.admits(other):
            assert abs(found - wanted) <= abs(other - wanted)


def test_twins_are_never_bfloat16_and_float64_is_not_narrowed() -> None:
    assert [twin["x"] for twin in twin_dtypes(ROWS)] == ["float32", "float16"]
    assert [twin["x"] for twin in twin_dtypes(spec_of({"n": Axis(min=1, max=9)}, "float16"))] == ["float32", "float16"]
    assert [twin["x"] for twin in twin_dtypes(spec_of({"n": Axis(min=1, max=9)}, "float64"))] == ["float64"]


def test_time_is_predicted_from_the_run_that_bounds_it_best() -> None:
    measured = [({"rows": 5, "cols": 61}, 0.05), ({"rows": 3, "cols": 263}, 0.04)]
    assert predicted_accesses({"rows": 3, "cols": 2630}, measured) == 0.4
    assert predicted_accesses({"rows": 50, "cols": 10}, measured) == 0.5


def test_an_expected_count_falls_with_the_extents_as_it_was_seen_to_fall() -> None:
    base, least = {"rows": 5, "cols": 61}, {"rows": 1, "cols": 1}
    flat = [(base, 305), (least, 1)]  # one access a point
    assert expected_accesses({"rows": 50, "cols": 6}, flat) == pytest.approx(300)
    by_row = [(base, 5), (least, 1)]  # blocks cover a row
    assert 5 < expected_accesses({"rows": 50, "cols": 6}, by_row) <= predicted_accesses({"rows": 50, "cols": 6}, by_row)
    assert expected_accesses({"rows": 50, "cols": 6}, [(base, 305)]) == 3050, "nothing smaller was run"
    assert expected_accesses(base, flat) == 305


def test_the_least_shape_is_run_however_slow_and_slow_edges_are_counted() -> None:
    chosen = choose_shapes(ROWS, EVERYWHERE, always, b"seed", lambda axes: False)
    assert [workload.axes for workload in chosen.first] == [{"rows": 1, "cols": 1}]
    assert chosen.first == least_shape(ROWS, always)
    assert (chosen.infeasible, chosen.slow) == (0, 4)
    assert least_shape(ROWS, lambda axes: axes["cols"] > 1) == ()
