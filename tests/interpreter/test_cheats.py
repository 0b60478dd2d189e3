"""The corpus of cheats: each file of tests/cheats is stopped, and at the stage that its second line names.

    # cheat B4 on softmax: returns last call's output for the same shape
    # rejected at capture                       or several, where they are equally right: policy|capture
    # needs a device: why                       only where no CPU can show it: then nothing may be acceptable here

Specs that a cheat needs and that do not ship lie in tests/cheats/specs. Cheats that no file can express are listed in
tests/cheats/impossible.toml, and shown to be impossible by test_cheats_impossible.py.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright.verify import default_config, verify
from tilewright_sandbox.boxes import Session, choose, probe_all
from tilewright_sandbox.builder.policy import check_source
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import STAGES, Candidate, Measured, Rejected, Spec
from tilewright_sandbox.jobs import AuditReport, AuditRequest, Judged, JudgeRequest
from tilewright_sandbox.spec import load_spec

CHEATS = Path(__file__).parents[1] / "cheats"
SPECS = Path(__file__).parents[2] / "specs"
HEADER = re.compile(
    r"# cheat ([A-M])(\d+) on ([a-z][a-z0-9_]*): (\S.*)\n"
    r"# rejected at ([a-z]+(?:\|[a-z]+)*)\n"
    r"(?:# needs a device: (\S.*)\n)?"
)
FAMILIES = {
    "A": "timing", "B": "stale memory, no-ops", "C": "input- and shape-dependent", "D": "reference and fall-back",
    "E": "reading the grader", "F": "precision", "G": "partial work", "H": "constants and seeds",
    "I": "objects in place of tensors", "J": "inputs changed", "K": "autotuning", "L": "processes, devices",
    "M": "out of bounds, races",
}  # fmt: skip
ALWAYS_SEVERAL = ("A1", "A4", "A10", "B1", "B3", "B4", "B9", "C9", "D1", *(f"E{n}" for n in range(1, 9)), "F1", "J1")
JUDGED_FROM_OUTPUTS = frozenset({"launch", "memory", "determinism", "budget", "lattice", "transforms", "shapes"})
BOX = "bubblewrap" if any(report.name == "bubblewrap" and report.usable for report in probe_all()) else "process"
HANG_S = 3.0
"""Build limit for cheats that never end (L5)."""


@dataclass(frozen=True)
class Cheat:
    path: Path
    family: str
    number: int
    spec: str
    what: str
    stages: tuple[str, ...]
    needs_device: str

    @property
    def kind(self) -> str:
        return f"{self.family}{self.number}"

    @property
    def spec_path(self) -> Path:
        own = CHEATS / "specs" / self.spec
        return own if own.exists() else SPECS / self.spec


def read_cheat(path: Path) -> Cheat:
    match = HEADER.match(path.read_text())
    assert match, f"{path}: the first lines must be `# cheat B4 on SPEC: what` and `# rejected at STAGE`"
    family, number, spec, what, stages, needs_device = match.groups()
    return Cheat(path, family, int(number), spec, what, tuple(stages.split("|")), needs_device or "")


CORPUS = [read_cheat(path) for path in sorted(CHEATS.glob("*.py"))]
STOPPED_HERE = [cheat for cheat in CORPUS if not cheat.needs_device]
NEED_A_DEVICE = [cheat for cheat in CORPUS if cheat.needs_device]


def by_name(cheat: Cheat) -> str:
    return cheat.path.stem


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeProcess]:
    with JudgeProcess() as process:
        process.start()
        yield process


@pytest.fixture(scope="module")
def builders() -> Iterator[Callable[[], Session]]:
    """A build worker for one candidate, while the next one's already imports torch."""
    box = choose(BOX, trusted=False)
    waiting, used = [box.start("build")], list[Session]()

    def take() -> Session:
        waiting.append(box.start("build"))
        used.append(waiting.pop(0))
        for session in used[:-1]:
            session.close()
        return used[-1]

    yield take
    for session in (*waiting, *used):
        session.close()


def verdict_on(
    cheat: Cheat, judge: JudgeProcess, builders: Callable[[], Session], blobs_path: Path, *, full: bool
) -> Rejected | Measured:
    """As `tilewright verify`, with a fixed seed. Source and static policy are asked first, as the builder does, so that
    no worker is started for them."""
    folder = load_spec(cheat.spec_path)
    source = cheat.path.read_text()
    candidate = parse_candidate(source, proposer="person", spec=folder.spec)
    if isinstance(candidate, Rejected):
        return candidate
    if (refused := check_source(source)) is not None:
        return refused
    seed = hashlib.sha256(cheat.path.stem.encode()).hexdigest()[:32]
    if full and set(cheat.stages) <= JUDGED_FROM_OUTPUTS:
        return judged_alone(cheat, candidate, folder.spec, judge, blobs_path, seed)
    builder = builders()
    return verify(
        folder, candidate, box=BOX, target="sm_90", judge=judge, blobs_path=blobs_path,
        seed=seed, depth="full" if full else "screen", builder=builder,
    )  # fmt: skip


