"""The judge process: it imports torch and owns the device, so others speak to it over pipes and can end it."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from . import wire
from .boxes.framed_process import FramedProcess
from .boxes.private_folder import make_private_folder
from .contract import SandboxUnavailable
from .graph import OpGraph
from .jobs import AuditReport, AuditRequest, Judged, JudgeError, JudgeRequest, RaceReply, RaceRequest, TraceRequest
from .spec_error import SpecError

Request = AuditRequest | TraceRequest | JudgeRequest | RaceRequest
Answer = AuditReport | OpGraph | Judged | RaceReply | JudgeError
Reply = Annotated[Answer, Field(discriminator="kind")]
_REPLY: TypeAdapter[Answer] = TypeAdapter(Reply)

R = TypeVar("R", AuditReport, OpGraph, Judged, RaceReply)

TIMEOUT_S = 900.0
_INHERITED = {"PATH", "HOME", "USER", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}
_INHERITED_PREFIXES = ("CUDA_", "NVIDIA_", "LC_", "TILEWRIGHT_")


def _environment(folder: str) -> dict[str, str]:
    """The judge needs the GPU and a home, and none of the agent's keys."""
    kept = {k: v for k, v in os.environ.items() if k in _INHERITED or k.startswith(_INHERITED_PREFIXES)}
    return kept | {"TMPDIR": folder}


class JudgeProcess:
    """`with JudgeProcess() as judge: judge.request(...)`. It starts at the first request, or at `start()`.

    `command` is for tests of this class alone: another service that speaks the same frames.
    """

    def __init__(
        self,
        command: tuple[str, ...] = ("-I", "-m", "tilewright_sandbox.judge"),
        *,
        on: Literal["interpreter", "device"] = "interpreter",
    ) -> None:
        self.on: Literal["interpreter", "device"] = on
        """Where candidates are to be run: whoever prepares a request for this judge asks here."""
        self._command = (sys.executable, *command)
        self._process: FramedProcess | None = None

    def start(self) -> None:
        """Start importing torch now, without waiting for it."""
        if self._process is None or not self._process.alive:
            self.close()
            folder, remove = make_private_folder()
            self._process = FramedProcess(
                self._command,
                env=_environment(folder),
                cwd=str(Path.cwd()),  # a relative path in a request means what it means to the caller
                greets=False,
                cleanup=remove,
            )

    def ask(self, request: Request, kind: type[R], timeout_s: float = TIMEOUT_S) -> R:
        """The answer of that kind; SpecError or SandboxUnavailable as the judge says."""
        return self.expect(self.request(request, timeout_s), kind)

    @staticmethod
    def expect(reply: Answer, kind: type[R]) -> R:
        if isinstance(reply, kind):
            return reply
        if isinstance(reply, JudgeError) and reply.cause == "spec":
            raise SpecError(reply.message, fix=reply.fix)  # the message names file and line
        if isinstance(reply, JudgeError):
            raise SandboxUnavailable(f"the judge failed: {reply.message}", reply.fix)
        raise SandboxUnavailable(f"the judge answered with {reply.kind}", "install tilewright again: versions differ")

    def request(self, request: Request, timeout_s: float = TIMEOUT_S) -> Answer:
        """One answer. A judge that dies is started once more; SandboxUnavailable if it dies again or is late."""
        frame = wire.pack(request.model_dump_json().encode())
        said = ""
        for _ in range(2):
            self.start()
            assert self._process is not None
            exchange = self._process.exchange(frame, timeout_s)
            if exchange.status == "replied":
                reply = self._parse(exchange.reply)
                if isinstance(reply, Judged | RaceReply) and reply.last:
                    self.close()
                return reply
            said = (exchange.stderr.strip().splitlines()[-1:] or ["nothing on stderr"])[0][:400]
            self.close()
            if exchange.status == "timeout":
                raise SandboxUnavailable(f"the judge did not answer within {timeout_s:g} s", f"its last words: {said}")
        raise SandboxUnavailable(f"the judge process died twice: {said}", "run `tilewright doctor`")

    @staticmethod
    def _parse(reply: bytes) -> Answer:
        try:
            body, _ = wire.unpack(io.BytesIO(reply))
            return _REPLY.validate_json(body)
        except (ValidationError, wire.FrameError, EOFError) as error:
            raise SandboxUnavailable(
                f"the judge's answer cannot be read: {str(error)[:400]}", "install tilewright again: versions differ"
            ) from error

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
