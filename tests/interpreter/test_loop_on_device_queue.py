"""The whole loop where candidates are judged on a device behind a queue. A scripted process stands in for that machine.

Proposals, builds, tuning, journal and queue are real; only what the device would say is made up, in
`stand_in_for_a_gpu.py`.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tilewright.certificate import Certificate
from tilewright.cli.app import run
from tilewright.judge import local_target
from tilewright.loop import events as ev
from tilewright.loop.folder import CHECKPOINT, list_runs
from tilewright.loop.journal import FILE, read_journal
from tilewright.loop.view import RunView, fold
from tilewright_sandbox.contract import Measured, Rejected
from tilewright_sandbox.job_files import read_job, waiting
from tilewright_sandbox.jobs import JudgeRequest, RaceRequest

STAND_IN = Path(__file__).parent / "stand_in_for_a_gpu.py"
TOML = """
schema = 1
name = "relu_pair"
summary = "max(x + y, 0)"
op = "relu_pair"
[axes]
rows = { choices = [64, 256, 512] }
cols = { choices = [64, 512, 1024] }
[inputs]
x = { shape = ["rows", "cols"], dtype = "float32" }
y = { shape = ["cols"], dtype = "float32" }
[outputs]
z = { shape = ["rows", "cols"], dtype = "float32" }
[[workloads]]
role = "tune"
axes = { rows = 256, cols = 512 }
[[workloads]]
role = "bench"
axes = { rows = 512, cols = 1024 }
"""
REFERENCE = """from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x + y)
"""


@contextlib.contextmanager
def gpu_machine(jobs: Path, **script: Any) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, str(STAND_IN), str(jobs), json.dumps(script)])
    try:
        yield
        assert process.poll() is None, "the stand-in died"
    finally:
        process.kill()
        process.wait()


def answer_once(jobs: Path, **script: Any) -> None:
    """What waits is answered, and the machine is gone again."""
    subprocess.run([sys.executable, str(STAND_IN), str(jobs), json.dumps(script), "--once"], check=True)


@dataclass
class Place:
    """A spec, a folder of runs, a queue."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "relu_pair"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def run(self) -> Path:
        (path,) = list_runs(self.runs)
        return path

    @property
    def view(self) -> RunView:
        return fold(read_journal(self.run))

    @property
    def accepted(self) -> Path:
        return self.spec / "accepted" / "sm_90"

    def __call__(self, *arguments: str, wait_s: float = 60) -> tuple[int, dict[str, Any]]:
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.setenv("TILEWRIGHT_RUNS", str(self.runs))
            patch.setenv("TILEWRIGHT_QUEUE_SECONDS", str(wait_s))
            code = run([*arguments, "--json"])
        assert out.getvalue().count("\n") == 1, (out.getvalue(), err.getvalue())
        assert "Traceback" not in err.getvalue()
        return code, json.loads(out.getvalue())

    def optimize(self, *more: str, wait_s: float = 60) -> tuple[int, dict[str, Any]]:
        command = ["optimize", str(self.spec), "--judge", f"queue:{self.jobs}", "--rounds", "1", "--trials", "3"]
        return self(*command, *more, wait_s=wait_s)

    def page(self, *arguments: str) -> str:
        out = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
            patch.setenv("TILEWRIGHT_RUNS", str(self.runs))
            assert run(list(arguments)) == 0
        return out.getvalue()


def new_place(root: Path) -> Place:
    place = Place(root)
    place.spec.mkdir()
    (place.spec / "spec.toml").write_text(TOML)
    (place.spec / "reference.py").write_text(REFERENCE)
    return place


def copy_of(place: Place, root: Path) -> Place:
    """Spec, runs and queue, with the paths that the journal holds."""
    shutil.copytree(place.root, root, dirs_exist_ok=True)
    copy = Place(root)
    journal = copy.run / FILE
    journal.write_text(journal.read_text().replace(str(place.root), str(root)))
    return copy


def kinds(place: Place) -> Counter[str]:
    return Counter(event.kind for event in read_journal(place.run))


