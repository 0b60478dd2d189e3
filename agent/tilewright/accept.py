"""Acceptance: a person takes the winner of a run as the spec's kernel. Only evidence measured on a device is enough.

The rules are asked twice: of the verdict in the journal, and of a fresh one, by a fresh judge of the run's kind, in a
fresh box, with fresh secret seeds.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from tilewright_sandbox.contract import Candidate, Config, Measured, Rejected
from tilewright_sandbox.jobs import Judged, JudgeRequest
from tilewright_sandbox.spec import SpecError, SpecFolder, load_spec

from . import certificate as cert
from .judge import Judge, open_judge
from .loop import events as ev
from .loop.folder import BLOBS, CANDIDATES
from .loop.journal import Journal
from .loop.measured import measured_times, speedup, verdict_obstacles
from .loop.on_device import shape_seed
from .loop.view import RunView, fold
from .verify import prepare


def obstacles(view: RunView, run_path: Path) -> tuple[str, ...]:
    """Why the run's winner cannot be accepted, all reasons; empty where it can."""
    if view.best is None or view.best_verdict is None:
        return (f"the run has no verified kernel (status: {view.status})",)
    reasons = list(verdict_obstacles(view.best_verdict, view.run.spec))
    last = view.reviews[-1] if view.reviews else None
    if last and last.candidate_id == view.best.id and last.decision in ("reject", "stop"):
        reasons.append(f"the reviewer's decision was {last.decision}: {last.note}")
    reasons += _changes(view, run_path)
    return tuple(reasons)


def _changes(view: RunView, run_path: Path) -> list[str]:
    """What is no longer as it was when the verdict was given."""
    assert view.best is not None
    changed = []
    try:
        if load_spec(Path(view.run.spec_path)).spec.sha256 != view.run.spec.sha256:
            changed.append(f"the spec at {view.run.spec_path} has changed since the run")
    except SpecError as error:
        changed.append(f"the spec cannot be read: {error}")
    stored = run_path / CANDIDATES / f"{view.best.id}.py"
    if not stored.is_file() or stored.read_text() != view.best.candidate.source:
        changed.append(f"{stored.name} is not the source that was verified")
    return changed


def accept(run_path: Path, *, reason: str = "") -> ev.Accepted | ev.AcceptanceRefused:
    """Re-verify and publish under `accepted/<target>/` of the spec, or refuse with every reason; both are journaled.

    SandboxUnavailable where the judge gives no verdict: nothing is decided then, and a verdict that comes late is found
    when it is asked again.
    """
    with Journal(run_path) as journal:
        view = fold(journal.events)
        found = obstacles(view, run_path)
        best, point = view.best, view.best_compared
        if found or best is None or point is None or point.config is None:
            return journal.append(ev.AcceptanceRefused(candidate_id=best.id if best else None, obstacles=found))
        folder = load_spec(Path(view.run.spec_path).resolve())
        with open_judge(view.judge) as judge:
            request, reply = _verify_again(journal, view, folder, best.candidate, point.config, judge)
        verdict = request if isinstance(request, Rejected) else reply.verdict if reply else None
        assert verdict is not None
        if found := verdict_obstacles(verdict, folder.spec):
            return journal.append(ev.AcceptanceRefused(candidate_id=best.id, obstacles=found))
        assert isinstance(verdict, Measured)
        assert isinstance(request, JudgeRequest)
        assert reply is not None
        certificate = certify(view, folder, best.candidate, request, verdict, reply, reason)
        path = cert.publish(folder, best.candidate, point.config, certificate)
        return journal.append(ev.Accepted(candidate_id=best.id, path=str(path), reason=reason))


def _verify_again(
    journal: Journal, view: RunView, folder: SpecFolder, candidate: Candidate, config: Config, judge: Judge
) -> tuple[JudgeRequest | Rejected, Judged | None]:
    """Build anew and judge in full, timed; what was built and what the judge said of it."""
    seed = shape_seed(view, candidate.id, "accept", config)
    if seed is None:
        seed = secrets.token_hex(16)
        journal.append(ev.Asked(candidate_id=candidate.id, config=config, depth="accept", shape_seed=seed))
    request = prepare(
        folder, candidate, config=config, box=view.box, target=view.run.target,
        blobs_path=journal.run_path.resolve() / BLOBS, on=judge.on, timed=judge.on == "device", shape_seed=seed,
    )  # fmt: skip
    if isinstance(request, Rejected):
        return request, None
    reply = judge.ask(request, Judged)
    return request, reply.model_copy(update={"verdict": reply.verdict.model_copy(update={"box": request.box})})


def certify(
    view: RunView, folder: SpecFolder, candidate: Candidate, request: JudgeRequest, verdict: Measured, reply: Judged,
    reason: str,
) -> cert.Certificate:  # fmt: skip
    """The certificate of a verdict that has no obstacle."""
    gain = speedup(measured_times(verdict))
    assert gain is not None
    assert verdict.device_uuid is not None
    kernel = cert.place(folder, verdict.target) / cert.KERNEL
    return cert.Certificate(
        spec=folder.spec.name,
        spec_sha256=folder.spec.sha256,
        reference_sha256=folder.spec.reference_sha256,
        kernel_sha256=cert.sha256(candidate.source.encode()),
        config_sha256=cert.sha256(cert.config_bytes(request.config)),
        device=verdict.evidence.removeprefix("device: "),
        device_uuid=verdict.device_uuid,
        target=verdict.target,
        speedup=gain,
        verdict=verdict,
        timing=reply.timing,
        plans=cert.hashes_of(request.plans),
        versions={**view.run.versions, **(request.plans[0].versions if request.plans else {})},
        run=view.run.id,
        reason=reason,
        command=cert.repeat_command(cert.shown(folder.path), Path(cert.shown(kernel)), request.config, verdict.target),
    )