def judged_alone(
    cheat: Cheat, candidate: Candidate, spec: Spec, judge: JudgeProcess, blobs_path: Path, seed: str
) -> Rejected | Measured:
    """The verdict without Plans: what its outputs show does not hang on them, and compiling takes most of the time."""
    config = default_config(spec, candidate)
    assert config is not None
    request = JudgeRequest(
        spec_path=str(cheat.spec_path), source=candidate.source, proposer=candidate.proposer, config=config, plans=(),
        blobs_path=str(blobs_path), target="sm_90", box=BOX, seed=seed,
    )  # fmt: skip
    return judge.ask(request, Judged).verdict


@pytest.mark.parametrize("cheat", STOPPED_HERE, ids=by_name)
def test_a_cheat_is_stopped_at_its_stage(
    cheat: Cheat,
    judge: JudgeProcess,
    builders: Callable[[], Session],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if cheat.kind == "L5":
        monkeypatch.setattr("tilewright.verify.COMPILE_TIMEOUT_S", HANG_S)
    verdict = verdict_on(cheat, judge, builders, tmp_path, full=True)
    assert isinstance(verdict, Rejected), f"measured, but: {cheat.what}"
    assert verdict.stage in cheat.stages, f"rejected at {verdict.stage}/{verdict.code}: {verdict.message}"
    assert verdict.message


@pytest.mark.parametrize("cheat", NEED_A_DEVICE, ids=by_name)
def test_a_cheat_that_only_a_device_shows_is_never_acceptable_without_one(
    cheat: Cheat, judge: JudgeProcess, builders: Callable[[], Session], tmp_path: Path
) -> None:
    verdict = verdict_on(cheat, judge, builders, tmp_path, full=False)
    assert isinstance(verdict, Rejected) or verdict.obstacles


@pytest.mark.parametrize("cheat", CORPUS, ids=by_name)
def test_a_cheat_says_what_it_is(cheat: Cheat) -> None:
    assert cheat.path.stem.startswith(f"{cheat.kind}_")
    assert set(cheat.stages) <= set(STAGES)
    assert (cheat.spec_path / "spec.toml").exists()
    if "source" not in cheat.stages:
        parsed = parse_candidate(cheat.path.read_text(), proposer="person", spec=load_spec(cheat.spec_path).spec)
        assert isinstance(parsed, Candidate), parsed


def test_the_corpus_covers_every_family_and_spec() -> None:
    kinds = Counter(cheat.kind for cheat in CORPUS)
    assert len(CORPUS) >= 75
    assert {cheat.family for cheat in CORPUS} == set(FAMILIES)
    assert not [kind for kind in ALWAYS_SEVERAL if kinds[kind] < 2]
    assert {cheat.spec for cheat in CORPUS} >= {path.parent.name for path in SPECS.glob("*/spec.toml")}
    assert len({cheat.path.read_text().split("\n", 2)[2] for cheat in CORPUS}) == len(CORPUS), "two cheats are one"


def test_few_cheats_need_a_device() -> None:
    assert len(NEED_A_DEVICE) <= len(CORPUS) / 6


def test_what_a_file_cannot_express_is_listed_with_a_test() -> None:
    entries = tomllib.loads((CHEATS / "impossible.toml").read_text())["impossible"]
    tests = (Path(__file__).parent / "test_cheats_impossible.py").read_text()
    for entry in entries:
        assert set(entry) == {"family", "what", "why", "test"}
        assert re.fullmatch(r"[A-M]\d+", entry["family"])
        assert f"def {entry['test']}(" in tests, entry


@pytest.mark.parametrize("path", sorted((CHEATS / "specs").iterdir()), ids=lambda path: path.name)
def test_a_spec_beside_the_cheats_is_sound(path: Path, judge: JudgeProcess) -> None:
    report = judge.ask(AuditRequest(spec_path=str(path)), AuditReport)
    assert report.sound, report.findings


def test_table_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the table that `pytest -s` shows: families down, the stages that stop them across."""
    with capsys.disabled():
        print("\n" + table(CORPUS))
    assert sum(int(n) for n in re.findall(r"\d+$", table(CORPUS), re.MULTILINE)) == 2 * len(CORPUS)


def table(corpus: list[Cheat]) -> str:
    counts = Counter((cheat.family, "device" if cheat.needs_device else cheat.stages[0]) for cheat in corpus)
    columns = [stage for stage in (*STAGES, "device") if any(counts[family, stage] for family in FAMILIES)]
    rows = [("family", *columns, "all")]
    for family, name in FAMILIES.items():
        own = [counts[family, stage] for stage in columns]
        rows.append((f"{family} {name}", *(str(n or "·") for n in own), str(sum(own))))
    totals = [sum(counts[family, stage] for family in FAMILIES) for stage in columns]
    rows.append(("all", *map(str, totals), str(sum(totals))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(" ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def pad(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1].isdecimal() or cell == "·" else cell.ljust(width)
