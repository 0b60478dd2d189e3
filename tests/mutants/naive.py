"""How many mutants a usual check accepts: one shape of powers of two, normal inputs, one tolerance.

    python tests/mutants/naive.py [SPEC…]

Every axis is 64 long, or the nearest that its domain has; half inputs are float16, as the interpreter's bfloat16 is
wrong; outputs are compared with the reference's by torch.allclose with rtol = atol = 1e-2, KernelBench's for half
precision. Needs no box: mutants are edits of our own solutions.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import torch
from mutants import SPECS, Mutant, read_mutants

from tilewright.verify import default_config
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate
from tilewright_sandbox.judge.inputs import draw_inputs
from tilewright_sandbox.spec import load_spec
from tilewright_sandbox.twins import nearest, twin_dtypes

EXTENT = 64
TOLERANCE = 1e-2


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def accepts(mutant: Mutant, path: Path) -> bool:
    folder = load_spec(SPECS / mutant.spec)
    candidate = parse_candidate(mutant.source(), proposer="person", spec=folder.spec)
    assert isinstance(candidate, Candidate)
    config = default_config(folder.spec, candidate)
    assert config is not None
    axes = {name: nearest(axis, EXTENT) for name, axis in folder.spec.axes.items()}
    inputs = draw_inputs(folder.spec, axes, bytes(16), twin_dtypes(folder.spec)[-1])
    path.write_text(mutant.source())
    outputs = load(path, path.stem).run(*inputs.values(), **config.root)
    expected = load(folder.path / "reference.py", f"reference_{mutant.spec}").reference(*inputs.values())
    return all(alike(o, e) for o, e in zip(listed(outputs), listed(expected), strict=True))


def listed(outputs: Any) -> list[torch.Tensor]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def alike(output: torch.Tensor, expected: torch.Tensor) -> bool:
    if output.shape != expected.shape:
        return False
    return bool(torch.allclose(output, expected, rtol=TOLERANCE, atol=TOLERANCE))


def main(specs: list[str]) -> None:
    accepted: Counter[str] = Counter()
    mutants = read_mutants(specs)
    with tempfile.TemporaryDirectory() as folder:
        for place, mutant in enumerate(mutants):
            passes = accepts(mutant, Path(folder) / f"mutant_{place}.py")
            accepted[mutant.spec] += passes
            print(f"{mutant.id:60} {'accepted' if passes else 'refused'}", flush=True)
    for spec, total in Counter(mutant.spec for mutant in mutants).items():
        print(f"{spec:20} {accepted[spec]:3} of {total} accepted")
    print(f"{'all':20} {accepted.total():3} of {len(mutants)} accepted")


if __name__ == "__main__":
    main(sys.argv[1:])
