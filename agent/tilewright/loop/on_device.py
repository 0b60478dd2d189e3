"""Verdicts of a device: the job is written down before it is asked for, its seconds are reserved and then settled."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

from tilewright.judge import JudgeProcess, QueueJudge
from tilewright.verify import prepare
from tilewright_sandbox.contract import Config, Measured, Rejected, SandboxUnavailable
from tilewright_sandbox.jobs import Judged, JudgeRequest, RaceReply, RaceRequest
from tilewright_sandbox.judge_process import TIMEOUT_S
from tilewright_sandbox.whole_file import write_whole

from . import events as ev
from . import folder as run_folder
from .budget import BudgetExhausted, Spend
from .search import Search
from .view import CandidateView, RunView

R = TypeVar("R", Judged, RaceReply)
EXPECTED_S = {"screen": 10.0, "full": 60.0, "race": 20.0}
"""Device time set aside for a job of a kind of which none has ended yet."""
MARGIN = 1.5
"""Over the longest job of that kind so far."""
START_S = 60.0
"""A judge process imports torch and opens the device before its seconds begin to count."""


def shape_seed(view: RunView, candidate_id: str, depth: str, config: Config) -> str | None:
    """Of a job that was asked for and not answered; None where there is none."""
    asked = view.asked.get((candidate_id, depth, config.id))
    return asked.shape_seed if asked else None


def screen_on_device(search: Search, view: CandidateView, built: JudgeRequest) -> ev.JudgedEvent:
    """A quick verdict on what was built first, recorded. BudgetExhausted, SandboxUnavailable."""

    def request(seed: str) -> JudgeRequest:
        return built.model_copy(update={"on": "device", "shape_seed": seed, "box": search.box_label})

    return _judge(search, view, built.config, "screen", "judge", request)


def verdict_on_device(search: Search, view: CandidateView, config: Config) -> ev.JudgedEvent:
    """A full and timed verdict on one config, recorded. BudgetExhausted, SandboxUnavailable."""

    def request(seed: str) -> JudgeRequest | Rejected:
        return prepare(
            search.spec_folder, view.candidate, config=config, box=search.box, target=search.target.name,
            blobs_path=search.blobs_path, on="device", timed=True, shape_seed=seed,
        )  # fmt: skip

    return _judge(search, view, config, "full", "compare", request)


def _judge(
    search: Search,
    view: CandidateView,
    config: Config,
    depth: Literal["screen", "full"],
    step: ev.Step,
    make: Callable[[str], JudgeRequest | Rejected],
) -> ev.JudgedEvent:
    begun = time.monotonic()
    search.judge.start()  # it imports torch while the builder compiles
    token = job_token(search, f"{depth}-{view.id}-{config.id}")
    with search.budget.spending(step, gpu_s=expected_s(search, depth), token=token) as spend:
        request = make(_seed(search, view, depth, config))
        verdict = request if isinstance(request, Rejected) else _verdict(search, view, request, spend)
    return search.record(
        ev.JudgedEvent(
            round=view.round,
            candidate_id=view.id,
            config=config,
            depth=depth,
            verdict=verdict,
            seconds=time.monotonic() - begun,
        )
    )


def _seed(search: Search, view: CandidateView, depth: Literal["screen", "full"], config: Config) -> str:
    seed = shape_seed(search.view, view.id, depth, config)
    if seed is None:
        seed = secrets.token_hex(16)
        search.record(ev.Asked(candidate_id=view.id, config=config, depth=depth, shape_seed=seed))
    return seed


def _verdict(search: Search, view: CandidateView, request: JudgeRequest, spend: Spend) -> Rejected | Measured:
    reply = ask(search, request, Judged, request.depth, spend)
    if reply.timing:
        keep_timing(search.path, view.id, request.config, reply)
    return reply.verdict.model_copy(update={"box": request.box})


def ask(search: Search, request: JudgeRequest | RaceRequest, kind: type[R], what: str, spend: Spend) -> R:
    """The device's answer; `spend` learns what it cost. A judge here is ended when the GPU seconds are spent, one
    elsewhere cannot be. BudgetExhausted, SandboxUnavailable."""
    left_s = search.budget.remaining_gpu_s()
    if left_s is not None:
        left_s += spend.reserved_gpu_s
    limit_s = TIMEOUT_S if left_s is None else min(TIMEOUT_S, left_s + START_S)
    begun = time.monotonic()
    try:
        reply = search.judge.ask(request, kind, limit_s)
    except SandboxUnavailable as error:
        took_s = time.monotonic() - begun
        if left_s is not None and limit_s < TIMEOUT_S and took_s >= limit_s and isinstance(search.judge, JudgeProcess):
            spend.gpu_s = left_s
            limit = search.view.limits.gpu_s or 0.0
            raise BudgetExhausted("--budget-gpu-seconds", f"{limit:.0f}", f"{limit:.0f} s", what) from error
        raise
    spend.gpu_s += reply.seconds
    search.longest_gpu_s[what] = max(search.longest_gpu_s.get(what, 0.0), reply.seconds)
    return reply


def job_token(search: Search, name: str) -> str:
    """Of a job's reservation. A job in a queue is done once, however often it is asked for; one that was lost with a
    judge of this machine has cost what was reserved for it."""
    return name if isinstance(search.judge, QueueJudge) else ""


def expected_s(search: Search, what: str) -> float:
    longest_s = search.longest_gpu_s.get(what)
    return EXPECTED_S[what] if longest_s is None else MARGIN * longest_s


def keep_timing(run_path: Path, candidate_id: str, config: Config, reply: Judged) -> Path:
    """The raw record of the timed workloads, beside the journal."""
    path = run_path / run_folder.TIMING / f"{candidate_id}-{config.id}.json"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, json.dumps(reply.timing, indent=1, default=str).encode() + b"\n")
    return path
