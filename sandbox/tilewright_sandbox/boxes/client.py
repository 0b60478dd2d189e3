"""Speak to a session in records. What a candidate does to its worker comes back as a `Rejected` value."""

from __future__ import annotations

import hashlib
import io
import signal
from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from .. import wire
from ..contract import Rejected, Stage, candidate_id
from ..jobs import (
    BuildJob,
    BuildReply,
    BuildRequest,
    Interpreted,
    InterpretFailed,
    InterpretRequest,
    JudgeError,
    NotBuilt,
)
from .protocol import Exchange, Session

GRACE_S = 5.0
"""The worker's own deadline comes first; this much later the box is ended from outside."""
_BUILD_REPLY: TypeAdapter[BuildReply | JudgeError] = TypeAdapter(BuildReply | JudgeError)
_INTERPRET_REPLY: TypeAdapter[Interpreted | InterpretFailed | JudgeError] = TypeAdapter(
    Interpreted | InterpretFailed | JudgeError
)


class _BadReply(Exception):
    """The worker's answer cannot be used: code and message of the rejection."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def _failure(exchange: Exchange, timeout_s: float) -> _BadReply:
    """The rejection for an exchange without a reply."""
    last_words = exchange.stderr.strip().splitlines()[-1:]
    said = f" Last line on stderr: {last_words[0][:300]}" if last_words else ""
    match exchange.status:
        case "timeout":
            text = f"No answer within {timeout_s:.0f} s; the worker was ended. Shrink the tile or the loop.{said}"
        case "out_of_memory":
            text = "The worker was ended for want of memory. Shrink the tile or the workspace."
        case "oversize":
            text = (
                "The worker answered with more bytes than a reply may have. Return the spec's outputs and nothing else."
            )
        case _:
            code = exchange.exit_code
            ended = (
                f"by {signal.Signals(-code).name}" if code is not None and -64 < code < 0 else f"with exit code {code}"
            )
            text = (
                f"The worker ended {ended} while it ran the candidate; an access far outside a buffer does this.{said}"
            )
    return _BadReply(exchange.status, text)


def _payload(exchange: Exchange, timeout_s: float) -> tuple[bytes, dict[str, bytes]]:
    if exchange.status != "replied":
        raise _failure(exchange, timeout_s)
    try:
        return wire.unpack(io.BytesIO(exchange.reply))
    except (wire.FrameError, EOFError) as error:
        raise _BadReply("malformed_reply", f"The worker's answer is not a frame: {error}.") from error


def build(session: Session, request: BuildRequest, timeout_s: float) -> tuple[BuildReply, dict[str, bytes]]:
    """Plans with their cubins and TTIR by hash, one outcome a job. Box failures reject every job, at `compile`.

    The worker ran candidate code, so its answer is checked: each Plan must be for the job asked, and every blob it
    names must be there under its true hash.
    """
    candidate = candidate_id(request.source)
    exchange = session.exchange(wire.pack(request.model_dump_json().encode()), timeout_s)
    try:
        body, blobs = _payload(exchange, timeout_s)
        try:
            reply = _BUILD_REPLY.validate_json(body)
        except ValidationError as error:
            raise _BadReply("malformed_reply", f"The worker's answer is not a build reply: {_first(error)}.") from error
        if isinstance(reply, JudgeError):
            raise _BadReply("worker_error", f"The builder could not serve the request: {reply.message}")
        _check_build(request, candidate, reply, blobs)
    except _BadReply as bad:
        outcomes = tuple(NotBuilt(rejected=_rejected(candidate, "compile", bad, job)) for job in request.jobs)
        return BuildReply(outcomes=outcomes, wall_s=exchange.seconds), {}
    return reply, blobs


def _check_build(request: BuildRequest, candidate: str, reply: BuildReply, blobs: Mapping[str, bytes]) -> None:
    if len(reply.outcomes) != len(request.jobs):
        raise _BadReply("malformed_reply", f"{len(reply.outcomes)} outcomes for {len(request.jobs)} jobs.")
    for name, blob in blobs.items():
        if hashlib.sha256(blob).hexdigest() != name:
            raise _BadReply("malformed_reply", f"A blob's bytes do not have the hash {name[:16]} that it is named by.")
    spec_sha256 = request.spec.sha256
    for job, outcome in zip(request.jobs, reply.outcomes, strict=True):
        if isinstance(outcome, NotBuilt):
            if outcome.rejected.candidate_id != candidate:
                raise _BadReply("malformed_reply", "A rejection names another candidate.")
            continue
        plan = outcome.plan
        asked = (candidate, job.config, job.workload, request.target, spec_sha256, job.compile)
        if asked != (plan.candidate_id, plan.config, plan.workload, plan.target, plan.spec_sha256, plan.compiled):
            raise _BadReply("malformed_reply", f"The Plan for {job.workload.label} is not the one that was asked for.")
        for kernel in plan.kernels:
            if plan.compiled and not {kernel.cubin_sha256, kernel.ttir_sha256} <= blobs.keys():
                raise _BadReply("malformed_reply", f"The Plan names a binary of {kernel.name} that was not sent.")


def interpret(
    session: Session, request: InterpretRequest, blobs: Mapping[str, bytes]
) -> tuple[Interpreted | InterpretFailed, dict[str, bytes]]:
    """Output bytes of one run under Triton's interpreter. Box failures are rejections at `launch`."""
    candidate = candidate_id(request.source)
    timeout_s = request.timeout_s + GRACE_S
    exchange = session.exchange(wire.pack(request.model_dump_json().encode(), blobs), timeout_s)
    try:
        body, answer = _payload(exchange, timeout_s)
        try:
            reply = _INTERPRET_REPLY.validate_json(body)
        except ValidationError as error:
            raise _BadReply("malformed_reply", f"The worker's answer is not a reply: {_first(error)}.") from error
        if isinstance(reply, JudgeError):
            raise _BadReply("worker_error", f"The interpreter could not serve the request: {reply.message}")
        if isinstance(reply, InterpretFailed) and reply.rejected.candidate_id != candidate:
            raise _BadReply("malformed_reply", "The rejection names another candidate.")
        if isinstance(reply, Interpreted):
            _check_interpreted(request, reply, answer)
    except _BadReply as bad:
        job = BuildJob(config=request.config, workload=request.workload)
        return InterpretFailed(rejected=_rejected(candidate, "launch", bad, job)), {}
    return reply, answer


def _check_interpreted(request: InterpretRequest, reply: Interpreted, blobs: Mapping[str, bytes]) -> None:
    if len(reply.outputs) != len(request.spec.outputs):
        raise _BadReply(
            "malformed_reply", f"{len(reply.outputs)} outputs, and the spec has {len(request.spec.outputs)}."
        )
    wanted = {f"output:{output.name}" for output in request.spec.outputs}
    wanted |= {f"input:{tensor.name}" for tensor in request.spec.tensor_inputs}
    if missing := sorted(wanted - blobs.keys()):
        raise _BadReply("malformed_reply", f"The worker's answer lacks {missing[0]}.")


def _rejected(candidate: str, stage: Stage, bad: _BadReply, job: BuildJob) -> Rejected:
    return Rejected(
        candidate_id=candidate,
        stage=stage,
        code=bad.code,
        message=bad.message,
        config=job.config,
        workload=job.workload,
    )


def _first(error: ValidationError) -> str:
    detail = error.errors()[0]
    return f"{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"
