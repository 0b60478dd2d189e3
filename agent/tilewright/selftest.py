"""The verifier verified: every known cheat and mutant must be rejected, every honest kernel accepted; two rates.

The corpora are files. A cheat's header names the stages that may stop it, a mutant is an edit of a right solution:

    # cheat B4 on softmax: returns last call's output for the same shape       tests/cheats/*.py
    # rejected at capture|policy
    # honest on softmax: online softmax that rescales its running sum          tests/honest/*.py
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Measured, Record, Rejected, SandboxUnavailable, candidate_id
from tilewright_sandbox.jobs import JudgeRequest
from tilewright_sandbox.spec import SpecError, SpecFolder, load_spec

from .verify import prepare

_CHEAT = re.compile(
    r"# cheat ([A-M]\d+) on ([a-z][a-z0-9_]*): (\S.*)\n# rejected at ([a-z]+(?:\|[a-z]+)*)\n(# needs a device: )?"
)
_HONEST = re.compile(r"# honest on ([a-z][a-z0-9_]*): (\S.*)\n")
Corpus = Literal["cheat", "honest", "mutant"]


@dataclass(frozen=True)
class Subject:
    """One candidate of known worth."""

    corpus: Corpus
    name: str
    group: str
    """Family and number of a cheat, spec of the others."""
    folder: SpecFolder
    source: str
    stages: tuple[str, ...] = ()
    """Where a cheat must be stopped; empty: anywhere."""

    @property
    def id(self) -> str:
        return f"{self.corpus}/{self.name}"


class Outcome(Record):
    """What became of a subject."""

    id: str
    corpus: Corpus
    group: str
    expected: tuple[str, ...] = ()
    stage: str
    """Of the rejection; `measured`, or `machine` where there is no verdict."""
    code: str = ""
    message: str = ""

    @property
    def right(self) -> bool:
        """Whether the verifier did what it must: stopped a cheat where it should, or let an honest kernel pass."""
        if self.corpus == "honest":
            return self.stage == "measured"
        return self.rejected and (not self.expected or self.stage in self.expected)

    @property
    def rejected(self) -> bool:
        return self.stage not in ("measured", "machine")


def read_corpora(tests: Path, specs: Path) -> list[Subject]:
    """All subjects below a `tests` folder. SpecError or ValueError where a file of the corpora is malformed."""
    return [*_cheats(tests / "cheats", specs), *_honest(tests / "honest", specs), *_mutants(tests / "mutants", specs)]


def _folder(name: str, *places: Path) -> SpecFolder:
    for place in places:
        if (place / name / "spec.toml").exists():
            return load_spec(place / name)
    raise SpecError(f"no spec {name} for the corpora", fix=f"it is looked for in {', '.join(map(str, places))}")


def _cheats(root: Path, specs: Path) -> Iterator[Subject]:
    for path in sorted(root.glob("*.py")):
        source = path.read_text()
        header = _CHEAT.match(source)
        if header is None:
            raise ValueError(
                f"{path}: a cheat begins with two lines, `# cheat B4 on SPEC: what` and `# rejected at STAGE`"
            )
        family, spec, _, stages, _ = header.groups()
        yield Subject(
            "cheat", path.stem, family, _folder(spec, root / "specs", specs), source, tuple(stages.split("|"))
        )


def _honest(root: Path, specs: Path) -> Iterator[Subject]:
    for path in sorted(root.glob("*.py")):
        source = path.read_text()
        header = _HONEST.match(source)
        if header is None:
            raise ValueError(f"{path}: an honest candidate begins with `# honest on SPEC: what`")
        yield Subject("honest", path.stem, header[1], _folder(header[1], root / "specs", specs), source)


def _mutants(root: Path, specs: Path) -> Iterator[Subject]:
    for path in sorted(root.glob("*.toml")):
        folder = load_spec(specs / path.stem)
        for entry in tomllib.loads(path.read_text())["mutant"]:
            right = (folder.path / "solutions/right" / f"{entry['of']}.py").read_text()
            if right.count(entry["old"]) != 1:
                raise ValueError(
                    f"{path}: {entry['name']}: the text to be replaced is not in {entry['of']} exactly once"
                )
            source = right.replace(entry["old"], entry["new"])
            yield Subject("mutant", f"{path.stem}/{entry['name']}", path.stem, folder, source)


def build(
    subject: Subject, target: str, blobs_path: Path, on: Literal["interpreter", "device"], box: str = "auto"
) -> JudgeRequest | Rejected:
    """What a verdict on the subject needs, or its rejection on the way there."""
    parsed = parse_candidate(subject.source, proposer="person", spec=subject.folder.spec)
    if not isinstance(parsed, Candidate):
        return parsed
    return prepare(subject.folder, parsed, target=target, blobs_path=blobs_path, on=on, box=box)


def outcome(subject: Subject, verdict: Rejected | Measured | SandboxUnavailable) -> Outcome:
    stage, code, message = "measured", "", ""
    if isinstance(verdict, SandboxUnavailable):
        stage, message = "machine", str(verdict)
    elif isinstance(verdict, Rejected):
        stage, code, message = verdict.stage, verdict.code, verdict.message
    else:
        blocked = [c.name for c in verdict.checks if c.mandatory and c.status == "NOT_RUN" and c.name != "physics"]
        message = f"not run: {', '.join(blocked)}" if blocked else ""
    return Outcome(
        id=subject.id, corpus=subject.corpus, group=subject.group, expected=subject.stages, stage=stage, code=code,
        message=message,
    )  # fmt: skip


class Rates(Record):
    """Of one corpus."""

    corpus: Corpus
    subjects: int
    right: int
    rejected: int
    wrong: tuple[str, ...]
    """Subjects that were not treated as they must be."""

    @property
    def rate(self) -> float:
        return self.right / self.subjects if self.subjects else 1.0


def rates(outcomes: Sequence[Outcome]) -> list[Rates]:
    found = []
    corpora: tuple[Corpus, ...] = ("cheat", "mutant", "honest")
    for corpus in corpora:
        ours = [one for one in outcomes if one.corpus == corpus]
        wrong = tuple(sorted(one.id for one in ours if not one.right))
        right, rejected = sum(one.right for one in ours), sum(one.rejected for one in ours)
        found.append(Rates(corpus=corpus, subjects=len(ours), right=right, rejected=rejected, wrong=wrong))
    return found


def known_id(subject: Subject) -> str:
    """Changes when the candidate or its spec does."""
    return f"{candidate_id(subject.source)}-{subject.folder.spec.sha256[:12]}"
