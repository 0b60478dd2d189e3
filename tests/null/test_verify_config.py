"""Which config is verified where none is named, and how binaries are stored."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tilewright.verify import default_config, write_blobs
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Axis, Candidate, Config, Spec, TensorInput, TensorOutput, Workload

SPEC = Spec(
    name="rows",
    summary="y = x",
    op="rows",
    axes={"n": Axis(min=1, max=8192)},
    inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
    outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
    workloads=(
        Workload(role="tune", axes={"n": 1000}),
        Workload(role="bench", axes={"n": 2000}),
        Workload(role="twin", axes={"n": 8000}),
    ),
    reference_sha256="0" * 64,
)


def candidate(head: str) -> Candidate:
    source = (
        "import torch\nimport triton\nimport triton.language as tl\n" + head + "\n\n"
        "@triton.jit\ndef k(x, y, BLOCK: tl.constexpr):\n    tl.store(y, tl.load(x))\n\n"
        "def run(x, *, BLOCK, num_warps):\n    y = torch.empty_like(x)\n"
        "    k[(1,)](x, y, BLOCK=BLOCK, num_warps=num_warps)\n    return y\n"
    )
    parsed = parse_candidate(source, proposer="person")
    assert isinstance(parsed, Candidate), parsed
    return parsed


SPACE = 'SPACE = {"BLOCK": [1024, 2048, 4096], "num_warps": [4, 8]}\n'


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", {"BLOCK": 1024, "num_warps": 4}),
        ('WHERE = ["BLOCK >= n"]', {"BLOCK": 2048, "num_warps": 4}),
        ('WHERE = ["BLOCK >= n", "num_warps == 8"]', {"BLOCK": 2048, "num_warps": 8}),
        ('TRIALS = [{"BLOCK": 4096, "num_warps": 8}]', {"BLOCK": 4096, "num_warps": 8}),
        (
            'WHERE = ["BLOCK >= n"]\nTRIALS = [{"BLOCK": 1024, "num_warps": 8}, {"BLOCK": 4096, "num_warps": 8}]',
            {"BLOCK": 4096, "num_warps": 8},
        ),
    ],
    ids=["first of SPACE", "every workload", "two conditions", "first trial", "a trial that WHERE forbids"],
)
def test_default_config(rest: str, expected: dict[str, int]) -> None:
    assert default_config(SPEC, candidate(SPACE + rest)) == Config(expected)


def test_no_feasible_config() -> None:
    assert default_config(SPEC, candidate(SPACE + 'WHERE = ["BLOCK > n * n"]')) is None


def test_blobs_are_stored_whole_under_their_hash(tmp_path: Path) -> None:
    name = hashlib.sha256(b"cubin").hexdigest()
    write_blobs(tmp_path / "blobs", {name: b"cubin"})
    write_blobs(tmp_path / "blobs", {name: b"cubin"})
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [name]
    assert (tmp_path / "blobs" / name).read_bytes() == b"cubin"
    with pytest.raises(ValueError, match="hash"):
        write_blobs(tmp_path, {"../escape": b"cubin"})
