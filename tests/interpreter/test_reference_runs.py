"""The reference in its own dtypes and in float64, whatever casts it makes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tilewright_sandbox.judge.inputs import draw_inputs
from tilewright_sandbox.judge.reference import Reference
from tilewright_sandbox.spec import SpecError, list_specs, load_spec, scaffold_spec

SPECS = Path(__file__).parents[2] / "specs"
AXES = {"rows": 5, "cols": 33}


def reference(folder: Path, body: str) -> Reference:
    """`reference(x, scale)` of the scaffold with another body."""
    path = scaffold_spec("op", folder)
    head = "from __future__ import annotations\nimport torch\nimport torch.nn.functional as F\n"
    text = f"{head}\ndef reference(x, scale):\n"
    (path / "reference.py").write_text(text + "".join(f"    {line}\n" for line in [*body.splitlines(), ""]))
    return Reference(load_spec(path))


CASTS = {
    "float": "return x.float() * scale.float()",
    "to": "return x.to(torch.float32) * scale.to(torch.float32)",
    "to_keyword": "return x.to(dtype=torch.float32) * scale.to(dtype=torch.bfloat16)",
    "half_and_back": "return x.half().bfloat16().float() * scale",
    "type": "return x.type(torch.float16) * scale",
    "type_as": "return x.half().type_as(scale) * scale",
    "softmax_dtype": "return F.softmax(x, -1, dtype=torch.float32) * scale",
    "sum_dtype": "return x * scale / x.abs().sum(-1, keepdim=True, dtype=torch.float32)",
    "new_tensor": "return x * scale + torch.full(x.shape, 1 / 3, dtype=torch.float32)",
    "zeros_without_dtype": "y = torch.zeros(x.shape)\ny = y + x * scale\nreturn y",
    "full_without_dtype": "return x * scale + torch.full(x.shape, 1 / 3)",
    "tensor_literal": "return x * scale * torch.tensor(1 / 3)",
    "arange": "return x * scale * torch.arange(x.shape[-1]) / 3",
    "linspace": "return x * scale * torch.linspace(0, 0.3, x.shape[-1])",
    "empty_like": "y = torch.empty_like(x, dtype=torch.float32)\ny.copy_(x * scale)\nreturn y",
}
EXACT = {
    "softmax_dtype": lambda x, s: torch.softmax(x, -1) * s,
    "sum_dtype": lambda x, s: x * s / x.abs().sum(-1, keepdim=True),
    "new_tensor": lambda x, s: x * s + 1 / 3,
    "full_without_dtype": lambda x, s: x * s + 1 / 3,
    "tensor_literal": lambda x, s: x * s * (1 / 3),
    "arange": lambda x, s: x * s * torch.arange(x.shape[-1]) / 3,
    "linspace": lambda x, s: x * s * torch.linspace(0, 0.3, x.shape[-1], dtype=torch.float64),
}


@pytest.mark.parametrize("name", CASTS)
def test_every_cast_inside_is_promoted(tmp_path: Path, name: str) -> None:
    made = reference(tmp_path, CASTS[name])
    inputs = draw_inputs(made.spec, AXES, b"seed")
    (oracle,) = made.run_float64(inputs)
    expected = EXACT.get(name, lambda x, s: x * s)(inputs["x"].double(), inputs["scale"].double())
    assert oracle.dtype is torch.float64
    torch.testing.assert_close(oracle, expected, rtol=1e-14, atol=1e-15)
    assert inputs["x"].dtype is torch.bfloat16, "the inputs themselves are left alone"


def test_a_native_run_is_not_promoted(tmp_path: Path) -> None:
    made = reference(tmp_path, "return (x.half() + scale.half()).to(x.dtype)")
    inputs = draw_inputs(made.spec, AXES, b"seed")
    made.run_float64(inputs)
    (native,) = made.run(inputs)
    assert torch.equal(native, (inputs["x"].half() + inputs["scale"].half()).bfloat16())


def test_the_default_dtype_is_restored_even_after_a_failure(tmp_path: Path) -> None:
    made = reference(tmp_path, "return x @ x * scale")
    with pytest.raises(SpecError):
        made.run_float64(draw_inputs(made.spec, AXES, b"seed"))
    assert torch.get_default_dtype() is torch.float32


def test_integers_and_bools_stay_what_they_are(tmp_path: Path) -> None:
    made = reference(tmp_path, "return torch.where(x > 0, (x * 4).to(torch.int32), 0) * scale.long()")
    (oracle,) = made.run_float64(draw_inputs(made.spec, AXES, b"seed"))
    assert oracle.dtype is torch.int64


def test_a_failure_names_the_line_of_the_reference(tmp_path: Path) -> None:
    made = reference(tmp_path, "h = x.float()\nh = h @ h\nreturn h * scale")
    with pytest.raises(SpecError, match=r"reference.py:7: fails: RuntimeError: mat1 and mat2 .* — run reference"):
        made.run(draw_inputs(made.spec, AXES, b"seed"))


@pytest.mark.parametrize("folder", list_specs(SPECS), ids=lambda path: path.name)
def test_the_shipped_references_agree_with_their_oracle(folder: Path) -> None:
    """In the spec's dtype to a few of its units: a reference that means something else in float64 shows here."""
    made = Reference(load_spec(folder))
    axes = {name: next(v for v in (24, 64) if axis.admits(v)) for name, axis in made.spec.axes.items()}
    inputs = draw_inputs(made.spec, axes, b"seed")
    native, oracle = made.run(inputs), made.run_float64(inputs)
    made.check_fits(native, axes)
    for output, exact in zip(native, oracle, strict=True):
        assert exact.dtype is torch.float64
        unit = torch.finfo(output.dtype).eps
        torch.testing.assert_close(output.double(), exact, rtol=2 * unit, atol=16 * unit * float(exact.abs().max()))
