"""The certificate of an accepted kernel: the verdict that speaks for it, and what is needed to check that again."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any, Literal

from tilewright_sandbox.contract import Candidate, Config, Measured, Plan, Record, Sha256
from tilewright_sandbox.spec import SpecFolder
from tilewright_sandbox.whole_file import write_whole

KERNEL, CONFIG, CERTIFICATE = "kernel.py", "config.json", "certificate.json"


class PlanHashes(Record):
    """One plan of the verdict, and what it runs."""

    role: str
    workload: str
    dtypes: dict[str, str]
    plan_sha256: Sha256
    cubins_sha256: tuple[Sha256, ...]


class Certificate(Record):
    """Beside `kernel.py` and `config.json` in `accepted/<architecture>/` of a spec."""

    schema_version: Literal[1] = 1
    spec: str
    spec_sha256: Sha256
    """Of the spec as a record, its reference included."""
    reference_sha256: Sha256
    kernel_sha256: Sha256
    config_sha256: Sha256
    device: str
    device_uuid: str
    target: str
    speedup: tuple[float, float, float]
    """Against the strongest baseline of each workload, low, mid and high: weighted geometric means."""
    verdict: Measured
    timing: tuple[dict[str, Any], ...]
    """The raw record of each timed workload: every block, with the card's state."""
    plans: tuple[PlanHashes, ...]
    versions: dict[str, str]
    run: str
    reason: str = ""
    """Of the person who accepted it."""
    command: str
    """Gives the verdict again, with a new secret seed, on a machine with such a device."""


def hashes_of(plans: tuple[Plan, ...]) -> tuple[PlanHashes, ...]:
    return tuple(
        PlanHashes(
            role=plan.workload.role,
            workload=plan.workload.label,
            dtypes=dict(plan.dtypes),
            plan_sha256=plan.sha256,
            cubins_sha256=tuple(kernel.cubin_sha256 for kernel in plan.kernels),
        )
        for plan in plans
    )


def config_bytes(config: Config) -> bytes:
    return config.model_dump_json(indent=2).encode() + b"\n"


def place(folder: SpecFolder, target: str) -> Path:
    return folder.path / "accepted" / target


def repeat_command(spec: str, kernel: Path, config: Config, target: str) -> str:
    words = ["tilewright", "verify", spec, str(kernel), "--target", target, "--judge", "device"]
    for name, value in config.root.items():
        words += ["--config", f"{name}={value}"]
    return shlex.join(words)


def shown(path: Path) -> str:
    """Relative to the working folder where it lies in it: a certificate is read on other machines."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def publish(folder: SpecFolder, candidate: Candidate, config: Config, certificate: Certificate) -> Path:
    """Write kernel, config and certificate; the certificate comes last, so that none speaks for another kernel."""
    path = place(folder, certificate.target)
    path.mkdir(parents=True, exist_ok=True)
    (path / CERTIFICATE).unlink(missing_ok=True)
    write_whole(path / KERNEL, candidate.source.encode())
    write_whole(path / CONFIG, config_bytes(config))
    write_whole(path / CERTIFICATE, certificate.model_dump_json(indent=2).encode() + b"\n")
    return path


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
