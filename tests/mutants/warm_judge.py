"""The judge's service with sessions that are forks of itself, where torch and triton are imported already.

Frames as for `python -m tilewright_sandbox.judge`. Most of a short verdict is the start of a worker; mutants are edits
of our own solutions, need no isolation, and are many. Nothing else differs: each session is a process of its own that
serves one candidate.
"""

from __future__ import annotations

import os
import sys
import time

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import torch

from tilewright_sandbox import wire
from tilewright_sandbox.boxes.process import ProcessBox
from tilewright_sandbox.boxes.protocol import Exchange, Role, Session
from tilewright_sandbox.builder.interpret import serve_interpret
from tilewright_sandbox.jobs import InterpretRequest
from tilewright_sandbox.judge import observe
from tilewright_sandbox.judge.__main__ import main


class ForkedSession:
    """One fork, for one candidate. It has no deadline of its own: the test has one."""

    def __init__(self, label: str) -> None:
        self.label = label
        requests_in, requests_out = os.pipe()
        replies_in, replies_out = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(requests_out)
            os.close(replies_in)
            _serve(requests_in, replies_out)
        os.close(requests_in)
        os.close(replies_out)
        self._requests, self._replies = os.fdopen(requests_out, "wb"), os.fdopen(replies_in, "rb")

    def exchange(self, request: bytes, timeout_s: float) -> Exchange:
        started = time.monotonic()
        try:
            self._requests.write(request)
            self._requests.flush()
            reply = wire.pack(*wire.unpack(self._replies))
        except (EOFError, BrokenPipeError):
            return Exchange("crashed", b"", "", None, time.monotonic() - started)
        return Exchange("replied", reply, "", None, time.monotonic() - started)

    def close(self) -> None:
        if not self._replies.closed:
            self._requests.close()
            self._replies.close()
            os.waitpid(self._pid, 0)


def _serve(requests: int, replies: int) -> None:
    frames_in, frames_out = os.fdopen(requests, "rb"), os.fdopen(replies, "wb")
    try:
        while True:
            body, blobs = wire.unpack(frames_in)
            reply, out = serve_interpret(InterpretRequest.model_validate_json(body), blobs)
            frames_out.write(wire.pack(reply.model_dump_json().encode(), out))
            frames_out.flush()
    finally:
        os._exit(0)  # at the end of the requests, and after any failure: the other side sees the pipe end


class ForkBox(ProcessBox):
    def start(self, role: Role) -> Session:
        return ForkedSession(self.label)


def choose_fork(name: str, *, trusted: bool) -> ForkBox:
    return ForkBox()


if __name__ == "__main__":
    torch.set_num_threads(1)  # threads do not survive a fork
    vars(observe)["choose"] = choose_fork  # where the judge asks for the box of a session
    sys.exit(main())
