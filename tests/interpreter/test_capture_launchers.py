"""Small launchers, each with what the capture must make of it: its Plan's steps, or stage and code of its refusal."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("triton")

import torch
import torch.nn.functional as F

from tilewright_sandbox.contract import Copy, Fill, Pointer, View
from tilewright_sandbox.jobs import Built


def _expectations() -> ModuleType:
    path = Path(__file__).parents[1] / "launchers" / "expectations.py"
    spec = importlib.util.spec_from_file_location("launcher_expectations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


expectations = _expectations()


@pytest.mark.parametrize(("folder", "at_least"), [("captured", 40), ("refused", 60)])
def test_every_launcher_ends_as_it_says(folder: str, at_least: int) -> None:
    wrong = []
    launchers = expectations.launchers(folder)
    for launcher in launchers:
        reply, _ = expectations.build(launcher, compile=False)
        found = expectations.mismatch(launcher, reply)
        print(f"{launcher.name:50} {'ok ' if not found else 'NOT'} {expectations.outcome_text(reply)[:160]}")
        if found:
            wrong.append(f"{launcher.name}: {found}")
    assert not wrong, "\n".join(wrong)
    assert len(launchers) >= at_least


MOVES = {
    "F.pad(x, (3, 0, 1, 2), value=7.0)": lambda x: F.pad(x, (3, 0, 1, 2), value=7.0),
    "F.pad(x, (-2, 5, 4, -3))": lambda x: F.pad(x, (-2, 5, 4, -3)),
    "F.pad(x, (-2, -1))": lambda x: F.pad(x, (-2, -1)),
    "F.pad(x.t(), (0, 1), value=-1.0)": lambda x: F.pad(x.t(), (0, 1), value=-1.0),
    "x.repeat(2, 3)": lambda x: x.repeat(2, 3),
    "x.t().repeat(3, 1, 2)": lambda x: x.t().repeat(3, 1, 2),
    "x[:, 1:5].tile(2)": lambda x: x[:, 1:5].tile(2),
    "torch.cat([x, x[:2]])": lambda x: torch.cat([x, x[:2]]),
}


@pytest.mark.parametrize("expression", MOVES)
def test_steps_move_what_torch_moves(expression: str) -> None:
    """The steps before the launch, done on bytes here, leave in its first argument what torch computes."""
    launcher = expectations.read_launcher(expectations.FOLDER / "captured" / "plain.py")
    head, _, _ = launcher.source.partition("def run")
    body = f"def run(x, w, eps, *, BLOCK):\n    moved = {expression}\n    y = torch.empty_like(x)\n"
    source = f"import torch.nn.functional as F\n{head}{body}    scale[(8,)](moved, y, x.numel(), BLOCK)\n    return y\n"
    reply, _ = expectations.build(
        dataclasses.replace(launcher, source=source, given={"m": "6", "n": "8"}), compile=False
    )
    (outcome,) = reply.outcomes
    assert isinstance(outcome, Built), outcome.rejected.message
    x = torch.arange(48, dtype=torch.float32).reshape(6, 8)
    expected = MOVES[expression](x)
    buffers = [torch.zeros(buffer.bytes // 4) for buffer in outcome.plan.buffers]
    buffers[outcome.plan.inputs["x"].buffer][:] = x.reshape(-1)

    def seen(view: View) -> torch.Tensor:
        return buffers[view.buffer].as_strided(view.shape, view.strides, view.offset_bytes // 4)

    for step in outcome.plan.steps:
        if isinstance(step, Fill):
            seen(step.target).fill_(step.value)
        elif isinstance(step, Copy):
            seen(step.target).copy_(seen(step.source))
    (launch,) = outcome.plan.launches
    first = launch.arguments[0]
    assert isinstance(first, Pointer)
    found = buffers[first.buffer].as_strided(expected.shape, expected.stride())
    assert torch.equal(found, expected)
