"""Serve one BuildRequest: capture every job, compile every distinct kernel once, assemble the plans.

Jobs are captured, and kernels compiled, in forked children (`children`). The parent never runs candidate code.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from ..contract import SandboxUnavailable, candidate_id
from ..jobs import BuildJob, BuildReply, BuildRequest, Built, NotBuilt, Outcome
from .assemble import Captured, ChildAnswer, ChildReply, Compiled, MachineFailed, Refused, assemble
from .capture import Capturer
from .children import Answer, Reply, Task, run_children
from .compile import compile_unit
from .last_words import last_words
from .policy import check_source
from .refusal import Refusal
from .sass import read_code
from .sound_launcher import sound_request
from .warm import warm_capture, warm_compiler

TRIAL_S = 60.0
GROUP = 16
"""Captures that one child does at most."""


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
        captures = self._capture()
        owners: dict[str, int] = {}
        for index, (job, captured) in enumerate(zip(self.request.jobs, captures, strict=True)):
            if isinstance(captured, Captured) and job.compile:
                for key in captured.keys:
                    owners.setdefault(key, index)
        compiled = self._compile(owners, captures) if owners else {}
        outcomes = tuple(self._outcomes(captures, owners, compiled))
        return BuildReply(outcomes=outcomes, wall_s=time.monotonic() - started), self.blobs

    def _capture(self) -> list[ChildAnswer]:
        """A capture is short beside a fork, so a child does several. Where one hangs or dies, each has its own."""
        count = len(self.request.jobs)
        size = min(GROUP, max(1, math.ceil(count / max(1, self.request.workers))))
        groups = [range(start, min(start + size, count)) for start in range(0, count, size)]
        answers: dict[int, ChildAnswer] = {}
        alone: list[int] = []
        for group, reply in zip(groups, self._run([self._capture_task(group) for group in groups]), strict=True):
            if reply.status != "replied" and len(group) > 1:
                alone += group
            else:
                answers.update(zip(group, self._answers(reply, group, "capture"), strict=True))
        replies = self._run([self._capture_task([index]) for index in alone])
        for index, reply in zip(alone, replies, strict=True):
            (answers[index],) = self._answers(reply, [index], "capture")
        return [answers[index] for index in range(count)]

    def _run(self, tasks: list[Task], limits_s: list[float] | None = None) -> list[Reply]:
        limits_s = limits_s or [self.request.compile_timeout_s] * len(tasks)
        return run_children(tasks, limits_s, self.request.workers)

    def _compile(self, owners: dict[str, int], captures: list[ChildAnswer]) -> dict[str, ChildAnswer]:
        """A child for every distinct kernel, since one may hang or crash the compiler."""
        warm_compiler()
        tasks, limits_s = [], []
        for key, index in owners.items():
            captured = captures[index]
            spent_s = captured.seconds if isinstance(captured, Captured) else 0.0
            tasks.append(self._compile_task(index, key))
            limits_s.append(max(0.1, self.request.compile_timeout_s - spent_s))
        answers: dict[str, ChildAnswer] = {}
        for (key, index), reply in zip(owners.items(), self._run(tasks, limits_s), strict=True):
            (answers[key],) = self._answers(reply, [index], "compile")
        return self._with_code_mix(answers)

    def _with_code_mix(self, answers: dict[str, ChildAnswer]) -> dict[str, ChildAnswer]:
        """The compiled kernels with their instructions counted, in as many runs of nvdisasm as there are workers."""
        compiled = [(key, answer) for key, answer in answers.items() if isinstance(answer, Compiled)]
        workers = max(1, self.request.workers)
        parts = [part for start in range(workers) if (part := compiled[start::workers])]

        def task(part: list[tuple[str, Compiled]]) -> Task:
            cubins = [self.blobs[answer.unit.kernel.cubin_sha256] for _, answer in part]
            return lambda folder: (json.dumps(_code_mixes(cubins, self.request.target, folder)).encode(), {})

        replies = self._run([task(part) for part in parts], [120.0] * len(parts))
        for part, reply in zip(parts, replies, strict=True):
            if reply.status != "replied":
                raise SandboxUnavailable(f"nvdisasm {reply.status}: {last_words(reply.stderr)}", "reinstall triton")
            for (key, answer), mix in zip(part, json.loads(reply.body), strict=True):
                answers[key] = answer.with_code_mix(mix)
        return answers

    def _outcomes(
        self, captures: list[ChildAnswer], owners: dict[str, int], compiled: dict[str, ChildAnswer]
    ) -> Iterator[Outcome]:
        for index, (job, captured) in enumerate(zip(self.request.jobs, captures, strict=True)):
            keys = captured.keys if isinstance(captured, Captured) and job.compile else ()
            parts = [captured, *(compiled[key] for key in dict.fromkeys(keys))]
            refused = next((part for part in parts if isinstance(part, Refused)), None)
            if refused is not None:
                yield NotBuilt(
                    rejected=refused.rejected.model_copy(update={"config": job.config, "workload": job.workload})
                )
            elif isinstance(captured, Captured):
                done = {key: unit for key in keys if isinstance(unit := compiled[key], Compiled)}
                plan = (
                    assemble(captured, {key: unit.unit for key, unit in done.items()}) if job.compile else captured.plan
                )
                seconds = sum(unit.seconds for key, unit in done.items() if owners[key] == index)
                yield Built(plan=plan, capture_s=captured.seconds, compile_s=seconds)

    def _capture_task(self, indices: Sequence[int]) -> Task:
        def task(folder: Path) -> Answer:
            answers: list[ChildAnswer] = []
            prepare = functools.cache(lambda: Capturer.prepare(self.request))
            for job in (self.request.jobs[index] for index in indices):
                started = time.monotonic()
                try:
                    capture = prepare().capture(job)
                    seconds = time.monotonic() - started
                    answers.append(Captured(plan=capture.plan, keys=capture.keys, seconds=seconds))
                except (Refusal, SandboxUnavailable, OSError) as error:
                    answers.append(self._failure(error, job))
            return _encoded(*answers), {}

        return task

    def _compile_task(self, index: int, key: str) -> Task:
        def task(folder: Path) -> Answer:
            started, job = time.monotonic(), self.request.jobs[index]
            try:
                capturer = Capturer.prepare(self.request)
                artefact = compile_unit(capturer.capture(job).unit(key), capturer.target, folder)
            except (Refusal, SandboxUnavailable, OSError) as error:
                return _encoded(self._failure(error, job)), {}
            answer = Compiled(unit=artefact.unit, seconds=time.monotonic() - started)
            return _encoded(answer), artefact.blobs

        return task

    def _failure(self, error: BaseException, job: BuildJob) -> ChildAnswer:
        """The candidate's failure as a rejection, the machine's as such."""
        if isinstance(error, Refusal):
            return Refused(rejected=error.rejected(candidate_id(self.request.source), job.config, job.workload))
        if isinstance(error, SandboxUnavailable):
            return MachineFailed(what=error.what, fix=error.fix)
        return MachineFailed(what=f"{type(error).__name__}: {error}", fix="free disk, files or memory")

    def _answers(
        self, reply: Reply, indices: Sequence[int], stage: Literal["capture", "compile"]
    ) -> Sequence[ChildAnswer]:
        """One answer for each job that the child served. SandboxUnavailable where the machine failed."""
        if reply.status == "replied":
            self.blobs.update(reply.blobs)
            answers = ChildReply.model_validate_json(reply.body).answers
            for answer in answers:
                if isinstance(answer, MachineFailed):
                    raise SandboxUnavailable(answer.what, answer.fix)
            return answers
        if reply.status == "timeout":
            limit_s = self.request.compile_timeout_s
            mend = "Take a smaller tile or fewer stages." if stage == "compile" else "run must not loop for long."
            text = f"The {stage} did not end within {limit_s:g} s. {mend}"
            refusal = Refusal("compile", "timeout", text, limit_s=limit_s, step=stage)
        else:
            if stage == "capture":
                self._check_machine()
            code = "compiler_crashed" if stage == "compile" else "launcher_crashed"
            words = last_words(reply.stderr) or "it said nothing"
            refusal = Refusal(stage, code, f"The {stage} ended with {reply.end}: {words}", cause=reply.end)
        return [self._failure(refusal, self.request.jobs[index]) for index in indices]

    def _check_machine(self) -> None:
        """SandboxUnavailable where a launcher that every sound machine captures dies too: no candidate's fault."""
        trial = _Build(sound_request(self.request.target))
        (reply,) = run_children([trial._capture_task([0])], [TRIAL_S], 1)
        if reply.status == "died":
            what = f"captures crash on this machine ({reply.end}): {last_words(reply.stderr) or 'nothing was said'}"
            raise SandboxUnavailable(what, "compare torch, triton and Python with the versions in constraints.txt")


def _encoded(*answers: ChildAnswer) -> bytes:
    return ChildReply(answers=answers).model_dump_json().encode()


def _code_mixes(cubins: list[bytes], target: str, folder: Path) -> list[dict[str, Any]]:
    return [dataclasses.asdict(mix) for mix in read_code(cubins, target, folder)]
