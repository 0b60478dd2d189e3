"""What every box must do, and what an isolating one must do on top. The probes are candidates in a real worker."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tilewright_sandbox import wire
from tilewright_sandbox.boxes import Box, client
from tilewright_sandbox.boxes.bubblewrap import PACKAGE, BubblewrapBox
from tilewright_sandbox.boxes.process import ProcessBox
from tilewright_sandbox.contract import Axis, Config, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.jobs import InterpretFailed, InterpretRequest

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="the worker needs torch")
BOXES: list[Box] = [box for box in (ProcessBox(), BubblewrapBox()) if box.probe().usable]
AXES = {"n": 1024}
SPEC = Spec(
    name="identity",
    summary="y = x",
    op="identity",
    axes={"n": Axis(min=1, max=4096)},
    inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
    outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
    workloads=(Workload(role="tune", axes=AXES),),
    reference_sha256="0" * 64,
)

FACTS = """
import ctypes, json, os, resource, socket

def succeeds(action, *args):
    try:
        action(*args)
        return True
    except OSError:
        return False

def write(path):
    with open(path, "w") as file:
        file.write("x")
    os.remove(path)

def connect(address, family):
    with socket.socket(family) as client:
        client.settimeout(2)
        client.connect(address)

def run(x):
    os.write(1, FORGED)
    print("a printed line")
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    facts = {
        "environment": sorted(os.environ), "home": os.environ["HOME"], "descriptors": len(os.listdir("/proc/self/fd")),
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0], "fsize": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        "writes": [path for path in WRITES if succeeds(write, path)],
        "reads": [path for path in READS if succeeds(os.stat, path)],
        "home_writable": succeeds(write, os.environ["HOME"] + "/file"),
        "tcp": succeeds(connect, ("127.0.0.1", PORT), socket.AF_INET),
        "abstract": succeeds(connect, ABSTRACT, socket.AF_UNIX),
        "capabilities": int(status["CapEff"], 16),
        "new_namespace": ctypes.CDLL(None).unshare(0x10000000) == 0,
        "processes": [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) == TESTER],
    }
    raise RuntimeError(json.dumps(facts))
