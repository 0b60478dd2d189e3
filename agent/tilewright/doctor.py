"""What this machine can do, and the exact fix for what it cannot. Nothing heavy is imported: packages are asked for
their version, boxes are probed, a GPU is looked for with nvidia-smi."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass

from tilewright_sandbox.boxes import probe_all
from tilewright_sandbox.targets import TARGETS

MIN_PYTHON = (3, 11)
DEFAULT_TARGET = "sm_90"
TRITON = "3.6."
NUMPY_BELOW = (2, 4)


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's table."""

    name: str
    ok: bool
    found: str
    enables: str
    fix: str = ""
    required: bool = False
    """`optimize` cannot run without it."""


@dataclass(frozen=True)
class Gpu:
    name: str
    capability: str
    """As nvidia-smi says it: `9.0`."""

    @property
    def target(self) -> str:
        return f"sm_{self.capability.replace('.', '')}"


def find_gpu() -> Gpu | None:
    """The first GPU that nvidia-smi names; None without one."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    name, _, capability = answer.strip().split("\n")[0].rpartition(",")
    return Gpu(name.strip(), capability.strip()) if name else None


def resolve_target(word: str) -> str:
    """`auto` is this machine's GPU where there is a card for it, and sm_90 otherwise. ValueError names those known."""
    if word in TARGETS:
        return word
    if word != "auto":
        raise ValueError(f"--target {word} is not known; there are auto, {', '.join(TARGETS)}")
    gpu = find_gpu()
    return gpu.target if gpu and gpu.target in TARGETS else DEFAULT_TARGET


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _python() -> Finding:
    ok = sys.version_info >= MIN_PYTHON and sys.platform == "linux"
    found = f"{platform.python_version()} on {platform.system()}"
    return Finding("python", ok, found, "everything", "use Python 3.11 or newer on Linux", required=True)


def _torch() -> Finding:
    version = version_of("torch")
    fix = "pip install 'tilewright[torch]' (with the index of the CPU build where there is no GPU)"
    return Finding("torch", version is not None, version or "not installed", "builder and judge", fix, required=True)


def _triton() -> Finding:
    version = version_of("triton")
    ok = version is not None and version.startswith(TRITON)
    fix = f"pip install 'triton>={TRITON}0,<3.7': capture is written against that launcher"
    return Finding("triton", ok, version or "not installed", "compiling for a target without a GPU", fix, required=True)


def _numpy() -> Finding:
    version = version_of("numpy")
    ok = version is not None and tuple(int(part) for part in version.split(".")[:2]) < NUMPY_BELOW
    fix = "pip install 'numpy<2.4': Triton 3.6's interpreter breaks on range() with run-time bounds from 2.4 on"
    return Finding("numpy", ok, version or "not installed", "Triton's interpreter", fix, required=True)


def _agent() -> list[Finding]:
    enables = {"langgraph": "the loop", "langgraph-checkpoint-sqlite": "resume", "optuna": "tuning"}
    found = {package: version_of(package) for package in enables}
    return [
        Finding(
            package, found[package] is not None, found[package] or "not installed", what, "pip install tilewright", True
        )
        for package, what in enables.items()
    ]


def _boxes() -> list[Finding]:
    enables = {
        "docker": "candidates of anyone",
        "bubblewrap": "candidates of anyone: a model, a person, a file",
        "process": "built-in candidates; others only with --sandbox process, marked unsafe",
    }
    return [
        Finding(
            f"box {report.name}",
            report.usable,
            report.version or ("usable" if report.usable else report.reason),
            enables[report.name],
            report.fix,
        )
        for report in probe_all()
    ]


def _gpu() -> Finding:
    gpu = find_gpu()
    fix = "nothing to mend: kernels run under Triton's interpreter, times are modelled, nothing can be accepted"
    return Finding("GPU", gpu is not None, gpu.name if gpu else "none", "measured times", "" if gpu else fix)


def examine() -> list[Finding]:
    """Every finding, in the order of the table."""
    return [_python(), _torch(), _triton(), _numpy(), *_agent(), *_boxes(), _gpu()]


def can_optimize(findings: list[Finding]) -> bool:
    boxes = [finding for finding in findings if finding.name.startswith("box ")]
    return all(f.ok for f in findings if f.required) and any(box.ok for box in boxes)
