"""Reads what each launcher beside this file expects of the capture, and builds it.

The first lines of a launcher say it:

    # captured: fill=0 launch(add)         the Plan's steps, in order
    # refused: stage/code words …          the rejection, and words that its message must hold
    # arguments: pointer+4 i32=3072        the arguments of the first launch
    # given: m=0 library=mm dtype=bfloat16 target=sm_80 compile hybrid …
    # given: unread                        the rules on source are left out, to see what holds behind them
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tilewright_sandbox.builder.build import serve_build
from tilewright_sandbox.contract import (
    Accept,
    Axis,
    Config,
    Contraction,
    Fill,
    Launch,
    Plan,
    Pointer,
    Rejected,
    Scalar,
    ScalarInput,
    Spec,
    Step,
    TensorInput,
    TensorOutput,
    Workload,
)
from tilewright_sandbox.jobs import BuildJob, BuildReply, BuildRequest, Built

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Launcher:
    path: Path
    source: str
    verb: str
    """captured or refused"""
    expected: list[str]
    arguments: list[str] | None
    given: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def read_launcher(path: Path) -> Launcher:
    source = path.read_text()
    fields: dict[str, list[str]] = {}
    for line in source.splitlines():
        if not line.startswith("# ") or ":" not in line:
            break
        key, _, value = line[2:].partition(":")
        fields.setdefault(key, value.split())
    verb = "refused" if "refused" in fields else "captured"
    given = {word.partition("=")[0]: word.partition("=")[2] for word in fields.get("given", [])}
    return Launcher(path, source, verb, fields[verb], fields.get("arguments"), given)


def launchers(folder: str) -> list[Launcher]:
    return [read_launcher(path) for path in sorted((FOLDER / folder).glob("*.py"))]


def spec_for(launcher: Launcher) -> Spec:
    """x [m, n] and w [n] give y [m, n], all of one dtype; 64 × 48 unless the launcher says otherwise."""
    dtype, given = launcher.given.get("dtype", "float32"), launcher.given
    rows, columns = int(given.get("m", 64)), int(given.get("n", 48))
    return Spec(
        name="launcher",
        summary="for the capture alone",
        op="none",
        axes={"m": Axis(min=1, max=1 << 20), "n": Axis(min=1, max=1 << 20)},
        inputs=(
            TensorInput(name="x", shape=("m", "n"), dtype=dtype),  # type: ignore[arg-type]
            TensorInput(name="w", shape=("n",), dtype=dtype),  # type: ignore[arg-type]
            ScalarInput(name="eps", value=1e-6),
        ),
        outputs=(TensorOutput(name="y", shape=("m", "n"), dtype=dtype),),  # type: ignore[arg-type]
        accept=Accept(library=tuple(filter(None, [given.get("library")]))),  # type: ignore[arg-type]
        workloads=(Workload(role="tune", axes={"m": rows, "n": columns}),),
        reference_sha256="0" * 64,
    )


def build(launcher: Launcher, *, compile: bool, timeout_s: float = 60.0) -> tuple[BuildReply, dict[str, bytes]]:
    spec = spec_for(launcher)
    job = BuildJob(config=Config({"BLOCK": 128}), workload=spec.workloads[0], compile=compile)
    target = launcher.given.get("target", "sm_90")
    request = BuildRequest(source=launcher.source, spec=spec, jobs=(job,), target=target, compile_timeout_s=timeout_s)
    unread = mock.patch("tilewright_sandbox.builder.build.check_source", return_value=None)
    with unread if "unread" in launcher.given else nullcontext():
        return serve_build(request)


def outcome_text(reply: BuildReply) -> str:
    """The outcome in the notation of the launchers' first line."""
    (outcome,) = reply.outcomes
    if isinstance(outcome, Built):
        return " ".join(map(step_text, outcome.plan.steps))
    return f"{outcome.rejected.stage}/{outcome.rejected.code} {outcome.rejected.message}"


def step_text(step: Step) -> str:
    if isinstance(step, Launch):
        return f"launch({step.kernel_name})"
    if isinstance(step, Fill):
        return f"fill={step.value}"
    return step.op if isinstance(step, Contraction) else step.kind


def argument_text(launch: Launch) -> list[str]:
    texts = []
    for argument in launch.arguments:
        if isinstance(argument, Scalar):
            texts.append(f"{argument.type}={argument.value}")
        elif isinstance(argument, Pointer):
            texts.append("pointer" + (f"+{argument.offset_bytes}" if argument.offset_bytes else ""))
        else:
            texts.append(argument.kind)
    return texts


def mismatch(launcher: Launcher, reply: BuildReply) -> str:
    """What the outcome has and the launcher did not expect; empty where they agree."""
    (outcome,) = reply.outcomes
    if launcher.verb == "captured":
        if not isinstance(outcome, Built):
            return f"refused: {outcome.rejected.stage}/{outcome.rejected.code} {outcome.rejected.message}"
        return _plan_mismatch(launcher, outcome.plan)
    if isinstance(outcome, Built):
        return f"captured: {outcome_text(reply)}"
    return _rejection_mismatch(launcher, outcome.rejected)


def _plan_mismatch(launcher: Launcher, plan: Plan) -> str:
    steps = [step_text(step) for step in plan.steps]
    if steps != launcher.expected:
        return f"steps {steps}"
    if launcher.arguments is not None and argument_text(plan.launches[0]) != launcher.arguments:
        return f"arguments {argument_text(plan.launches[0])}"
    return "" if plan.hybrid == ("hybrid" in launcher.given) else f"hybrid is {plan.hybrid}"


def _rejection_mismatch(launcher: Launcher, rejected: Rejected) -> str:
    code, *words = launcher.expected
    if f"{rejected.stage}/{rejected.code}" != code:
        return f"{rejected.stage}/{rejected.code}: {rejected.message}"
    missing = [word for word in words if word not in rejected.message]
    return f"no {missing} in: {rejected.message}" if missing else ""
