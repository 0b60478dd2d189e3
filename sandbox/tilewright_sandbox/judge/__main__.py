"""The judge's service, `python -m tilewright_sandbox.judge`: request frames in, reply frames out, to the end of stdin.

Stdout is moved to a private descriptor first and descriptor 1 becomes stderr: a reference that prints is no reply.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from typing import Annotated, BinaryIO

from pydantic import Field, TypeAdapter, ValidationError

from .. import wire
from ..contract import Record, SandboxUnavailable
from ..jobs import AuditRequest, Judged, JudgeError, JudgeRequest, RaceReply, RaceRequest, TraceRequest
from ..lifetime import end_with_parent
from ..spec import SpecError, load_spec

_REQUEST: TypeAdapter[AuditRequest | TraceRequest | JudgeRequest | RaceRequest] = TypeAdapter(
    Annotated[AuditRequest | TraceRequest | JudgeRequest | RaceRequest, Field(discriminator="kind")]
)


def torch_out_of_memory() -> type[Exception]:
    """torch's exception; torch is imported when the service starts, not with this module."""
    import torch

    found: type[Exception] = torch.OutOfMemoryError
    return found


def answer(body: bytes) -> Record:
    """The reply to one request. Whatever goes wrong is a JudgeError: the service does not end."""
    try:
        request = _REQUEST.validate_json(body)
    except ValidationError as error:
        return JudgeError(cause="internal", message=f"the request cannot be read: {error.errors()[0]['msg']}")
    try:
        return _serve_request(request)
    except SpecError as error:
        bare = SpecError(error.message, error.file, error.line)
        return JudgeError(cause="spec", message=str(bare), fix=error.fix)
    except SandboxUnavailable as error:
        return JudgeError(cause="machine", message=error.what, fix=error.fix)
    except torch_out_of_memory() as error:
        first_line = str(error).splitlines()[0]
        return JudgeError(cause="machine", message=f"the device's memory is full: {first_line[:400]}", fix="free it")
    except Exception as error:
        traceback.print_exc()
        first_line = (str(error).splitlines() or [""])[0][:2000]
        return JudgeError(cause="internal", message=f"{type(error).__name__}: {first_line}")


def _serve_request(request: AuditRequest | TraceRequest | JudgeRequest | RaceRequest) -> Record:
    folder = load_spec(request.spec_path)
    if isinstance(request, AuditRequest):
        from .audit import audit

        return audit(request, folder)
    if isinstance(request, TraceRequest):
        from .canonical import Untraceable
        from .trace import trace

        try:
            return trace(folder)
        except Untraceable as reason:
            return JudgeError(cause="spec", message=f"{folder.path}: {reason}")
    if isinstance(request, RaceRequest):
        from .device.race import race

        return race(request, folder)
    started = time.monotonic()
    if request.on == "device":
        from .device.verdict import judge_on_device

        found = judge_on_device(request, folder)
        raw = tuple(timing.model_dump(mode="json") for timing in found.timing)
        return Judged(
            verdict=found.verdict, seconds=time.monotonic() - started, timing=raw, last=found.sticky
        )  # fmt: skip
    from .verdict import judge

    return Judged(verdict=judge(request, folder), seconds=time.monotonic() - started)


def serve(frames_in: BinaryIO, frames_out: BinaryIO) -> int:
    """Answer until the stream ends, 0, or is no stream of frames, 1."""
    while True:
        try:
            body, _ = wire.unpack(frames_in)
        except EOFError:
            return 0
        except wire.FrameError as error:
            sys.stderr.write(f"the judge was sent something else than a frame: {error}\n")
            return 1
        reply = answer(body)
        frames_out.write(wire.pack(reply.model_dump_json().encode()))
        frames_out.flush()
        if isinstance(reply, Judged | RaceReply) and reply.last:
            os._exit(0)  # a lost context cannot be closed either: closing would wait for a kernel that never ends


def main() -> int:
    end_with_parent()
    frames_in, frames_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    import torch

    torch.set_num_threads(min(2, torch.get_num_threads()))
    return serve(frames_in, frames_out)


if __name__ == "__main__":
    sys.exit(main())
