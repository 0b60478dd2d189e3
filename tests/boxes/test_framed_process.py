"""A child on pipes: every way in which it can end badly has its own status, and nothing of it stays behind."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tilewright_sandbox import wire
from tilewright_sandbox.boxes.framed_process import MARK, FramedProcess
from tilewright_sandbox.contract import SandboxUnavailable

PRELUDE = """
import os, sys, time, subprocess
from tilewright_sandbox import wire
read, write = sys.stdin.buffer, sys.stdout.buffer
def reply(body=b"", blobs=None):
    write.write(wire.pack(body, blobs)); write.flush()
"""


def child(code: str, tmp_path: Path, **options: object) -> FramedProcess:
    command = [sys.executable, "-I", "-c", PRELUDE + code]
    settings = {"greets": False, "env": {"PATH": "/usr/bin:/bin"}, "cwd": str(tmp_path)} | options
    return FramedProcess(command, **settings)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_many_exchanges_with_one_child(tmp_path: Path) -> None:
    session = child("while True:\n body, blobs = wire.unpack(read)\n reply(body[::-1], blobs)", tmp_path)
    for size in (0, 1, 3_000_000):
        exchange = session.exchange(wire.pack(b"abc", {"x": bytes(size)}), 20)
        assert (exchange.status, exchange.reply) == ("replied", wire.pack(b"cba", {"x": bytes(size)}))
        assert exchange.exit_code is None
    session.close()
    assert session.exchange(b"", 1).status == "crashed"


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("wire.unpack(read); time.sleep(60)", "timeout", -signal.SIGKILL),
        ("wire.unpack(read); sys.exit(3)", "crashed", 3),
        ("wire.unpack(read); os.kill(os.getpid(), 11)", "crashed", -signal.SIGSEGV),
        ("wire.unpack(read); reply(bytes(5000)); time.sleep(60)", "oversize", -signal.SIGKILL),
        ("wire.unpack(read); write.write(b'hello, this is no frame'); write.flush(); time.sleep(60)", "crashed", None),
        ("wire.unpack(read); write.write(wire.pack(b'a') * 2); write.flush(); time.sleep(60)", "crashed", None),
        ("sys.exit(0)", "crashed", 0),
        ("import signal; signal.signal(15, signal.SIG_IGN); time.sleep(60)", "timeout", -signal.SIGKILL),
    ],
    ids=["hangs", "exits", "segfaults", "oversize", "no frame", "two frames", "never reads", "ignores SIGTERM"],
)
def test_bad_ends(code: str, status: str, exit_code: int | None, tmp_path: Path) -> None:
    session = child(code, tmp_path, reply_limit_bytes=1000)
    exchange = session.exchange(wire.pack(b"request", {"bulk": bytes(200_000)}), 0.8)
    assert (exchange.status, exchange.exit_code, exchange.reply) == (status, exit_code, b"")
    assert exchange.seconds < 5
    assert not session.alive


def test_exit_is_seen_though_a_descendant_holds_the_pipe(tmp_path: Path) -> None:
    session = child("wire.unpack(read)\nif os.fork() == 0: time.sleep(60)\nos._exit(9)", tmp_path)
    exchange = session.exchange(wire.pack(b""), 30)
    assert (exchange.status, exchange.exit_code) == ("crashed", 9)
    assert exchange.seconds < 5


def test_descendants_that_leave_the_group_are_ended(tmp_path: Path) -> None:
    code = """
wire.unpack(read)
plain = subprocess.Popen(["sleep", "60"])
apart = subprocess.Popen(["sleep", "60"], start_new_session=True)
reply(f"{plain.pid} {apart.pid}".encode())
time.sleep(60)
"""
    session = child(code, tmp_path)
    body = wire.unpack(io.BytesIO(session.exchange(wire.pack(b""), 20).reply))[0]
    pids = [int(word) for word in body.split()]
    assert all(alive(pid) for pid in pids)
    session.close()
    deadline = time.monotonic() + 3
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in pids)


def test_stderr_is_a_clean_tail_and_does_not_block(tmp_path: Path) -> None:
    code = "wire.unpack(read); sys.stderr.write('x' * 300_000 + '\\x1b[31mlast\\x07\\n'); sys.stderr.flush(); reply()"
    exchange = child(code, tmp_path).exchange(wire.pack(b""), 20)
    assert exchange.status == "replied"
    assert exchange.stderr.endswith("xlast\n")
    assert len(exchange.stderr) <= 8192


def test_death_before_the_greeting_is_the_machines_failure(tmp_path: Path) -> None:
    session = child("sys.stderr.write('no torch here\\n'); sys.exit(1)", tmp_path, greets=True)
    with pytest.raises(SandboxUnavailable, match="no torch here"):
        session.exchange(wire.pack(b""), 5)
    late = child("time.sleep(60)", tmp_path, greets=True, startup_timeout_s=0.3)
    with pytest.raises(SandboxUnavailable, match="timeout"):
        late.exchange(wire.pack(b""), 5)
    with pytest.raises(SandboxUnavailable, match="cannot start"):
        FramedProcess(["/nowhere/bwrap"], env={}, cwd="/", greets=True)


def test_cleanup_runs_once_and_when_forgotten(tmp_path: Path) -> None:
    calls: list[int] = []
    session = child("wire.unpack(read); sys.exit(0)", tmp_path, cleanup=lambda: calls.append(1))
    session.exchange(wire.pack(b""), 5)
    session.close()
    session.close()
    forgotten = child("time.sleep(60)", tmp_path, cleanup=lambda: calls.append(2))
    pid = forgotten._process.pid
    del forgotten
    assert calls == [1, 2]
    assert not alive(pid)


def test_a_session_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    code = "import ctypes; ctypes.CDLL(None).prctl(1, 9); wire.unpack(read); reply(b'still here')"
    sessions: list[FramedProcess] = []
    thread = threading.Thread(target=lambda: sessions.append(child(code, tmp_path)))
    thread.start()
    thread.join()
    time.sleep(0.5)
    assert sessions[0].exchange(wire.pack(b""), 10).status == "replied"


def test_nothing_is_inherited_but_the_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    secret = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(secret, True)
    code = "wire.unpack(read); reply(repr((sorted(os.environ), os.listdir('/proc/self/fd'))).encode())"
    try:
        body = child(code, tmp_path).exchange(wire.pack(b""), 10).reply
    finally:
        os.close(secret)
    names, descriptors = eval(body[12:])
    assert set(names) <= {"PATH", MARK, "TILEWRIGHT_PARENT", "LC_CTYPE"}
    assert len(descriptors) <= 4  # three streams and the listing's own
