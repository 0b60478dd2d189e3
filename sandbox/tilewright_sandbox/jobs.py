"""What travels over a pipe: requests to a box and to the judge, and their replies. JSON and named blobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .contract import Config, Dtype, Measured, Plan, Record, Rejected, Sha256, Spec, Workload

# -------------------------------------------------------------------------------- to the builder, inside a box


Layout = Literal["contiguous", "strided", "offset"]


class BuildJob(Record):
    """One capture: a config on a workload, with the dtypes of the tensor inputs where they differ from the spec's."""

    config: Config
    workload: Workload
    dtypes: dict[str, Dtype] = {}
    layout: Layout = "contiguous"
    """Of every tensor input. strided: every second, third … element; offset: one element into its storage."""
    compile: bool = True


class BuildRequest(Record):
    kind: Literal["build"] = "build"
    source: str
    spec: Spec
    jobs: tuple[BuildJob, ...]
    target: str
    workers: int = 2
    compile_timeout_s: float = 30.0
    """For one capture and its compiles; a job that takes longer is Rejected(compile, timeout)."""


class Built(Record):
    kind: Literal["built"] = "built"
    plan: Plan
    capture_s: float
    compile_s: float


class NotBuilt(Record):
    kind: Literal["not_built"] = "not_built"
    rejected: Rejected


Outcome = Annotated[Built | NotBuilt, Field(discriminator="kind")]


class BuildReply(Record):
    """One outcome a job, in order. Blobs of the frame: cubins and TTIR texts, each named by its SHA-256."""

    kind: Literal["built_all"] = "built_all"
    outcomes: tuple[Outcome, ...]
    wall_s: float


class InterpretRequest(Record):
    """Run one config on real CPU tensors under Triton's interpreter. Blobs: one a tensor input, named as the input.

    A blob is the contiguous, row-major bytes of the input. The worker lays it out by `layout` inside an arena with
    `margin_bytes` on both sides, filled with `poison`; every allocation that `run` makes is poisoned in the same way.
    """

    kind: Literal["interpret"] = "interpret"
    source: str
    spec: Spec
    config: Config
    workload: Workload
    dtypes: dict[str, Dtype]
    layout: Layout = "contiguous"
    poison: Literal["nan", "inf", "large", "zero"] = "nan"
    program_order: Literal["forward", "reversed"] = "forward"
    """Which program of a grid runs first: its first, or its last."""
    margin_bytes: int = 256
    timeout_s: float = 60.0
    target: str = "sm_90"
    """The card whose figures answer the launcher's device queries."""


class Array(Record):
    shape: tuple[int, ...]
    dtype: str
    contiguous: bool


class Interpreted(Record):
    """Blobs: `output:<name>` (contiguous bytes), `input:<name>` (each input's bytes after the run), and
    `margin:<buffer>` (both margins of every arena, concatenated, after the run)."""

    kind: Literal["interpreted"] = "interpreted"
    outputs: tuple[Array, ...]
    aliases: dict[str, str] = {}
    """Outputs that share memory with an input: output name → input name."""
    launches: tuple[str, ...]
    """Kernel names in launch order."""
    aten: tuple[str, ...]
    accesses: int = 0
    """Loads, stores and atomics of all programs: what a run costs, the same on every machine."""
    seconds: float


class InterpretFailed(Record):
    kind: Literal["interpret_failed"] = "interpret_failed"
    rejected: Rejected
    unsupported: str = ""
    """Set where Triton's interpreter lacks the construct: the judge answers NOT_RUN, not FAIL."""


# ------------------------------------------------------------------------------------------------- to the judge


class AuditRequest(Record):
    kind: Literal["audit"] = "audit"
    spec_path: str
    seed: int = 0


class TraceRequest(Record):
    kind: Literal["trace"] = "trace"
    spec_path: str


class JudgeRequest(Record):
    """Judge one config of a candidate: under the interpreter, in `box`, or on the judge's device, from plans alone.

    For a device, `plans` holds one for each entry of `wanted.wanted_plans`, drawn with `shape_seed`.
    """

    kind: Literal["judge"] = "judge"
    spec_path: str
    source: str
    proposer: str
    config: Config
    plans: tuple[Plan, ...]
    blobs_path: str
    """Folder that holds cubins and TTIR by SHA-256, written by the caller."""
    target: str
    box: str
    """The builder's label: `bubblewrap`, `process (unsafe)` …"""
    seed: str | None = None
    """Hexadecimal; None draws a secret one, as every verdict that counts must."""
    depth: Literal["screen", "full"] = "full"
    on: Literal["interpreter", "device"] = "interpreter"
    shape_seed: str = ""
    """Hexadecimal: of the hidden shapes, which are drawn after the candidate was written."""
    timed: bool = False
    """On a device: measure the bench workloads against the spec's baselines."""


class RaceRequest(Record):
    """Run many plans of one workload on the device, one after the other, and time each: a tuner's trials, or finalists.

    Every plan runs on the same secret inputs and its outputs are compared; this is no verdict, only a ranking.
    """

    kind: Literal["race"] = "race"
    spec_path: str
    plans: tuple[Plan, ...]
    blobs_path: str
    target: str
    rounds: int = Field(default=10, ge=1)
    """Timed replays of each plan."""


class Raced(Record):
    """Of one plan."""

    plan_sha256: Sha256
    median_us: float | None
    """None where it failed."""
    worst_c: float | None = None
    stage: str = ""
    """Where it failed, with code and message."""
    code: str = ""
    message: str = ""


class RaceReply(Record):
    kind: Literal["raced"] = "raced"
    entries: tuple[Raced, ...]
    """In the order of the plans. A plan whose fault cost the device ends the race: later ones are left out."""
    seconds: float
    last: bool = False


class AuditFinding(Record):
    name: str
    status: Literal["PASS", "FAIL", "NOT_RUN"]
    message: str
    facts: dict[str, bool | int | float | str] = {}


class AuditReport(Record):
    """Whether a spec is worth searching: refused where any finding is FAIL."""

    kind: Literal["audited"] = "audited"
    spec_sha256: Sha256
    findings: tuple[AuditFinding, ...]
    seconds: float

    @property
    def sound(self) -> bool:
        return all(finding.status != "FAIL" for finding in self.findings)


class Judged(Record):
    kind: Literal["judged"] = "judged"
    verdict: Annotated[Rejected | Measured, Field(discriminator="verdict")]
    seconds: float
    timing: tuple[dict[str, Any], ...] = ()
    """On a device: the raw record of each timed workload."""
    last: bool = False
    """The judge ends after this answer: a fault cost it the device's context. The next request starts another."""


class JudgeError(Record):
    """The request could not be served: a spec error (exit 2) or trouble of the machine (exit 3)."""

    kind: Literal["error"] = "error"
    cause: Literal["spec", "machine", "internal"]
    message: str
    fix: str = ""