@pytest.fixture(scope="module")
def without_machine(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A run whose first job nobody took."""
    place = new_place(tmp_path_factory.mktemp("queue"))
    code, answer = place.optimize(wait_s=0.5)
    assert (code, answer["error"]["kind"]) == (3, "machine"), answer
    assert "no verdict on job" in answer["error"]["message"]
    assert "tilewright judge --watch" in answer["error"]["fix"]
    return place


@pytest.fixture(scope="module")
def verified(without_machine: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The same run; its verdict came late, and then a machine was there. It waits for its review."""
    place = copy_of(without_machine, tmp_path_factory.mktemp("verified"))
    (late,) = waiting(place.jobs)
    answer_once(place.jobs)
    with gpu_machine(place.jobs, cut=1):
        code, answer = place("resume", "latest")
    assert (code, answer["status"], answer["awaits_review"]) == (0, "verified", True), answer
    assert (place.jobs / f"{late}.verdict.json").is_file()
    return place


def requests(place: Place) -> list[JudgeRequest | RaceRequest]:
    names = [path.name.removesuffix(".job.json") for path in place.jobs.glob("*.job.json")]
    return [read_job(place.jobs, name) for name in names]


def test_without_a_machine_the_run_stops_and_can_be_resumed(without_machine: Place) -> None:
    view = without_machine.view
    assert view.status == "stopped"
    assert view.judge == f"queue:{without_machine.jobs}"
    assert len(waiting(without_machine.jobs)) == 1
    assert view.gpu_s > 0, "what was reserved counts until a verdict says what it cost"


def test_a_late_verdict_is_found_and_not_asked_for_again(verified: Place) -> None:
    screens = [r for r in requests(verified) if isinstance(r, JudgeRequest) and r.depth == "screen"]
    assert len(screens) == len({r.source for r in screens}), "one screen a candidate"
    assert all(r.on == "device" and not r.timed for r in screens)
    asked = [e for e in read_journal(verified.run) if isinstance(e, ev.Asked) and e.depth == "screen"]
    assert len(asked) == len(screens)


def test_the_fastest_of_the_race_is_timed_and_wins(verified: Place) -> None:
    view = verified.view
    assert view.best is not None
    assert view.best_compared is not None
    assert view.best_verdict is not None
    raced = {c.id: c.raced_points[0] for c in view.candidates.values() if c.raced_points}
    assert len(raced) >= 2, "every template that passed the screen was raced"
    winner = min(raced, key=lambda id_: raced[id_].value_us or 1e9)
    assert view.best.id == winner
    assert view.best_compared.config == raced[winner].config == view.best_verdict.config
    assert view.measured_us == pytest.approx(raced[winner].value_us)
    assert view.speedup == pytest.approx((1.2, 1.3, 1.4))
    assert view.best_compared.modelled_us == view.best.modelled_us(raced[winner].config)
    full = [r for r in requests(verified) if isinstance(r, JudgeRequest) and r.depth == "full"]
    assert [r.timed for r in full] == [True]
    timing = verified.run / "timing" / f"{winner}-{raced[winner].config.id}.json"
    assert json.loads(timing.read_text())[0]["workload"]["role"] == "bench"


def test_a_fault_costs_its_config_alone(verified: Place) -> None:
    """`cut=1`: the second plan of the first race faulted and ended it; the rest was raced again without it."""
    points = [p for c in verified.view.candidates.values() if c.raced for p in c.raced.points]
    assert [p.code for p in points if p.value_us is None] == ["illegal_address"]
    assert sum(isinstance(r, RaceRequest) for r in requests(verified)) == 1 + sum(
        c.raced is not None for c in verified.view.candidates.values()
    )
    races = [r for r in requests(verified) if isinstance(r, RaceRequest)]
    assert all(plan.workload.role == "bench" for r in races for plan in r.plans)


def test_a_run_killed_before_a_race_builds_the_same_plans_again(verified: Place, tmp_path: Path) -> None:
    """The journal ends at the first tuned candidate. Its races are in the queue, under the names of these requests."""
    place = copy_of(verified, tmp_path)
    lines = (place.run / FILE).read_text().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if '"kind":"tuned"' in line) + 1
    (place.run / FILE).write_text("".join(lines[:cut]))
    (place.run / CHECKPOINT).unlink()
    with gpu_machine(place.jobs):
        code, answer = place("resume", "latest")
    assert (code, answer["status"]) == (0, "verified"), answer
    races = [r for r in requests(place) if isinstance(r, RaceRequest)]
    assert len(races) == sum(isinstance(r, RaceRequest) for r in requests(verified))
    found, before = place.view.best_compared, verified.view.best_compared
    assert found is not None
    assert before is not None
    assert (found.candidate_id, found.config, found.message) == (before.candidate_id, before.config, before.message)


