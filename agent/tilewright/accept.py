"""Acceptance: a person takes the winner of a run as the spec's kernel. Only evidence measured on a device is enough.

The rules are asked twice: of the verdict in the journal, and of a fresh one, in a fresh box with a fresh secret seed.
"""

from __future__ import annotations

from pathlib import Path

from tilewright_sandbox.contract import Candidate, Config, Measured, MeasuredTime, Rejected
from tilewright_sandbox.spec import SpecError, SpecFolder, load_spec

from .judge import JudgeProcess
from .loop import events as ev
from .loop.folder import BLOBS, CANDIDATES, write_atomically
from .loop.journal import Journal
from .loop.view import RunView, fold
from .verify import verify


def obstacles(view: RunView, run_path: Path) -> tuple[str, ...]:
    """Why the run's winner cannot be accepted, all reasons; empty where it can."""
    if view.best is None or view.best_verdict is None:
        return (f"the run has no verified kernel (status: {view.status})",)
    reasons = list(verdict_obstacles(view.best_verdict, view.run.spec.accept.min_speedup))
    if view.reviews and view.reviews[-1].decision in ("reject", "stop"):
        reasons.append(f"the reviewer's decision was {view.reviews[-1].decision}: {view.reviews[-1].note}")
    reasons += _changes(view, run_path)
    return tuple(reasons)


def verdict_obstacles(verdict: Measured | Rejected, min_speedup: float) -> tuple[str, ...]:
    if isinstance(verdict, Rejected):
        return (f"it was rejected at {verdict.stage}: {verdict.message}",)
    lows = [time.ratio[0] for time in verdict.times if isinstance(time, MeasuredTime)]
    slow = lows and min(lows) < min_speedup
    gain = f"the lower end of the speed-up is {min(lows):.3f}, less than min_speedup {min_speedup}" if slow else ""
    return (*verdict.obstacles, *([gain] if gain else []))


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
    """Re-verify and publish under `accepted/<target>/` of the spec, or refuse with every reason; both are journaled."""
    with Journal(run_path) as journal:
        view = fold(journal.events)
        found = obstacles(view, run_path)
        best, point = view.best, view.best_compared
        if found or best is None or point is None or point.config is None:
            return journal.append(ev.AcceptanceRefused(candidate_id=best.id if best else None, obstacles=found))
        folder = load_spec(Path(view.run.spec_path).resolve())
        with JudgeProcess() as judge:
            verdict = verify(
                folder,
                best.candidate,
                config=point.config,
                box=view.box,
                target=view.run.target,
                judge=judge,
                blobs_path=run_path.resolve() / BLOBS,
            )
        if found := verdict_obstacles(verdict, folder.spec.accept.min_speedup):
            return journal.append(ev.AcceptanceRefused(candidate_id=best.id, obstacles=found))
        assert isinstance(verdict, Measured)
        path = publish(folder, best.candidate, point.config, verdict)
        return journal.append(ev.Accepted(candidate_id=best.id, path=str(path), reason=reason))


def publish(folder: SpecFolder, candidate: Candidate, config: Config, verdict: Measured) -> Path:
    """`accepted/<target>/`: kernel.py, config.json and the verdict that speaks for them."""
    path = folder.path / "accepted" / verdict.target
    path.mkdir(parents=True, exist_ok=True)
    write_atomically(path / "kernel.py", candidate.source.encode())
    write_atomically(path / "config.json", config.model_dump_json(indent=2).encode() + b"\n")
    write_atomically(path / "verdict.json", verdict.model_dump_json(indent=2).encode() + b"\n")
    return path