"""
SLEEPER = """
import os, signal, subprocess, time
def run(x):
    subprocess.Popen(["sleep", "SECONDS"], start_new_session=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""
ENDS = {
    "import os, signal\ndef run(x):\n    os.kill(os.getpid(), signal.SIGSEGV)\n": ("crashed", "SIGSEGV"),
    "import os\ndef run(x):\n    os._exit(0)\n": ("crashed", "exit code 0"),
    "import torch\ndef run(x):\n    return torch.empty(1 << 42, dtype=torch.int8)\n": ("out_of_memory", "memory"),
}


@pytest.fixture(scope="module", params=BOXES, ids=lambda box: box.name)
def box(request: pytest.FixtureRequest) -> Box:
    chosen: Box = request.param
    return chosen


@pytest.fixture
def private_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def request_for(source: str, timeout_s: float = 20.0) -> InterpretRequest:
    return InterpretRequest(
        source=source, spec=SPEC, config=Config({}), workload=SPEC.workloads[0], dtypes={}, timeout_s=timeout_s
    )


def running(argument: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if argument.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    return True
            except OSError:
                continue
    return False


@pytest.fixture(scope="module")
def facts(box: Box, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a hostile candidate can see and do; then, from the same worker, a second candidate and a huge reply."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("key")
    abstract = f"\0tilewright-test-{os.getpid()}-{box.name}"
    os.environ["TILEWRIGHT_TEST_API_KEY"] = "secret"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(abstract)
        unix.listen()
        forged = wire.pack(b'{"kind":"interpreted","outputs":[],"launches":[],"aten":[],"seconds":0}')
        values = {
            "FORGED": forged, "PORT": tcp.getsockname()[1], "ABSTRACT": abstract, "TESTER": os.getpid(),
            "WRITES": ["/probe", "/usr/probe", "/dev/probe", str(PACKAGE / "probe"), str(outside / "probe")],
            "READS": [str(outside / "secret"), str(PACKAGE.parents[1] / "agent"), str(PACKAGE.parents[1] / "specs")],
        }  # fmt: skip
        source = "".join(f"{name} = {value!r}\n" for name, value in values.items()) + FACTS
        session = box.start("interpret")
        try:
            reply, _ = client.interpret(session, request_for(source), {"x": bytes(4096)})
            assert isinstance(reply, InterpretFailed), "the forged reply was taken for the worker's"
            found = json.loads(reply.rejected.message.partition("RuntimeError: ")[2])
            second, _ = client.interpret(session, request_for("def run(x):\n    return x\n"), {"x": bytes(4096)})
            session.reply_limit_bytes = 100  # type: ignore[attr-defined]
            huge, _ = client.interpret(session, request_for(source), {"x": bytes(4096)})
        finally:
            session.close()
            del os.environ["TILEWRIGHT_TEST_API_KEY"]
    assert isinstance(second, InterpretFailed)
    assert isinstance(huge, InterpretFailed)
    return found | {"second": second.rejected, "huge": huge.rejected, "label": session.label}


def test_the_environment_holds_nothing_of_the_callers(facts: dict[str, Any]) -> None:
    assert set(facts["environment"]) <= {
        "PATH", "LANG", "HOME", "USER", "TMPDIR", "TRITON_CACHE_DIR", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
        "TRITON_INTERPRET", "TILEWRIGHT_SESSION", "TILEWRIGHT_PARENT", "TILEWRIGHT_MAX_PROCESSES", "PWD",
        "CUDA_VISIBLE_DEVICES",
    } | {name for name in facts["environment"] if name.startswith(("TORCH", "PYTORCH", "KMP", "LC_"))}  # fmt: skip
    assert facts["home"] != os.environ["HOME"]
    assert facts["home_writable"]


def test_no_descriptor_of_the_caller_is_open(facts: dict[str, Any]) -> None:
    assert facts["descriptors"] <= 8


def test_limits(facts: dict[str, Any]) -> None:
    assert facts["core"] == 0
    assert 0 < facts["fsize"] <= 1 << 30


def test_a_second_candidate_is_refused(facts: dict[str, Any]) -> None:
    assert facts["second"].code == "worker_error"
    assert "one candidate" in facts["second"].message


def test_a_reply_over_the_limit_is_oversize(facts: dict[str, Any]) -> None:
    assert (facts["huge"].stage, facts["huge"].code) == ("launch", "oversize")


def test_what_isolation_means(facts: dict[str, Any], box: Box) -> None:
    reach = {name: facts[name] for name in ("writes", "reads", "tcp", "abstract", "processes", "new_namespace")}
    if box.isolates:
        assert not any(reach.values()), reach
        assert facts["capabilities"] == 0
    else:
        assert "unsafe" in facts["label"]
        assert reach["tcp"], "the probe itself must be able to succeed"
        assert reach["abstract"]
        assert len(reach["reads"]) >= 2
        assert reach["writes"]
        assert reach["processes"]


def test_a_hang_and_its_grandchild_end_at_the_deadline(box: Box, private_tmp: Path) -> None:
    seconds = f"{1000 + time.monotonic() % 1000:.6f}"
    source = SLEEPER.replace("SECONDS", seconds)
    session = box.start("interpret")
    try:
        frame = wire.pack(request_for(source, 300).model_dump_json().encode(), {"x": bytes(4096)})
        assert session.wait_ready() is None  # type: ignore[attr-defined]
        started = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            exchange = pool.submit(session.exchange, frame, 1.5)
            while not running(seconds) and time.monotonic() < started + 1.4:
                time.sleep(0.05)
            assert running(seconds), "the grandchild never started, so its end would prove nothing"
        assert exchange.result().status == "timeout"
        assert time.monotonic() - started < 8
    finally:
        session.close()
    deadline = time.monotonic() + 3
    while running(seconds) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(seconds)
    assert not list(private_tmp.iterdir())


@pytest.mark.parametrize("source", ENDS, ids=["signal", "exit", "memory"])
def test_a_bad_end_is_a_rejection_that_says_which(box: Box, source: str, private_tmp: Path) -> None:
    session = box.start("interpret")
    reply, blobs = client.interpret(session, request_for(source), {"x": bytes(4096)})
    session.close()
    assert isinstance(reply, InterpretFailed)
    code, words = ENDS[source]
    assert (reply.rejected.stage, reply.rejected.code) == ("launch", code)
    assert words in reply.rejected.message
    assert blobs == {}
    assert not list(private_tmp.iterdir())