def test_gpu_seconds_are_reserved_and_settled(verified: Place) -> None:
    events = read_journal(verified.run)
    reserved = [e.token for e in events if isinstance(e, ev.Reserved)]
    settled = [e.token for e in events if isinstance(e, ev.Settled)]
    assert sorted(reserved) == sorted(settled), "the job that was asked for twice was reserved once"
    assert verified.view.gpu_s == pytest.approx(0.25 * len(requests(verified)))


def test_spent_gpu_seconds_end_the_search_with_their_name(without_machine: Place, tmp_path: Path) -> None:
    place = copy_of(without_machine, tmp_path)
    code, answer = place("resume", "latest", "--budget-gpu-seconds", "1", wait_s=0.5)
    assert (code, answer["status"]) == (1, "exhausted")
    assert "--budget-gpu-seconds spent" in answer["reason"]
    assert len(requests(place)) == 1


def test_pages_show_what_was_measured(verified: Place) -> None:
    for page in (verified.page("runs"), verified.page("review", "latest", "--show")):
        assert "measured" in page
    review = verified.page("review", "latest", "--show")
    for phrase in ("1.30× [1.20, 1.40]", "compile", "50% of the roofline", "noise"):
        assert phrase in review, review
    report = Path(verified("report", "latest")[1]["report"]).read_text()
    for phrase in ("measured speed-up", "1.30× faster", "against compile", "Race on the device, measured", "noise"):
        assert phrase in report, phrase
    assert "nothing was timed" not in report


def test_accept_publishes_kernel_config_and_certificate(verified: Place, tmp_path: Path) -> None:
    """At first nobody takes the job, and nothing is decided; the verdict that came since is found afterwards."""
    place = copy_of(verified, tmp_path)
    before = len(requests(place))
    assert place("accept", "latest", wait_s=0.5)[0] == 3
    assert kinds(place)["accepted"] + kinds(place)["acceptance_refused"] == 0
    answer_once(place.jobs, ratio=(1.11, 1.15, 1.2))
    code, answer = place("accept", "latest", "--reason", "worth it", wait_s=0.5)
    assert (code, answer["accepted"]) == (0, True), answer
    assert len(requests(place)) == before + 1
    certificate = Certificate.model_validate_json((place.accepted / "certificate.json").read_bytes())
    view = place.view
    assert view.status == "accepted"
    assert view.best is not None
    assert view.best_verdict is not None
    assert (place.accepted / "kernel.py").read_text() == view.best.candidate.source
    assert json.loads((place.accepted / "config.json").read_text()) == view.best_verdict.config.root
    assert certificate.speedup == pytest.approx((1.11, 1.15, 1.2)), "that of the second measurement"
    assert certificate.verdict.seed != view.best_verdict.seed
    assert certificate.spec_sha256 == view.run.spec.sha256
    assert certificate.device_uuid == "GPU-stand-in"
    assert certificate.timing
    assert {plan.plan_sha256 for plan in certificate.plans} == set(certificate.verdict.plans)
    assert all(plan.cubins_sha256 for plan in certificate.plans)
    assert {"torch", "triton"} <= certificate.versions.keys()
    assert certificate.command.startswith("tilewright verify ")
    assert "--judge device" in certificate.command


