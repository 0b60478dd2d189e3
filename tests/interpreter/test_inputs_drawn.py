"""Inputs are a function of the seed alone, in any process, and keep to the spec's dtypes and domains."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
import torch

from tilewright_sandbox.contract import Axis, Dtype, ScalarInput, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.judge.inputs import DISTRIBUTIONS, Inputs, draw_inputs

SPEC = Spec(
    name="op", summary="-", op="op",
    axes={"rows": Axis(min=1, max=999), "cols": Axis(min=1, max=999), "vocab": Axis(min=5, max=5)},
    inputs=(
        TensorInput(name="x", shape=("rows", "cols"), dtype="bfloat16"),
        TensorInput(name="twin", shape=("rows", "cols"), dtype="bfloat16"),
        TensorInput(name="wide", shape=("cols",), dtype="float64"),
        TensorInput(name="rate", shape=("rows", "cols"), dtype="float32", fill="uniform", low=-2.0, high=3.0),
        TensorInput(name="unit", shape=("rows", "cols"), dtype="float32", fill="uniform"),
        TensorInput(name="positive", shape=("rows", "cols"), dtype="float16", low=0.0),
        TensorInput(name="target", shape=("rows", "cols"), dtype="int64", fill="index", index_below="vocab"),
        TensorInput(name="mask", shape=("rows",), dtype="bool", fill="index", index_below=2),
        TensorInput(name="tiny", shape=("rows",), dtype="float8_e4m3fn"),
        ScalarInput(name="eps", value=1e-6),
    ),
    outputs=(TensorOutput(name="y", shape=("rows",), dtype="float32"),),
    workloads=(Workload(role="tune", axes={"rows": 64, "cols": 65, "vocab": 5}),),
    reference_sha256="0" * 64,
)  # fmt: skip
AXES = {"rows": 64, "cols": 65, "vocab": 5}
SEED = b"sixteen bytes..."


def digest(inputs: Inputs) -> str:
    total = hashlib.sha256()
    for name, value in inputs.items():
        total.update(name.encode())
        raw = value.reshape(-1).view(torch.uint8) if isinstance(value, torch.Tensor) else None
        total.update(bytes(raw.tolist()) if raw is not None else repr(value).encode())
    return total.hexdigest()


def test_another_process_draws_the_same() -> None:
    code = (
        "import importlib.util as u; s = u.spec_from_file_location('t', {file!r}); m = u.module_from_spec(s);"
        "s.loader.exec_module(m); print(m.digest(m.draw_inputs(m.SPEC, m.AXES, m.SEED)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.format(file=__file__)],
        capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""},
    )  # fmt: skip
    assert done.stdout.strip() == digest(draw_inputs(SPEC, AXES, SEED))


def test_the_order_of_axes_and_the_global_generator_do_not_matter() -> None:
    before = digest(draw_inputs(SPEC, AXES, SEED))
    torch.manual_seed(1)
    assert digest(draw_inputs(SPEC, dict(reversed(AXES.items())), SEED)) == before


def test_seed_name_axes_and_distribution_each_give_other_values() -> None:
    base = draw_inputs(SPEC, AXES, SEED)
    others = {
        "seed": draw_inputs(SPEC, AXES, SEED + b"x")["x"],
        "name": base["twin"],
        "axes": draw_inputs(SPEC, AXES | {"rows": 128}, SEED)["x"][:64],
        "distribution": draw_inputs(SPEC, AXES, SEED, distribution="normal")["x"],
    }
    for what, other in others.items():
        equal = (other == base["x"]).double().mean()
        assert equal < 0.1, what


@pytest.mark.parametrize("distribution", ["spec", *DISTRIBUTIONS])
def test_every_distribution_keeps_order_dtypes_shapes_and_domains(distribution: str) -> None:
    inputs = draw_inputs(SPEC, AXES, SEED, distribution=distribution)
    assert list(inputs) == [item.name for item in SPEC.inputs]
    assert inputs["eps"] == 1e-6
    for item in SPEC.tensor_inputs:
        value = inputs[item.name]
        assert value.dtype is getattr(torch, item.dtype)
        assert value.is_contiguous()
        assert bool(value.double().isfinite().all())
        assert len(value.double().unique()) > 1
    assert inputs["x"].shape == (64, 65)
    assert float(inputs["rate"].min()) >= -2.0
    assert float(inputs["rate"].max()) <= 3.0
    assert float(inputs["positive"].min()) >= 0.0
    assert set(inputs["target"].unique().tolist()) == {0, 1, 2, 3, 4}


def test_the_fills_have_the_moments_they_promise() -> None:
    inputs = draw_inputs(SPEC, {"rows": 500, "cols": 800, "vocab": 5}, SEED)
    moments = {name: (float(value.double().mean()), float(value.double().std())) for name, value in inputs.items()
               if isinstance(value, torch.Tensor)}  # fmt: skip
    assert moments["x"] == pytest.approx((0.0, 1.0), abs=0.01)
    assert moments["rate"] == pytest.approx((0.5, 5 / 12**0.5), abs=0.01)
    assert moments["unit"] == pytest.approx((0.5, 1 / 12**0.5), abs=0.01)
    assert moments["target"] == pytest.approx((2.0, 2**0.5), abs=0.01)


def test_twins_are_the_same_values_in_another_dtype() -> None:
    dtypes: dict[str, Dtype] = {"x": "float32"}
    wide = draw_inputs(SPEC, AXES, SEED, dtypes)["x"]
    assert wide.dtype is torch.float32
    assert torch.equal(wide.bfloat16(), draw_inputs(SPEC, AXES, SEED)["x"])
