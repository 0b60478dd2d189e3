"""The audit refuses weak specs with the reason, and passes sound ones of unusual form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright_sandbox.jobs import AuditReport, AuditRequest
from tilewright_sandbox.judge.audit import audit
from tilewright_sandbox.spec import SpecError, list_specs, load_spec, scaffold_spec

SPECS = Path(__file__).parents[2] / "specs"

HEAD = """\
schema = 1
name = "op"
summary = "for a test"
[axes]
{axes}
[inputs]
{inputs}
[outputs]
{outputs}
{rest}
[[workloads]]
role = "tune"
axes = {{ {bound} }}
[[workloads]]
role = "bench"
axes = {{ {bound} }}
"""
ROWS_COLS = "rows = { min = 1, max = 999 }\ncols = { min = 1, max = 999 }"
X = 'x = { shape = ["rows", "cols"], dtype = "bfloat16", fill = "normal" }'
W = 'w = { shape = ["cols"], dtype = "bfloat16", fill = "normal" }'
Y = 'y = { shape = ["rows", "cols"], dtype = "bfloat16" }'


def audited(
    folder: Path,
    body: str,
    *,
    inputs: str = X,
    outputs: str = Y,
    axes: str = ROWS_COLS,
    before: str = "",
    rest: str = "",
) -> AuditReport:
    """`body` is the text of `reference`; its parameters are the inputs."""
    folder = folder / "op"
    folder.mkdir()
    names = [line.split("=")[0].strip() for line in axes.splitlines()]
    extents = [re.findall(r"\d+", line)[0] for line in axes.splitlines()]
    bound = ", ".join(f"{name} = {extent}" for name, extent in zip(names, extents, strict=True))
    toml = HEAD.format(axes=axes, inputs=inputs, outputs=outputs, rest=rest, bound=bound)
    parameters = ", ".join(line.split("=")[0].strip() for line in inputs.splitlines())
    head = "from __future__ import annotations\nimport torch\nimport torch.nn.functional as F\n"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "spec.toml").write_text(toml)
    (folder / "reference.py").write_text(f"{head}{before}\ndef reference({parameters}):\n{lines}")
    return audit(AuditRequest(spec_path=str(folder)), load_spec(folder))


def refusals(report: AuditReport) -> dict[str, str]:
    return {finding.name: finding.message for finding in report.findings if finding.status == "FAIL"}


def f32(declaration: str) -> str:
    return declaration.replace("bfloat16", "float32")


WEAK = {
    "zero": ("return x - x", {}, "varies", 'output "y" is identically zero'),
    "zero_by_algebra": (
        "return F.layer_norm(x.float(), (x.shape[-1],)).mean(-1)",
        {"outputs": 'y = { shape = ["rows"], dtype = "float32" }'}, "varies", 'output "y" is identically zero',
    ),
    "constant_by_algebra": (
        "return torch.softmax(x.float(), -1).sum(-1)",
        {"outputs": 'y = { shape = ["rows"], dtype = "float32" }'}, "varies", 'output "y" is constant',
    ),
    "below_the_rounding_of_its_dtype": ("return 100 + x * 1e-4", {}, "varies", 'output "y" is constant'),
    "tiny_and_flat": ("return torch.softmax(x.float() * 1e-6, -1).to(x.dtype)", {}, "varies", 'output "y" is constant'),
    "one_of_two_outputs": (
        "return x + w, w * 0",
        {"inputs": f"{X}\n{W}", "outputs": Y + '\nz = { shape = ["cols"], dtype = "bfloat16" }'},
        "varies", 'output "z" is identically zero',
    ),
    "ignores_an_input": ("return x * 2 + 0 * w", {"inputs": f"{X}\n{W}"}, "heeds inputs", 'input "w" moves no output'),
    "input_below_rounding": (
        "return x + 1e-7 * w", {"inputs": f"{X}\n{W}"}, "heeds inputs", 'input "w" moves no output',
    ),
    "ignores_the_tail": (
        "return torch.cat([x[:-2], x[:2] * 0])", {"axes": ROWS_COLS.replace("rows = { min = 1", "rows = { min = 4")},
        "heeds inputs", 'of input "x" move no output',
    ),
    "clamp_that_the_fill_never_reaches": (
        "return x.clamp(min=4.5)", {}, "heeds inputs", "but not under its own fill",
    ),
    "scalar_without_effect": (
        "return x * 2 + 0 * eps", {"inputs": X + "\neps = { value = 1e-6 }"}, "heeds inputs", '"eps" changes nothing',
    ),
    "random": ("return x + torch.rand_like(x)", {}, "deterministic", "reference.py:6: draws random numbers (rand"),
    "dropout": ("h = x * 2\nreturn F.dropout(h, 0.5)", {}, "deterministic", "reference.py:7: draws random numbers"),
    "seeded": (
        "torch.manual_seed(0)\nreturn x * torch.randn(1).to(x.dtype)", {}, "deterministic", "reference.py:7: draws",
    ),
    "keeps_state": (
        "CALLS.append(1)\nreturn x * len(CALLS)", {"before": "CALLS = []\n"}, "deterministic", "differs between",
    ),
    "writes_to_its_input": ("return x.mul_(2)", {}, "inputs unchanged", 'writes to its input "x" —'),
    "writes_where_float_makes_no_copy": (
        "h = x.float()\nh += 1\nreturn h.to(x.dtype)", {}, "inputs unchanged", "where that is wide already",
    ),
    "nan": ("return x.sqrt()", {}, "finite", 'output "y" is NaN in'),
    "overflow": (
        "return (x * 12).exp()",
        {"inputs": X.replace("bfloat16", "float16"), "outputs": Y.replace("bfloat16", "float16")},
        "finite", "overflows float16",
    ),
    "identity_on_its_fill": (
        "return x.relu()", {"inputs": X.replace("normal", "uniform")}, "not degenerate",
        'input "x", passed through, would pass as output "y"',
    ),
    "identity": ("return x.float().to(x.dtype)", {}, "not degenerate", 'input "x", passed through,'),
    "order_below_rounding": (
        "return 3 + 1e-4 * x + x.float().mean().to(x.dtype)", {}, "not degenerate", "permuted along rows would pass",
    ),
    "gradient_zero": (
        "return x.round() * 2", {"inputs": f32(X), "outputs": f32(Y), "rest": '[accept]\ngrad = ["x"]'},
        "gradients", 'the gradient of "x" is zero',
    ),
    "gradient_infinite": (
        "return (x - x.amax(-1, keepdim=True)).abs().sqrt()",
        {"inputs": f32(X), "outputs": f32(Y), "rest": '[accept]\ngrad = ["x"]'},
        "gradients", 'the gradient of "x" is not finite',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WEAK)
def test_a_weak_spec_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    body, changes, finding, message = WEAK[name]
    report = audited(tmp_path, body, **changes)
    assert not report.sound
    assert message in refusals(report).get(finding, ""), refusals(report)
    assert " — " in refusals(report)[finding]


SOUND = {
    "tiny_outputs": ("return torch.softmax(x.float(), -1).to(x.dtype)",
                     {"axes": "rows = { min = 1, max = 99 }\ncols = { choices = [8192] }"}),
    "tiny_scale": ("return x * 1e-30", {}),
    "sort_of_a_vector": ("return x.sort().values", {"axes": "cols = { min = 1, max = 99 }",
                         "inputs": X.replace('"rows", ', ""), "outputs": Y.replace('"rows", ', "")}),
    "sum_of_everything": ("return x.double().sum().float()", {"outputs": 'y = { shape = [], dtype = "float32" }'}),
    "large_constant_in_float32": ("return 1000 + x", {"inputs": f32(X), "outputs": f32(Y)}),
    "transpose": ("return x.t().contiguous()", {"outputs": Y.replace('"rows", "cols"', '"cols", "rows"')}),
    "indices_out": ("return x.argmax(-1)", {"outputs": 'y = { shape = ["rows"], dtype = "int64" }'}),
    "causal_scores": (
        "m = torch.ones(x.shape, dtype=torch.bool).tril()\nreturn (x * 2).masked_fill(~m, float('-inf'))",
        {"inputs": X, "axes": "rows = { min = 64, max = 99 }\ncols = { min = 2, max = 32 }"},
    ),
    "gather": (
        "return table[index]",
        {"axes": "rows = { min = 1, max = 999 }\ncols = { min = 1, max = 99 }\nvocab = { min = 2, max = 99 }",
         "inputs": X.replace("x =", "table =").replace("rows", "vocab")
         + '\nindex = { shape = ["rows"], dtype = "int32", fill = "index", below = "vocab" }'},
    ),
    "bounded_below": ("return x.sqrt()", {"inputs": X.replace('"normal"', '"normal", low = 0.0')}),
    "with_gradient": ("return x.tanh() * w", {"inputs": f"{f32(X)}\n{f32(W)}", "outputs": f32(Y),
                                              "rest": '[accept]\ngrad = ["x", "w"]'}),
    "prints": ('print("hello")\nreturn x * 2', {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_spec_of_unusual_form_passes(tmp_path: Path, name: str) -> None:
    body, changes = SOUND[name]
    report = audited(tmp_path, body, **changes)
    assert report.sound, refusals(report)
    assert [f.status for f in report.findings] == ["PASS"] * (6 if "gradient" in name else 5)


@pytest.mark.parametrize("folder", list_specs(SPECS), ids=lambda path: path.name)
def test_the_shipped_specs_are_sound(folder: Path) -> None:
    report = audit(AuditRequest(spec_path=str(folder), seed=3), load_spec(folder))
    assert report.sound, refusals(report)
    assert all(finding.facts["seeds"] >= 3 and finding.facts["distributions"] >= 4 for finding in report.findings)


def test_a_scaffold_is_sound(tmp_path: Path) -> None:
    folder = scaffold_spec("my_op", tmp_path)
    assert audit(AuditRequest(spec_path=str(folder)), load_spec(folder)).sound


def test_a_spec_that_has_no_small_shape_is_marked_and_not_examined(tmp_path: Path) -> None:
    report = audited(tmp_path, "return x * 2", axes="rows = { choices = [4096] }\ncols = { choices = [4096] }")
    assert [finding.status for finding in report.findings] == ["NOT_RUN"]
    assert "too large to audit" in report.findings[0].message


@pytest.mark.parametrize(
    ("body", "outputs", "line", "message"),
    [
        (
            "return x.sum(-1)",
            Y,
            5,
            r"with rows = \d, cols = 61: output \"y\" has shape \(\d,\), the spec says \(\d, 61\)",
        ),
        ("return x.float()", Y, 5, r"is torch.float32, the spec says bfloat16 — end with .to\(torch.bfloat16\)"),
        ("return x, x", Y, 5, r"returns \(Tensor, Tensor\), the spec has 1 output"),
        ("return 1.0 * x.shape[0]", Y, 5, r"returns \(float\)"),
        ("h = x + 1\nreturn h @ h", Y, 7, "fails: RuntimeError: mat1 and mat2"),
        ("return x[:, 1:].max(-1, keepdim=True).values * x", Y, 6, "with rows = 1, cols = 1: fails: IndexError"),
    ],
)
def test_a_reference_that_does_not_fit_is_an_error_of_the_spec(
    tmp_path: Path, body: str, outputs: str, line: int, message: str
) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        audited(tmp_path, body, outputs=outputs)
    assert Path(caught.value.file).name == "reference.py"
    assert caught.value.line == line