def test_accept_is_refused_where_the_second_measurement_is_no_win(verified: Place, tmp_path: Path) -> None:
    place = copy_of(verified, tmp_path)
    with gpu_machine(place.jobs, ratio=(1.01, 1.1, 1.2)):
        code, answer = place("accept", "latest")
    assert (code, answer["accepted"]) == (1, False)
    (obstacle,) = answer["obstacles"]
    assert obstacle.startswith("the lower end of the speed-up is 1.010, less than min_speedup 1.05")
    assert not place.accepted.exists()
    assert kinds(place)["acceptance_refused"] == 1


def test_rejected_finalist_gives_way_and_a_measured_loss_is_no_win(without_machine: Place, tmp_path: Path) -> None:
    """The fastest of the race fails its full verdict; the next is right, and no faster than what there is."""
    place = copy_of(without_machine, tmp_path)
    with gpu_machine(place.jobs, reject=1, ratio=(0.98, 1.02, 1.04), roofline=0.995):
        code, answer = place("resume", "latest")
    assert (code, answer["status"], answer["awaits_review"]) == (0, "no_win", True), answer
    view = place.view
    full = [e for e in read_journal(place.run) if isinstance(e, ev.JudgedEvent) and e.depth == "full"]
    assert [type(e.verdict) for e in full] == [Rejected, Measured]
    order = sorted(c.raced_points[0].value_us or 0.0 for c in view.candidates.values() if c.raced_points)
    assert [view.candidates[e.candidate_id].raced_points[0].value_us for e in full] == order[:2]
    assert view.best is not None
    assert view.best.id == full[1].candidate_id
    assert answer["speedup"] == pytest.approx([0.98, 1.02, 1.04])
    assert "measured at 1.01× of the roofline" in answer["reason"]
    refused = place("accept", "latest")
    assert refused[0] == 1
    assert any("min_speedup" in obstacle for obstacle in refused[1]["obstacles"])
    _rejected_run_is_taken_up(place)


def _rejected_run_is_taken_up(place: Place) -> None:
    """The reason of a rejection reaches the next round, once new budgets let there be one."""
    code, answer = place("reject", "latest", "--reason", "needs one launch")
    assert (code, answer["status"]) == (0, "no_win")
    before = kinds(place)
    assert place("resume", "latest")[0] == 0
    assert kinds(place) == before
    assert place.view.can_reopen
    with gpu_machine(place.jobs):
        code, answer = place("resume", "latest", "--rounds", "1")
    view = place.view
    assert [p.round for p in view.proposals] == [1, 2]
    assert view.note == "needs one launch"
    assert (code, answer["status"], view.best) == (1, "exhausted", None), answer


@pytest.mark.skipif(local_target() is not None, reason="this machine has a device")
def test_a_device_that_is_not_there_is_trouble_of_the_machine(verified: Place, tmp_path: Path) -> None:
    """A run of another machine's device can be read and ended here; searching on and accepting need that device."""
    place = copy_of(verified, tmp_path)
    code, answer = place("optimize", str(place.spec), "--judge", "device")
    assert (code, answer["error"]["kind"]) == (3, "machine")
    assert "--judge queue:FOLDER" in answer["error"]["fix"]
    journal = place.run / FILE
    journal.write_text(journal.read_text().replace(f"queue:{place.jobs}", "device"))
    assert place("accept", "latest")[0] == 3
    assert place("review", "latest", "--send-back", "shorter")[0] == 3
    code, answer = place("review", "latest", "--approve")
    assert (code, answer["status"], answer["awaits_review"]) == (0, "verified", False)


@pytest.mark.parametrize("name", ["gpu", "queue:", ""])
def test_unknown_judges_are_errors_with_a_mend(name: str, tmp_path: Path) -> None:
    place = new_place(tmp_path)
    code, answer = place("optimize", str(place.spec), "--judge", name)
    assert (code, answer["error"]["kind"]) == (2, "error")
    assert "queue:FOLDER" in answer["error"]["fix"]
    assert not place.runs.exists()
