"""The worker: `python -I -m tilewright_sandbox.builder build|interpret`. Frames in on stdin, frames out on stdout.

Stdout is moved to a private descriptor first and descriptor 1 becomes stderr, so that what a candidate prints is no
reply. The worker greets with one frame when its imports are done; it ends when stdin does.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from typing import BinaryIO

from .. import wire
from ..jobs import BuildRequest, InterpretRequest, JudgeError
from ..lifetime import end_with_parent

FILE_BYTES = 1 << 30
MEMORY_FRACTION = 0.5
"""Of the machine's memory, for one worker's data: a candidate that asks for more fails alone."""
Serve = Callable[[bytes, Mapping[str, bytes]], tuple[bytes, Mapping[str, bytes]]]


def _limit_resources() -> None:
    """Before any candidate byte is read. Data is limited, address space is not: torch reserves much and uses little."""
    data_bytes = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_FRACTION)
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: FILE_BYTES, resource.RLIMIT_DATA: data_bytes}
    if processes := os.environ.get("TILEWRIGHT_MAX_PROCESSES"):  # only where the box counts its own processes
        limits[resource.RLIMIT_NPROC] = int(processes)
    for kind, limit in limits.items():
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (value, value))
    end_with_parent()


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Private copies of stdin and stdout. Descriptor 0 becomes empty, descriptor 1 becomes stderr."""
    frames_in, frames_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return frames_in, frames_out


def _interpret_server() -> Serve:
    from .interpret import serve_interpret

    def serve(body: bytes, blobs: Mapping[str, bytes]) -> tuple[bytes, Mapping[str, bytes]]:
        reply, out = serve_interpret(InterpretRequest.model_validate_json(body), blobs)
        return reply.model_dump_json().encode(), out

    return serve


def _build_server() -> Serve:
    from .build import serve_build

    seen: set[str] = set()

    def serve(body: bytes, blobs: Mapping[str, bytes]) -> tuple[bytes, Mapping[str, bytes]]:
        request = BuildRequest.model_validate_json(body)
        seen.add(request.source)
        if len(seen) > 1:
            seen.discard(request.source)
            raise ValueError("a session serves one candidate, and this request brings a second one")
        reply, out = serve_build(request)
        return reply.model_dump_json().encode(), out

    return serve


def main(role: str) -> int:
    frames_in, frames_out = _take_streams()
    _limit_resources()
    if role == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"  # read when triton decorates its own library
    import torch
    import triton

    torch.set_num_threads(1)
    serve = _interpret_server() if role == "interpret" else _build_server()
    greeting = {"kind": "ready", "torch": torch.__version__, "triton": triton.__version__}
    frames_out.write(wire.pack(json.dumps(greeting).encode()))
    frames_out.flush()
    while True:
        try:
            body, blobs = wire.unpack(frames_in)
        except EOFError:
            return 0
        try:
            reply, out = serve(body, blobs)
        except Exception as error:  # the request's fault or ours; a candidate's is a value by now
            reply, out = _error(error), {}
        frames_out.write(wire.pack(reply, out))
        frames_out.flush()


def _error(error: Exception) -> bytes:
    text = f"{type(error).__name__}: {error}"
    return JudgeError(cause="internal", message=text[:2000]).model_dump_json().encode()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("build", "interpret"):
        sys.exit("usage: python -m tilewright_sandbox.builder build|interpret")
    sys.exit(main(sys.argv[1]))
