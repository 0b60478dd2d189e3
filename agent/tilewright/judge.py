"""Who gives verdicts: a judge process on this machine, or one elsewhere that watches a folder of jobs."""

from __future__ import annotations

import os
import subprocess
import time
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from tilewright_sandbox.contract import SandboxUnavailable
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.job_files import Job, read_verdict, write_job
from tilewright_sandbox.jobs import AuditReport, Judged, JudgeRequest, RaceReply, RaceRequest
from tilewright_sandbox.judge_process import TIMEOUT_S, Answer, JudgeProcess, Request
from tilewright_sandbox.spec import load_spec
from tilewright_sandbox.targets import TARGETS

__all__ = ["Judge", "JudgeProcess", "QueueJudge", "local_target", "open_judge", "resolve_judge"]

R = TypeVar("R", AuditReport, OpGraph, Judged, RaceReply)
QUEUE_LIMIT_S = 3600.0
QUEUE_LIMIT = "TILEWRIGHT_QUEUE_SECONDS"
"""The environment variable that says how long a verdict is waited for, where an hour is wrong."""
POLL_S = 0.2


class QueueJudge:
    """Hands jobs for a device to a folder and waits for their verdicts; all else is served by a process here.

    A verdict that comes too late stays in the folder, and is found when the same job is asked for again.
    """

    on: Literal["interpreter", "device"] = "device"

    def __init__(self, folder: Path, limit_s: float = QUEUE_LIMIT_S) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxUnavailable(
                f"cannot create the queue {folder}: {error.strerror}", "give a folder that can be written"
            ) from error
        self.folder, self.limit_s = folder, limit_s
        self._here = JudgeProcess()

    def start(self) -> None:
        """Nothing to warm up: the judge is elsewhere."""

    def ask(self, request: Request, kind: type[R], timeout_s: float = TIMEOUT_S) -> R:
        """As JudgeProcess.ask."""
        return self._here.expect(self.request(request, timeout_s), kind)

    def request(self, request: Request, timeout_s: float = TIMEOUT_S) -> Answer:
        """As JudgeProcess.request; a job in the queue has `limit_s`. SandboxUnavailable where no verdict comes."""
        on_device = isinstance(request, RaceRequest) or (isinstance(request, JudgeRequest) and request.on == "device")
        if not on_device:
            return self._here.request(request, timeout_s)
        assert isinstance(request, Job)
        return self._wait(write_job(self.folder, request, load_spec(request.spec_path)))

    def expect(self, reply: Answer, kind: type[R]) -> R:
        return self._here.expect(reply, kind)

    def _wait(self, name: str) -> Answer:
        deadline = time.monotonic() + self.limit_s
        while time.monotonic() < deadline:
            answer = read_verdict(self.folder, name)
            if answer is not None:
                return answer
            time.sleep(POLL_S)
        raise SandboxUnavailable(
            f"no verdict on job {name} within {self.limit_s:g} s",
            f"run `tilewright judge --watch {self.folder}` on a machine with a GPU; the job is kept",
        )

    def close(self) -> None:
        self._here.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


Judge = JudgeProcess | QueueJudge


def open_judge(name: str) -> Judge:
    """`auto`: this machine's device, else the interpreter; `device`; `interpreter`; or `queue:FOLDER`.

    ValueError for another name; SandboxUnavailable for `device` where there is none.
    """
    if name.startswith("queue:") and name != "queue:":
        limit_s = float(os.environ.get(QUEUE_LIMIT, QUEUE_LIMIT_S))
        return QueueJudge(Path(name.removeprefix("queue:")).expanduser(), limit_s)
    match name:
        case "auto":
            return JudgeProcess(on="device" if local_target() else "interpreter")
        case "interpreter":
            return JudgeProcess()
        case "device":
            if local_target() is None:
                raise SandboxUnavailable(
                    "this machine has no CUDA device", "--judge queue:FOLDER hands jobs to one that has"
                )
            return JudgeProcess(on="device")
    raise ValueError(f"{name!r} is no judge")


def resolve_judge(name: str) -> str:
    """A name that means the same in every later session: `auto` decided, a queue's folder absolute. As `open_judge`."""
    if name == "auto":
        return "device" if local_target() in TARGETS else "interpreter"
    if name.startswith("queue:") and name != "queue:":
        return f"queue:{Path(name.removeprefix('queue:')).expanduser().resolve()}"
    open_judge(name).close()
    return name


@cache
def local_target() -> str | None:
    """The architecture of this machine's first CUDA device, such as sm_90; None where there is none."""
    try:
        asked = subprocess.run(
            ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    first = (asked.stdout.split() or [""])[0].replace(".", "")
    return f"sm_{first}" if asked.returncode == 0 and first.isdigit() else None
