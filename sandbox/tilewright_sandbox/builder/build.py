"""Serve one BuildRequest: capture every job, compile every distinct kernel once, assemble the plans.

Each job is captured, and each kernel compiled, in a forked child (`children`). The parent never runs candidate code.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from ..contract import (
    Argument,
    Config,
    Launch,
    Plan,
    Record,
    Rejected,
    SandboxUnavailable,
    Sha256,
    TensorMap,
    Workload,
    candidate_id,
)
from ..jobs import BuildJob, BuildReply, BuildRequest, Built, NotBuilt, Outcome
from .capture import Capture, Capturer
from .children import Answer, Reply, Task, run_children
from .compile import CompiledUnit, DescriptorLayout, compile_unit, useful_lines
from .fake_cuda import install
from .guard import Watch, install_guard
from .launches import Launches, redirect_launches
from .policy import check_source
from .refusal import Refusal
from .sass import read_code
from .warm import warm_capture, warm_compiler


class Captured(Record):
    kind: Literal["captured"] = "captured"
    plan: Plan
    keys: tuple[Sha256, ...]
    seconds: float


class Compiled(Record):
    kind: Literal["compiled"] = "compiled"
    unit: CompiledUnit
    seconds: float

    def with_code_mix(self, mix: dict[str, Any]) -> Compiled:
        kernel = self.unit.kernel
        kernel = kernel.model_copy(update={"resources": kernel.resources.model_copy(update=mix)})
        return self.model_copy(update={"unit": self.unit.model_copy(update={"kernel": kernel})})


class Refused(Record):
    kind: Literal["refused"] = "refused"
    rejected: Rejected


class MachineFailed(Record):
    kind: Literal["machine"] = "machine"
    what: str
    fix: str


ChildAnswer = Annotated[Captured | Compiled | Refused | MachineFailed, Field(discriminator="kind")]
_ANSWER: TypeAdapter[ChildAnswer] = TypeAdapter(ChildAnswer)


def serve_build(request: BuildRequest) -> tuple[BuildReply, dict[str, bytes]]:
    """One outcome a job, in order, and the blobs (cubins, TTIR texts) that the plans name.

    A kernel that several jobs share is compiled once; its seconds count for the first of them. Raises
    SandboxUnavailable where the machine failed (no disk, broken tools), never for a candidate's fault.
    """
    started = time.monotonic()
    if (rejected := check_source(request.source)) is not None:
        outcomes: tuple[Outcome, ...] = tuple(
            NotBuilt(rejected=rejected.model_copy(update={"config": job.config, "workload": job.workload}))
            for job in request.jobs
        )
        return BuildReply(outcomes=outcomes, wall_s=time.monotonic() - started), {}
    return _Build(request).serve(started)


class _Build:
    def __init__(self, request: BuildRequest) -> None:
        self.request = request
        self.blobs: dict[str, bytes] = {}

    def serve(self, started: float) -> tuple[BuildReply, dict[str, bytes]]:
        warm_capture()
        request = self.request
        limits = [request.compile_timeout_s] * len(request.jobs)
        tasks = [self._capture_task(job) for job in request.jobs]
        captures = [
            self._answer(reply, job.config, job.workload, "capture")
            for job, reply in zip(request.jobs, run_children(tasks, limits, request.workers), strict=True)
        ]
        owners: dict[str, int] = {}
        for index, captured in enumerate(captures):
            if isinstance(captured, Captured) and request.jobs[index].compile:
                for key in captured.keys:
                    owners.setdefault(key, index)
        compiled = self._compile(owners, captures)
        outcomes = tuple(self._outcomes(captures, owners, compiled))
        return BuildReply(outcomes=outcomes, wall_s=time.monotonic() - started), self.blobs

    def _compile(self, owners: dict[str, int], captures: list[ChildAnswer]) -> dict[str, ChildAnswer]:
        if not owners:
            return {}
        warm_compiler()
        tasks, limits = [], []
        for key, index in owners.items():
            captured = captures[index]
            spent = captured.seconds if isinstance(captured, Captured) else 0.0
            tasks.append(self._compile_task(self.request.jobs[index], key))
            limits.append(max(0.1, self.request.compile_timeout_s - spent))
        replies = run_children(tasks, limits, self.request.workers)
        answers: dict[str, ChildAnswer] = {}
        for (key, index), reply in zip(owners.items(), replies, strict=True):
            job = self.request.jobs[index]
            answers[key] = self._answer(reply, job.config, job.workload, "compile")
        return self._with_code_mix(answers)

    def _with_code_mix(self, answers: dict[str, ChildAnswer]) -> dict[str, ChildAnswer]:
        """The compiled kernels with their instructions counted, all in as many runs of nvdisasm as there are workers."""
        compiled = [(key, answer) for key, answer in answers.items() if isinstance(answer, Compiled)]
        parts = [part for start in range(self.request.workers) if (part := compiled[start :: self.request.workers])]

        def task(part: list[tuple[str, Compiled]]) -> Task:
            cubins = [self.blobs[answer.unit.kernel.cubin_sha256] for _, answer in part]
            return lambda folder: (json.dumps(_code_mixes(cubins, self.request.target, folder)).encode(), {})

        for part, reply in zip(
            parts, run_children([task(p) for p in parts], [120.0] * len(parts), len(parts)), strict=True
        ):
            if reply.status != "replied":
                raise SandboxUnavailable(f"nvdisasm {reply.status}: {useful_lines(reply.stderr)}", "reinstall triton")
            for (key, answer), mix in zip(part, json.loads(reply.body), strict=True):
                answers[key] = answer.with_code_mix(mix)
        return answers

    def _outcomes(
        self, captures: list[ChildAnswer], owners: dict[str, int], compiled: dict[str, ChildAnswer]
    ) -> Iterator[Outcome]:
        for index, (job, captured) in enumerate(zip(self.request.jobs, captures, strict=True)):
            if not isinstance(captured, Captured):
                yield NotBuilt(rejected=_rejection(captured, job))
                continue
            units = {key: compiled[key] for key in dict.fromkeys(captured.keys)} if job.compile else {}
            failed = next((unit for unit in units.values() if not isinstance(unit, Compiled)), None)
            if failed is not None:
                yield NotBuilt(rejected=_rejection(failed, job))
                continue
            done = {key: unit for key, unit in units.items() if isinstance(unit, Compiled)}
            plan = assemble(captured, {key: unit.unit for key, unit in done.items()}) if job.compile else captured.plan
            seconds = sum(unit.seconds for key, unit in done.items() if owners[key] == index)
            yield Built(plan=plan, capture_s=captured.seconds, compile_s=seconds)

    def _prepare(self, job: BuildJob) -> tuple[Capture, Capturer]:
        """In a child: make the fake device and capture the job."""
        watch, current = Watch(), list[Launches]()
        target = install(self.request.target)
        redirect_launches(current)
        install_guard(watch)
        capturer = Capturer(self.request.source, self.request.spec, target, watch, current)
        return capturer.capture(job), capturer

    def _capture_task(self, job: BuildJob) -> Task:
        def task(folder: Path) -> Answer:
            started = time.monotonic()
            capture, _ = self._prepare(job)
            seconds = time.monotonic() - started
            return _encoded(Captured(plan=capture.plan, keys=capture.keys, seconds=seconds)), {}

        return self._answering(task, job)

    def _compile_task(self, job: BuildJob, key: str) -> Task:
        def task(folder: Path) -> Answer:
            started = time.monotonic()
            capture, capturer = self._prepare(job)
            artefact = compile_unit(capture.units[key], capturer.target, folder)
            return _encoded(Compiled(unit=artefact.unit, seconds=time.monotonic() - started)), artefact.blobs

        return self._answering(task, job)

    def _answering(self, task: Task, job: BuildJob) -> Task:
        """The task with its failures as answers: the candidate's as a rejection, the machine's as such."""

        def answer(folder: Path) -> Answer:
            try:
                return task(folder)
            except Refusal as refusal:
                rejected = refusal.rejected(candidate_id(self.request.source), job.config, job.workload)
                return _encoded(Refused(rejected=rejected)), {}
            except SandboxUnavailable as error:
                return _encoded(MachineFailed(what=error.what, fix=error.fix)), {}
            except OSError as error:
                return _encoded(
                    MachineFailed(what=f"{type(error).__name__}: {error}", fix="free disk, files or memory")
                ), {}

        return answer

    def _answer(
        self, reply: Reply, config: Config, workload: Workload, stage: Literal["capture", "compile"]
    ) -> ChildAnswer:
        if reply.status == "replied":
            self.blobs.update(reply.blobs)
            answer = _ANSWER.validate_json(reply.body)
            if isinstance(answer, MachineFailed):
                raise SandboxUnavailable(answer.what, answer.fix)
            return answer
        if reply.status == "timeout":
            refusal = Refusal(
                "compile",
                "timeout",
                f"The {stage} did not end within {self.request.compile_timeout_s:g} s. "
                + ("Take a smaller tile or fewer stages." if stage == "compile" else "run must not loop for long."),
                limit_s=self.request.compile_timeout_s,
                step=stage,
            )
        else:
            cause = signal.Signals(reply.signal).name if reply.signal else "no answer"
            code = "compiler_crashed" if stage == "compile" else "launcher_crashed"
            refusal = Refusal(stage, code, f"The {stage} ended with {cause}: {useful_lines(reply.stderr)}", cause=cause)
        return Refused(rejected=refusal.rejected(candidate_id(self.request.source), config, workload))


def _code_mixes(cubins: list[bytes], target: str, folder: Path) -> list[dict[str, Any]]:
    return [dataclasses.asdict(mix) for mix in read_code(cubins, target, folder)]


def _encoded(record: Record) -> bytes:
    return record.model_dump_json().encode()


def _rejection(answer: ChildAnswer, job: BuildJob) -> Rejected:
    if not isinstance(answer, Refused):
        raise TypeError(f"a rejection was expected, not {answer.kind}")
    return answer.rejected.model_copy(update={"config": job.config, "workload": job.workload})


def assemble(captured: Captured, units: dict[str, CompiledUnit]) -> Plan:
    """The compiled plan: each launch names its kernel, and TMA descriptors have the layout that the compiler chose."""
    order = list(dict.fromkeys(captured.keys))
    keys = iter(captured.keys)
    steps = []
    for step in captured.plan.steps:
        if isinstance(step, Launch):
            key = next(keys)
            arguments = _with_layouts(step.arguments, units[key].descriptors)
            step = step.model_copy(update={"kernel": order.index(key), "arguments": arguments})
        steps.append(step)
    fields = dict(captured.plan)
    fields.update(compiled=True, kernels=tuple(units[key].kernel for key in order), steps=tuple(steps))
    return Plan(**fields)


def _with_layouts(arguments: tuple[Argument, ...], layouts: tuple[DescriptorLayout, ...]) -> tuple[Argument, ...]:
    remaining = iter(layouts)
    return tuple(
        argument.model_copy(update=dict(next(remaining))) if isinstance(argument, TensorMap) else argument
        for argument in arguments
    )
