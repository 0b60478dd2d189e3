"""`judge`, `selftest` and `bench`: commands of a machine with a GPU, or of one that sends jobs to it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .candidates import JudgeName, Sandbox, TargetName, checked_judge
from .output import MACHINE, OK, REJECTED, CommandError, Json, finish, note
from .search import checked_box, checked_target
from .specs import read_spec

if TYPE_CHECKING:
    from tilewright.selftest import Outcome, Rates, Subject
    from tilewright_sandbox.contract import Candidate, Config, MeasuredTime
    from tilewright_sandbox.spec import SpecFolder

CORPORA = Path("tests")


def judge(
    jobs: Annotated[Path, typer.Argument(metavar="JOBS", help="A folder of *.job.json, as --judge queue:JOBS fills.")],
    watch: Annotated[bool, typer.Option("--watch", help="Go on waiting for jobs until interrupted.")] = False,
    json: Json = False,
) -> None:
    """Judge the jobs in a folder on this machine's GPU; verdicts are written beside them.

    Needs torch, triton, cuda-core and pydantic only: `python -m tilewright_sandbox.batch JOBS` does the same where
    nothing else is installed. Exit 0 when every job has a verdict, 3 where one could not be served.
    """
    from tilewright_sandbox.batch import line, serve_jobs
    from tilewright_sandbox.jobs import JudgeError
    from tilewright_sandbox.judge_process import JudgeProcess

    if not jobs.is_dir():
        raise CommandError(f"{jobs} is no folder", "give the folder that --judge queue:FOLDER names")
    answers = []
    with JudgeProcess(on="device") as process:
        for name, answer in serve_jobs(jobs, process, watch=watch):
            note(line(name, answer))
            answers.append({"job": name, **answer.model_dump(mode="json")})
    failed = sum(answer["kind"] == JudgeError.model_fields["kind"].default for answer in answers)
    payload = {"jobs": len(answers), "failed": failed, "answers": answers}
    finish(payload, lambda: note(f"{len(answers)} jobs, {failed} failed"), as_json=json, code=MACHINE if failed else OK)


def selftest(
    judge: JudgeName = "auto",
    corpora: Annotated[Path, typer.Option(help="Folder with cheats/, honest/ and mutants/.")] = CORPORA,
    only: Annotated[str, typer.Option(help="Part of a subject's name, such as cheat/C9.")] = "",
    sandbox: Sandbox = "auto",
    target: TargetName = "auto",
    json: Json = False,
) -> None:
    """Judge every known cheat, mutant and honest kernel, and print how often the verifier is right.

    Exit 1 where a cheat of the corpus passes or an honest kernel is refused.
    """
    from tilewright.selftest import rates, read_corpora

    if not (corpora / "cheats").is_dir():
        raise CommandError(f"{corpora} holds no corpora", "run it in the repository, or give --corpora")
    subjects = [s for s in read_corpora(corpora, corpora.parent / "specs") if only in s.id]
    if not subjects:
        raise CommandError(f"no subject's name contains {only!r}", "for example --only cheat/B4")
    note(f"{len(subjects)} subjects …")
    begun = time.monotonic()
    outcomes = list(_judged(subjects, judge, checked_box(sandbox), checked_target(target)))
    found = rates(outcomes)
    right = all(rate.right == rate.subjects for rate in found)
    payload = {
        "seconds": time.monotonic() - begun,
        "rates": [rate.model_dump(mode="json") for rate in found],
        "outcomes": [one.model_dump(mode="json") for one in outcomes],
    }
    finish(payload, lambda: _selftest_page(outcomes, found), as_json=json, code=OK if right else REJECTED)


def _judged(subjects: list[Subject], judge: str, box: str, target: str) -> Iterator[Outcome]:
    from tilewright.selftest import build, outcome
    from tilewright_sandbox.contract import Rejected, SandboxUnavailable
    from tilewright_sandbox.jobs import Judged

    with tempfile.TemporaryDirectory(prefix="tilewright-blobs-") as blobs, checked_judge(judge) as opened:
        for subject in subjects:
            try:
                made = build(subject, target, Path(blobs), opened.on, box)
                verdict = made if isinstance(made, Rejected) else opened.ask(made, Judged).verdict
                found = outcome(subject, verdict)
            except SandboxUnavailable as error:
                found = outcome(subject, error)
            note(f"{'✓' if found.right else '✗'} {subject.id}: {found.stage} {found.code}")
            yield found


def _selftest_page(outcomes: list[Outcome], found: list[Rates]) -> None:
    from rich.table import Table

    from .pages import console

    out = console()
    table = Table("", "subjects", "as they must be", "rejected", box=None, pad_edge=False, header_style="dim")
    for rate in found:
        table.add_row(rate.corpus, str(rate.subjects), f"{rate.right} ({rate.rate:.1%})", str(rate.rejected))
    out.print(table)
    for one in outcomes:
        if not one.right:
            out.print(
                f"{one.id}: {one.stage} {one.code}; must be {'|'.join(one.expected) or 'otherwise'}", soft_wrap=True
            )


def bench(
    specs: Annotated[list[str] | None, typer.Argument(metavar="[SPECS]…", help="Names or folders; none: all.")] = None,
    judge: JudgeName = "auto",
    sandbox: Sandbox = "auto",
    target: TargetName = "auto",
    json: Json = False,
) -> None:
    """Side by side: eager, compile, max-autotune, ours, roofline.

    Ours is the accepted kernel, or else the built-in proposer's first. Needs a device, here or behind a queue.
    """
    from tilewright.verify import verify
    from tilewright_sandbox.contract import MeasuredTime

    box, card = checked_box(sandbox), checked_target(target)
    names = specs or sorted(path.parent.name for path in Path("specs").glob("*/spec.toml"))
    rows: list[dict[str, object]] = []
    times: list[tuple[str, MeasuredTime]] = []
    with tempfile.TemporaryDirectory(prefix="tilewright-blobs-") as blobs, checked_judge(judge) as opened:
        if opened.on != "device":
            raise CommandError("bench needs a device", "run it on a GPU machine, or give --judge queue:FOLDER")
        for name in names:
            folder = read_spec(name)
            contender = _contender(folder, card, opened)
            if contender is None:
                note(f"{name}: no accepted kernel, and the built-in proposer offers none")
                continue
            note(f"{name} …")
            verdict = verify(
                folder, contender[0], config=contender[1], box=box, target=card, judge=opened, on="device", timed=True,
                blobs_path=Path(blobs),
            )  # fmt: skip
            rows.append({"spec": name, **verdict.model_dump(mode="json")})
            if verdict.verdict == "rejected":
                note(f"{name}: rejected at {verdict.stage}: {verdict.message}")
            else:
                times += [(name, time_) for time_ in verdict.times if isinstance(time_, MeasuredTime)]
    finish({"target": card, "specs": rows}, lambda: _bench_page(times), as_json=json)


def _contender(folder: SpecFolder, target: str, judge: object) -> tuple[Candidate, Config | None] | None:
    from tilewright.judge import JudgeProcess
    from tilewright.propose import ProposalContext
    from tilewright.propose.templates import TemplateProposer
    from tilewright_sandbox.candidate import parse_candidate
    from tilewright_sandbox.contract import Candidate, Config
    from tilewright_sandbox.graph import OpGraph
    from tilewright_sandbox.jobs import TraceRequest

    accepted = folder.path / "accepted" / target
    if (accepted / "kernel.py").exists():
        parsed = parse_candidate((accepted / "kernel.py").read_text(), proposer="accepted", spec=folder.spec)
        if isinstance(parsed, Candidate):
            return parsed, Config.model_validate_json((accepted / "config.json").read_bytes())
    with JudgeProcess() as here:
        graph = here.ask(TraceRequest(spec_path=str(folder.path)), OpGraph)
    offered = TemplateProposer().propose(ProposalContext(spec=folder.spec, graph=graph, target=target))
    return (offered[0], None) if offered else None


def _bench_page(times: list[tuple[str, MeasuredTime]]) -> None:
    from rich.table import Table

    from .pages import console

    columns = ("spec", "workload", "eager", "compile", "max-autotune", "ours", "roofline", "speed-up", "95 %")
    table = Table(*columns, box=None, pad_edge=False, header_style="dim")
    for name, time_ in times:
        shown = [f"{time_.baselines_us[b]:.1f}" if b in time_.baselines_us else "–" for b in columns[2:5]]
        low, mid, high = time_.ratio
        table.add_row(
            name, time_.workload.label, *shown, f"{time_.median_us:.1f}", f"{time_.roofline_us:.1f}", f"{mid:.3f}",
            f"{low:.3f} – {high:.3f}",
        )  # fmt: skip
    console().print(table)
