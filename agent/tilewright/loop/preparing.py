"""Preflight: is the spec worth searching, what does its reference compute, and where is the roofline?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import AuditReport, AuditRequest, JudgeError, TraceRequest
from tilewright_sandbox.modelled import roofline_us

from . import events as ev
from .search import Search
from .state import State


def geometric_mean(values: Sequence[tuple[float, float]]) -> float:
    """Of (value, weight) pairs."""
    total = sum(weight for _, weight in values)
    return math.exp(sum(weight * math.log(value) for value, weight in values) / total)


def preflight(search: Search, state: State) -> State:
    view, path = search.view, str(search.spec_folder.path)
    if view.audit is None:
        search.step("auditing the spec")
        report = search.judge.ask(AuditRequest(spec_path=path, seed=view.run.seed), AuditReport)
        search.record(ev.Audited(report=report))
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
    return ev.Traced(graph=search.judge.expect(reply, OpGraph))


def _roofline(search: Search) -> ev.Preflight:
    spec = search.view.run.spec
    workloads = spec.with_role("tune", "bench")
    each = {w.label: roofline_us(spec, w, search.target, search.view.graph) for w in workloads}
    mean_us = geometric_mean([(each[w.label], w.weight) for w in workloads])
    message = f"the roofline of {search.target.name} is modelled at {mean_us:.1f} µs"
    return ev.Preflight(roofline_us=mean_us, workloads=each, message=message)
