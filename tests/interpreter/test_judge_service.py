"""The judge's service: one reply a request, whatever the reference prints and whatever goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright_sandbox import wire
from tilewright_sandbox.spec import scaffold_spec

SPECS = Path(__file__).parents[2] / "specs"
Service = subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    command = [sys.executable, "-I", "-m", "tilewright_sandbox.judge"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0, "the service ends well when its input does"


def ask(service: Service, request: bytes | dict[str, Any]) -> Any:
    assert service.stdin is not None
    assert service.stdout is not None
    service.stdin.write(wire.pack(request if isinstance(request, bytes) else json.dumps(request).encode()))
    service.stdin.flush()
    body, blobs = wire.unpack(service.stdout)
    assert not blobs
    return json.loads(body)


def test_audit_and_trace(service: Service) -> None:
    audited = ask(service, {"kind": "audit", "spec_path": str(SPECS / "softmax")})
    assert audited["kind"] == "audited"
    assert {finding["status"] for finding in audited["findings"]} == {"PASS"}
    traced = ask(service, {"kind": "trace", "spec_path": str(SPECS / "softmax")})
    assert traced["kind"] == "traced"
    assert traced["spec_sha256"] == audited["spec_sha256"]


def test_what_a_reference_prints_is_no_reply(service: Service, tmp_path: Path) -> None:
    folder = scaffold_spec("op", tmp_path)
    noisy = (folder / "reference.py").read_text().replace("    h = ", '    print("TWF1" * 50, flush=True)\n    h = ')
    (folder / "reference.py").write_text(noisy)
    assert ask(service, {"kind": "audit", "spec_path": str(folder)})["kind"] == "audited"


@pytest.mark.parametrize(
    ("request_", "cause", "message"),
    [
        (b"{", "internal", "the request cannot be read: Invalid JSON"),
        ({"kind": "judge"}, "internal", "the request cannot be read: Field required"),
        ({"kind": "audit", "spec_path": "/no/such/folder"}, "spec", "/no/such/folder: there is no such folder"),
    ],
)
def test_a_request_that_cannot_be_served(service: Service, request_: Any, cause: str, message: str) -> None:
    reply = ask(service, request_)
    assert (reply["kind"], reply["cause"]) == ("error", cause)
    assert reply["message"].startswith(message)


def test_a_reference_that_fails_is_an_error_of_the_spec_with_its_line(service: Service, tmp_path: Path) -> None:
    folder = scaffold_spec("op", tmp_path)
    broken = (folder / "reference.py").read_text().replace("    h = x.float()", "    h = x.float() @ x")
    (folder / "reference.py").write_text(broken)
    reply = ask(service, {"kind": "audit", "spec_path": str(folder)})
    assert reply["cause"] == "spec"
    assert f"{folder}/reference.py:8: " in reply["message"]
    assert "mat1 and mat2" in reply["message"]
    assert reply["fix"]
    assert "\n" not in reply["message"]


def test_bytes_that_are_no_frame_end_the_service_with_a_word() -> None:
    command = [sys.executable, "-I", "-m", "tilewright_sandbox.judge"]
    done = subprocess.run(command, input=b"GET / HTTP/1.1\r\n", capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"something else than a frame" in done.stderr
    assert b"Traceback" not in done.stderr
