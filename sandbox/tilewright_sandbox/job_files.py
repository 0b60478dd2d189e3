"""Jobs and verdicts as files, so that a batch built on one machine is judged on another.

A jobs folder is also a queue: several judges may watch it. One that takes a job leaves `<job>.claim` and touches it
while it works; a claim that nobody touched for CLAIM_S is void. The first verdict counts, a second one is dropped.

A jobs folder holds `<job>.job.json` (a JudgeRequest whose paths are relative to the folder), and `specs/` and `blobs/`,
which jobs share; the judge writes `<job>.verdict.json` (a Judged, or a JudgeError) beside each. A job is named by its
request's hash: writing it twice is writing it once, and a verdict that is there already is kept.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from .contract import SandboxUnavailable
from .jobs import Judged, JudgeError, JudgeRequest, RaceReply, RaceRequest
from .judge_process import JudgeProcess
from .spec import SpecFolder
from .whole_file import write_whole

Job = JudgeRequest | RaceRequest
Answer = Judged | RaceReply | JudgeError
_JOB: TypeAdapter[Job] = TypeAdapter(Annotated[Job, Field(discriminator="kind")])
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])
JOB, VERDICT, CLAIM = ".job.json", ".verdict.json", ".claim"
CLAIM_S = 30.0
HEARTBEAT_S = 5.0
JOB_LIMIT_S = 300.0
"""For one job: a judge that has not answered by then is ended and started again for the next."""


def write_job(jobs: Path, request: Job, folder: SpecFolder) -> str:
    """Put a request into a jobs folder, with its spec and binaries; the job's name. The job itself comes last."""
    spec_place = f"specs/{folder.spec.sha256[:12]}/{folder.spec.name}"
    target = jobs / spec_place
    if not (target / "reference.py").exists():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder.path / "spec.toml", target / "spec.toml")
        write_whole(target / "reference.py", folder.reference_source.encode())
    blobs = jobs / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    for plan in request.plans:
        for kernel in plan.kernels:
            for name in (kernel.cubin_sha256, kernel.ttir_sha256):
                if not (blobs / name).exists():
                    write_whole(blobs / name, (Path(request.blobs_path) / name).read_bytes())
    portable = request.model_copy(update={"spec_path": spec_place, "blobs_path": "blobs"})
    name = portable.sha256[:24]
    if not (jobs / f"{name}{JOB}").exists():
        write_whole(jobs / f"{name}{JOB}", portable.model_dump_json().encode())
    return name


def read_job(jobs: Path, name: str) -> Job:
    """The request with its paths made absolute. ValueError where the file is not one."""
    request = _JOB.validate_json((jobs / f"{name}{JOB}").read_bytes())
    places = {key: _inside(jobs, getattr(request, key)) for key in ("spec_path", "blobs_path")}
    return request.model_copy(update=places)


def _inside(jobs: Path, place: str) -> str:
    """The absolute path of a place in the folder. ValueError where it leads out of it."""
    found = (jobs / place).resolve()
    if not found.is_relative_to(jobs.resolve()):
        raise ValueError(f"{place} is outside the jobs folder")
    return str(found)


def read_verdict(jobs: Path, name: str) -> Answer | None:
    """None where there is none yet, or one that is not whole."""
    try:
        return _ANSWER.validate_json((jobs / f"{name}{VERDICT}").read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def waiting(jobs: Path) -> list[str]:
    """Names of jobs that have no verdict, in the order in which they were written."""
    found = [path for path in jobs.glob(f"*{JOB}") if not (jobs / path.name.replace(JOB, VERDICT)).exists()]
    return [
        path.name.removesuffix(JOB) for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))
    ]


def judge_jobs(jobs: Path, judge: JudgeProcess, skip: Set[str] = frozenset()) -> Iterator[tuple[str, Answer]]:
    """Judge every job that waits, one after the other. A job that cannot be served gets a JudgeError for an answer, so
    that one bad job does not hold up the rest. Trouble of the machine is no answer: that job goes on waiting."""
    for name in waiting(jobs):
        if name in skip:
            continue
        with claim(jobs, name) as ours:
            if not ours:
                continue
            answer = _judge_one(jobs, name, judge)
            if not (isinstance(answer, JudgeError) and answer.cause == "machine"):
                write_whole(jobs / f"{name}{VERDICT}", answer.model_dump_json().encode(), replace=False)
        yield name, answer


@contextlib.contextmanager
def claim(jobs: Path, name: str) -> Iterator[bool]:
    """Whether the job is ours for as long as the block lasts. Another judge's claim is taken over once it is stale."""
    path = jobs / f"{name}{CLAIM}"
    with contextlib.suppress(FileNotFoundError):
        if time.time() - path.stat().st_mtime > CLAIM_S:
            path.unlink()
    holder = f"{os.uname().nodename} {os.getpid()}".encode()
    if (jobs / f"{name}{VERDICT}").exists() or not write_whole(path, holder, replace=False):
        yield False
        return
    done = threading.Event()
    beating = threading.Thread(target=_beat, args=(path, done), daemon=True)
    beating.start()
    try:
        yield True
    finally:
        done.set()
        beating.join()
        with contextlib.suppress(OSError):
            if path.read_bytes() == holder:
                path.unlink()


def _beat(path: Path, done: threading.Event) -> None:
    while not done.wait(HEARTBEAT_S):
        with contextlib.suppress(OSError):
            path.touch(exist_ok=True)


def _judge_one(jobs: Path, name: str, judge: JudgeProcess) -> Answer:
    try:
        request = read_job(jobs, name)
    except (OSError, ValueError) as error:
        first_line = str(error).splitlines()[0]
        return JudgeError(cause="internal", message=f"{name}{JOB} is not a job: {first_line}", fix="write it again")
    try:
        reply = judge.request(request, JOB_LIMIT_S)
    except SandboxUnavailable as error:
        return JudgeError(cause="machine", message=error.what, fix=error.fix)
    assert isinstance(reply, Judged | RaceReply | JudgeError), reply.kind
    return reply
