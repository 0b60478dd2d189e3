"""Preflight: is the spec worth searching, what does its reference compute, and where is the roofline?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from tilewright_sandbox.contract import SandboxUnavailable
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import AuditReport, AuditRequest, Judged, JudgeError, TraceRequest
from tilewright_sandbox.modelled import roofline_us
from tilewright_sandbox.spec import SpecError

from . import events as ev
from .search import Search
from .state import State

R = TypeVar("R", AuditReport, OpGraph, Judged)


def judge_answer(reply: AuditReport | OpGraph | Judged | JudgeError, kind: type[R]) -> R:
    """The answer that was asked for; SpecError or SandboxUnavailable as the judge says."""
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, JudgeError) and reply.cause == "spec":
        raise SpecError(reply.message, fix=reply.fix)  # the message names file and line
    if isinstance(reply, JudgeError):
        raise SandboxUnavailable(f"the judge failed: {reply.message}", reply.fix)
    raise SandboxUnavailable(f"the judge answered with {reply.kind}", "install tilewright again: versions differ")


def geometric_mean(values: Sequence[tuple[float, float]]) -> float:
    """Of (value, weight) pairs."""
    total = sum(weight for _, weight in values)
    return math.exp(sum(weight * math.log(value) for value, weight in values) / total)


def preflight(search: Search, state: State) -> State:
    view, path = search.view, str(search.spec_folder.path)
    if view.audit is None:
        search.step("auditing the spec")
        reply = search.judge.request(AuditRequest(spec_path=path, seed=view.run.seed))
        search.record(ev.Audited(report=judge_answer(reply, AuditReport)))
    if view.audit is not None and not view.audit.sound:
        return {**state, "over": True}
    if view.traced is None:
        search.step("reading the operator graph of the reference")
        search.record(_trace(search, path))
    if view.preflight is None:
        search.record(_roofline(search))
    return state


def _trace(search: Search, path: str) -> ev.Traced:
    """A reference that cannot be traced is no error: proposers that need no graph may still know what to do."""
    reply = search.judge.request(TraceRequest(spec_path=path))
    if isinstance(reply, JudgeError) and reply.cause != "machine":
        return ev.Traced(message=reply.message.removeprefix(f"{path}: "))
    return ev.Traced(graph=judge_answer(reply, OpGraph))


def _roofline(search: Search) -> ev.Preflight:
    spec = search.view.run.spec
    workloads = spec.with_role("tune", "bench")
    each = {w.label: roofline_us(spec, w, search.target, search.view.graph) for w in workloads}
    mean_us = geometric_mean([(each[w.label], w.weight) for w in workloads])
    message = f"the roofline of {search.target.name} is modelled at {mean_us:.1f} µs"
    return ev.Preflight(roofline_us=mean_us, workloads=each, message=message)
