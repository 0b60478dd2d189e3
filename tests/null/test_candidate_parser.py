"""`parse_candidate`: what it reads, and that each defect gives one message with a place and a mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright_sandbox.candidate import MAX_BYTES, parse_candidate
from tilewright_sandbox.contract import (
    Accept,
    Axis,
    Candidate,
    Config,
    Rejected,
    ScalarInput,
    Spec,
    TensorInput,
    TensorOutput,
    Workload,
    candidate_id,
)

MALFORMED = sorted((Path(__file__).parents[1] / "malformed_candidates").glob("*.txt"))
SPEC = Spec(
    name="double",
    summary="y = 2 x",
    op="double",
    axes={"tokens": Axis(min=1, max=4096), "hidden": Axis(min=1, max=4096)},
    inputs=(
        TensorInput(name="x", shape=("tokens", "hidden"), dtype="float32"),
        ScalarInput(name="scale", value=2.0),
    ),
    outputs=(TensorOutput(name="y", shape=("tokens", "hidden"), dtype="float32"),),
    workloads=(Workload(role="tune", axes={"tokens": 64, "hidden": 128}),),
    reference_sha256="0" * 64,
)
SOURCE = """
import triton
import triton.language as tl

SPACE: dict[str, list[int]] = {
    "BLOCK": [256, 512], "ORDER": ("rows", "cols"), "EXACT": [True, False], "EPS": [0.5], "SHIFT": [-1, 1],
    "num_warps": 4,
}
WHERE = ["BLOCK <= tokens * hidden", "EXACT or ORDER == 'rows'"]
TRIALS = [{"BLOCK": 512, "ORDER": "cols", "EXACT": True, "SHIFT": 1}]


@triton.jit
def double(x_ptr, BLOCK: tl.constexpr):
    pass


def run(x, scale, *, BLOCK, ORDER, EXACT, EPS, SHIFT, num_warps=4):
    return x
