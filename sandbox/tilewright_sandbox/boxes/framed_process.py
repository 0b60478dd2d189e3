"""A child process that answers frames on its standard streams: deadlines, size limits and clean ends, from outside."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import wire
from ..contract import SandboxUnavailable
from ..lifetime import PARENT
from .protocol import Exchange, Status

STDERR_BYTES = 8192
REPLY_LIMIT_BYTES = 256 << 20
STARTUP_TIMEOUT_S = 120.0
CHUNK_BYTES = 1 << 20
MARK = "TILEWRIGHT_SESSION"
"""Environment variable whose value marks every process of a session, and of the sessions that those started."""


@functools.cache
def _spawner() -> ThreadPoolExecutor:
    """The one thread that starts children: a parent-death signal fires when the *thread* that forked ends."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="tilewright-spawn")


os.register_at_fork(after_in_child=_spawner.cache_clear)


def _oom_kills() -> int:
    """How many processes this machine's kernel has killed for want of memory."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _marked(mark: bytes) -> list[int]:
    """Processes whose environment carries the mark: those that left the process group are found too."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def _end(process: subprocess.Popen[bytes], mark: bytes, cleanup: Callable[[], None]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    for _ in range(20):
        if not (left := [pid for pid in _marked(mark) if pid != os.getpid()]):
            break
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.poll()
        time.sleep(0.01)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    cleanup()


def _printable(raw: bytes) -> str:
    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", raw.decode(errors="replace"))
    return "".join(c for c in text if c == "\n" or c == "\t" or c.isprintable())


class FramedProcess:
    """A `Session` over one child. Not for two threads at once.

    `greets`: the child sends one frame when it is ready; a child that dies before it is the machine's failure, one
    that dies after it is the request's. `cleanup` runs once, when the child has gone.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        label: str = "",
        greets: bool,
        reply_limit_bytes: int = REPLY_LIMIT_BYTES,
        startup_timeout_s: float = STARTUP_TIMEOUT_S,
        cleanup: Callable[[], None] = lambda: None,
    ) -> None:
        self.label = label
        self.reply_limit_bytes, self.startup_timeout_s = reply_limit_bytes, startup_timeout_s
        self._greeted = not greets
        self._stderr = bytearray()
        mark = f"/{os.getpid()}-{os.urandom(8).hex()}"
        marked_env = {**env, MARK: os.environ.get(MARK, "") + mark, PARENT: str(os.getpid())}
        try:
            self._process = _spawner().submit(self._popen, list(argv), marked_env, cwd).result()
        except OSError as error:
            cleanup()
            raise SandboxUnavailable(f"cannot start {argv[0]}: {error}", "install it, or choose another box") from error
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        self._finalizer = weakref.finalize(self, _end, self._process, mark.encode(), cleanup)

    @staticmethod
    def _popen(argv: list[str], env: dict[str, str], cwd: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv, env=env, cwd=cwd, bufsize=0, start_new_session=True, close_fds=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self._finalizer.alive and self._process.poll() is None

    def wait_ready(self) -> None:
        """Wait for the child's greeting. SandboxUnavailable, with what it wrote to stderr, if none comes."""
        if self._greeted:
            return
        greeting = self._talk(b"", self.startup_timeout_s)
        if greeting.status != "replied":
            tail = greeting.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
            raise SandboxUnavailable(
                f"the worker did not start ({greeting.status}, exit code {greeting.exit_code}): {tail[0][:400]}",
                "run `tilewright doctor`",
            )
        self._greeted = True

    def exchange(self, request: bytes, timeout_s: float) -> Exchange:
        if not self._finalizer.alive:
            return Exchange("crashed", b"", _printable(bytes(self._stderr)) or "the session had ended", None, 0.0)
        self.wait_ready()
        return self._talk(request, timeout_s)

    def close(self) -> None:
        self._finalizer()

    def _talk(self, request: bytes, timeout_s: float) -> Exchange:
        started, oom_before = time.monotonic(), _oom_kills()
        status, reply = self._pump(request, started + timeout_s)
        exit_code: int | None = None
        if status != "replied":
            if status == "crashed":
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=1)  # its own exit code and last words, before the kill
                self._drain_stderr()
                code = self._process.poll()
                exit_code = 128 - code if code is not None and code > 128 else code  # bubblewrap reports 128 + signal
                if exit_code == -signal.SIGKILL and _oom_kills() > oom_before:
                    status = "out_of_memory"
            self.close()
            if status in ("timeout", "oversize"):
                exit_code = -signal.SIGKILL
        return Exchange(status, reply, _printable(bytes(self._stderr)), exit_code, time.monotonic() - started)

    def _drain_stderr(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._process.stderr.fileno(), CHUNK_BYTES):
                self._stderr = (self._stderr + chunk)[-STDERR_BYTES:]

    def _pump(self, request: bytes, deadline: float) -> tuple[Status, bytes]:
        """Move bytes both ways until one whole frame is here, or it is clear that none will come."""
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        unsent, reply, needed = memoryview(request), bytearray(), wire.HEAD_BYTES
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            if unsent:
                selector.register(stdin, selectors.EVENT_WRITE)
            while True:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return "timeout", b""
                events = selector.select(min(left_s, 0.5))
                if not events and self._process.poll() is not None:
                    return "crashed", b""  # gone, though a descendant still holds the pipe
                for key, _ in events:
                    if key.fileobj is stdin:
                        try:
                            unsent = unsent[os.write(stdin.fileno(), unsent[:CHUNK_BYTES]) :]
                        except BrokenPipeError:
                            unsent = memoryview(b"")
                        if not unsent:
                            selector.unregister(stdin)
                        continue
                    chunk = os.read(key.fd, CHUNK_BYTES)
                    if key.fileobj is stderr:
                        if not chunk:
                            selector.unregister(stderr)
                        self._stderr = (self._stderr + chunk)[-STDERR_BYTES:]
                        continue
                    if not chunk:
                        return "crashed", b""
                    reply += chunk
                    try:
                        while len(reply) >= needed:
                            needed = wire.bytes_needed(reply, self.reply_limit_bytes)
                            if needed == len(reply):
                                return "replied", bytes(reply)
                            if needed < len(reply):
                                return "crashed", b""  # more than one frame for one request
                    except wire.FrameTooLarge:
                        return "oversize", b""
                    except wire.FrameError:
                        return "crashed", b""