"""


def rejection(source: str | bytes, spec: Spec | None = SPEC) -> Rejected:
    answer = parse_candidate(source, proposer="person", spec=spec)
    assert isinstance(answer, Rejected), answer
    assert answer.stage == "source"
    assert "\n" not in answer.message
    return answer


def test_space_where_and_trials_are_read_in_order() -> None:
    candidate = parse_candidate(SOURCE, proposer="person", title="t", parent="p", spec=SPEC)
    assert isinstance(candidate, Candidate), candidate
    assert list(candidate.space) == ["BLOCK", "ORDER", "EXACT", "EPS", "SHIFT", "num_warps"]
    assert candidate.space["num_warps"] == (4,)
    assert candidate.space["SHIFT"] == (-1, 1)
    assert candidate.space["EXACT"] == (True, False)
    assert candidate.where == ("BLOCK <= tokens * hidden", "EXACT or ORDER == 'rows'")
    expected = {"BLOCK": 512, "ORDER": "cols", "EXACT": True, "EPS": 0.5, "SHIFT": 1, "num_warps": 4}
    assert candidate.trials == (Config(expected),)
    assert (candidate.id, candidate.title, candidate.parent) == (candidate_id(SOURCE), "t", "p")
    assert parse_candidate(SOURCE.encode(), proposer="person", title="t", parent="p", spec=SPEC) == candidate


def test_without_a_spec_names_that_space_lacks_are_axes() -> None:
    assert isinstance(parse_candidate(SOURCE, proposer="person"), Candidate)


def test_a_candidate_may_have_nothing_to_tune() -> None:
    source = "import triton\n@triton.jit\ndef k(): pass\ndef run(x, scale): return x\n"
    candidate = parse_candidate(source, proposer="person", spec=SPEC)
    assert isinstance(candidate, Candidate)
    assert candidate.space == {}


@pytest.mark.parametrize(
    "kernel",
    [
        "import triton as t\n@t.jit\ndef k(): pass",
        "from triton import jit\n@jit\ndef k(): pass",
        "from triton import jit as kernel\n@kernel(noinline=True)\ndef k(): pass",
        "import triton\ndef body(): pass\nk = triton.jit(body)",
        "import triton\nfrom triton.experimental import gluon\n@gluon.jit\ndef k(): pass",
    ],
)
def test_every_spelling_of_a_kernel_counts(kernel: str) -> None:
    answer = parse_candidate(f"{kernel}\ndef run(x, scale): return x\n", proposer="person", spec=SPEC)
    assert isinstance(answer, Candidate), answer


def test_a_jit_that_is_not_tritons_is_no_kernel() -> None:
    source = "import triton\nfrom torch import jit\n@jit.script\ndef k(): pass\ndef run(x, scale): return x\n"
    assert rejection(source).code == "no_kernel"


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_a_malformed_candidate_has_one_message_with_place_and_mend(path: Path) -> None:
    code, line, phrase, source = path.read_text(encoding="utf-8").split("\n", 3)
    answer = rejection(source)
    assert answer.code == code, answer.message
    assert answer.message.startswith(f"candidate.py:{line}: " if line != "0" else "candidate.py: "), answer.message
    assert phrase in answer.message, answer.message
    assert answer.candidate_id == candidate_id(source)


def test_the_corpus_is_there() -> None:
    assert len(MALFORMED) >= 40


def test_the_message_names_the_file_that_was_read() -> None:
    answer = parse_candidate("x = (", proposer="person", filename="mine.py")
    assert isinstance(answer, Rejected)
    assert answer.message.startswith("mine.py:1: ")


@pytest.mark.parametrize(
    ("source", "code", "place"),
    [
        (b"import triton\n# \xff\xfe\n", "not_utf8", "candidate.py:2:"),
        ("import triton\n# \ud800\n", "not_utf8", "candidate.py:2:"),
        ("import triton\n\0", "nul_byte", "candidate.py:2:"),
        ("#" * (MAX_BYTES + 1), "too_large", "candidate.py:"),
        ("x = " + "-" * 100_000 + "1", "too_deep", "candidate.py:"),
        ("x = " + "(" * 5_000 + ")" * 5_000, "syntax_error", "candidate.py:1:"),
    ],
)
def test_bytes_that_are_no_source(source: str | bytes, code: str, place: str) -> None:
    answer = rejection(source)
    assert answer.code == code, answer.message
    assert answer.message.startswith(place)


@pytest.mark.parametrize("depth", [100, 900, 2_000, 20_000])
@pytest.mark.parametrize(
    "literals",
    [
        'SPACE = {{"BLOCK": [1, {}]}}',
        'SPACE = {{"BLOCK": [1, 2]}}\nTRIALS = [{{"BLOCK": {}}}]',
        'SPACE = {{"BLOCK": [1, 2]}}\nTRIALS = [{{{}: 1}}]',
        'SPACE = {{"BLOCK": [1, 2]}}\nWHERE = [{}]',
        'SPACE = {{"BLOCK": [1, 2]}}\nWHERE = ["{} < BLOCK"]',
    ],
)
def test_depth_exhausts_no_stack(literals: str, depth: int) -> None:
    kernel = "import triton\n@triton.jit\ndef k(): pass\ndef run(x, scale, *, BLOCK): return x\n"
    answer = rejection(kernel + literals.format("-" * depth + "x"))
    assert len(answer.message) < 400


def test_nothing_of_the_source_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    for trap in (f"open({str(witness)!r}, 'w')", f"SPACE = [open({str(witness)!r}, 'w')]"):
        parse_candidate(trap + SOURCE, proposer="person", spec=SPEC)
    assert not witness.exists()


def test_gradients_need_a_backward() -> None:
    spec = SPEC.model_copy(update={"accept": Accept(grad=("x",))})
    assert rejection(SOURCE, spec).code == "no_backward"
    source = SOURCE + "\n\ndef backward(grad_y, saved, *, BLOCK):\n    return grad_y\n"
    assert isinstance(parse_candidate(source, proposer="person", spec=spec), Candidate)
