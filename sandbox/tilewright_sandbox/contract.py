"""The seven nouns as frozen types: Spec, Candidate, Config, Plan, Verdict, Box, Run.

A record is data that was true when it was written; it never holds a live handle. Illegal records cannot be built:
a rejected kernel has no times, a failed check has a reason, device evidence names its device.

Units are in names (`_us`, `_bytes`); shapes are in elements; strides are in elements; dtypes are torch's names.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

SCHEMA_VERSION = 1

Dtype = Literal[
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]
DTYPE_BYTES: dict[Dtype, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
ConfigValue = bool | int | float | str
Dim = int | str
"""One extent of a shape: a literal, or the name of an axis."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Record(BaseModel):
    """Frozen, closed to unknown fields; NaN and infinities survive JSON as strings."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings", allow_inf_nan=True)

    def canonical(self) -> bytes:
        """The record as JSON with sorted keys and no spaces: equal records give equal bytes."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":")).encode()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.canonical()).hexdigest()


# ---------------------------------------------------------------------------------------------------------- Spec


class Axis(Record):
    """The values that one named extent may take. A constant has `min == max`."""

    min: int = Field(ge=1)
    max: int = Field(ge=1)
    choices: tuple[int, ...] | None = None
    multiple_of: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        if self.choices is not None and (min(self.choices), max(self.choices)) != (self.min, self.max):
            raise ValueError("min and max must be those of choices")
        return self

    def admits(self, value: int) -> bool:
        if self.choices is not None:
            return value in self.choices
        return self.min <= value <= self.max and value % self.multiple_of == 0


class TensorInput(Record):
    kind: Literal["tensor"] = "tensor"
    name: str
    shape: tuple[Dim, ...]
    dtype: Dtype
    fill: Literal["normal", "uniform", "index"] = "normal"
    """normal: N(0, 1); uniform: [low, high) or [0, 1); index: integers in [0, index_below)."""
    index_below: Dim | None = None
    low: float | None = None
    high: float | None = None
    """The domain of the values, where it is not the whole line: transforms that leave it are not applied."""
    static: bool = False


class ScalarInput(Record):
    kind: Literal["scalar"] = "scalar"
    name: str
    value: ConfigValue


Input = Annotated[TensorInput | ScalarInput, Field(discriminator="kind")]


class TensorOutput(Record):
    name: str
    shape: tuple[Dim, ...]
    """`()` is a zero-dimensional tensor."""
    dtype: Dtype


class Accept(Record):
    min_speedup: float = Field(default=1.05, ge=1.0)
    """Lower end of the 95 % interval of the paired ratio, against the strongest baseline."""
    baselines: tuple[Literal["eager", "compile", "max-autotune"], ...] = ("eager", "compile", "max-autotune")
    precision: Literal["ieee", "tf32"] = "ieee"
    library: tuple[Literal["mm", "addmm", "bmm", "baddbmm", "convolution"], ...] = ()
    grad: tuple[str, ...] = ()
    deterministic: bool = False
    layouts: tuple[Literal["contiguous", "strided", "offset"], ...] = ("contiguous",)


class Workload(Record):
    """One binding of every axis, constants included."""

    role: Literal["tune", "bench", "hidden", "edge", "twin"]
    axes: dict[str, int]
    weight: float = Field(default=1.0, gt=0)

    @property
    def label(self) -> str:
        return ",".join(f"{axis}={extent}" for axis, extent in self.axes.items())


class Spec(Record):
    """What to compute, on which shapes, how close, how fast. `spec.load_spec` makes one from a folder."""

    schema_version: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    summary: str
    op: str
    axes: dict[str, Axis]
    inputs: tuple[Input, ...]
    outputs: tuple[TensorOutput, ...]
    accept: Accept = Accept()
    workloads: tuple[Workload, ...]
    reference_sha256: Sha256

    @property
    def tensor_inputs(self) -> tuple[TensorInput, ...]:
        return tuple(i for i in self.inputs if isinstance(i, TensorInput))

    def with_role(self, *roles: str) -> tuple[Workload, ...]:
        return tuple(w for w in self.workloads if w.role in roles)


def resolve_shape(shape: tuple[Dim, ...], axes: dict[str, int]) -> tuple[int, ...]:
    """The shape in elements under one binding of the axes. KeyError names an axis that is not bound."""
    return tuple(axes[dim] if isinstance(dim, str) else dim for dim in shape)


# --------------------------------------------------------------------------------------------- Candidate, Config


class Config(RootModel[dict[str, ConfigValue]]):
    """One point of a Candidate's SPACE; in JSON a plain object such as {"BLOCK": 1024, "num_warps": 4}."""

    model_config = ConfigDict(frozen=True)

    @property
    def id(self) -> str:
        return hashlib.sha256(json.dumps(self.root, sort_keys=True).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.root.items()) or "(no parameters)"


class Candidate(Record):
    """One source file. `candidate.parse_candidate` is the only maker; it reads with ast and executes nothing."""

    id: str = Field(pattern=r"^[0-9a-f]{16}$")
    source: str
    space: dict[str, tuple[ConfigValue, ...]]
    where: tuple[str, ...] = ()
    trials: tuple[Config, ...] = ()
    proposer: str
    """Who wrote it: `templates`, `person`, `llm:<model>` …; decides which boxes may run it."""
    title: str = ""
    parent: str | None = None

    @model_validator(mode="after")
    def _content_hash(self) -> Self:
        if self.id != candidate_id(self.source):
            raise ValueError("a candidate's id is the hash of its source")
        return self


def candidate_id(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


# ---------------------------------------------------------------------------------------------------------- Plan


class Buffer(Record):
    """One allocation. The executor owns it: it is aligned to 256 bytes and surrounded by canaries.

    Buffers of inputs have the input's name; an output or workspace that `run` allocated is named by its order (`t0`).
    """

    name: str
    role: Literal["input", "output", "workspace"]
    bytes: int = Field(ge=0)


class View(Record):
    """A strided window of a buffer."""

    buffer: int
    offset_bytes: int = 0
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Dtype


class Pointer(Record):
    kind: Literal["pointer"] = "pointer"
    buffer: int
    offset_bytes: int = 0


class Scalar(Record):
    kind: Literal["scalar"] = "scalar"
    type: str
    """Triton's name: i1, i8, i16, i32, i64, u32, u64, fp16, bf16, fp32, fp64."""
    value: bool | int | float


class TensorMap(Record):
    """A TMA descriptor that the host encodes (cuTensorMapEncodeTiled) from captured metadata.

    Triton passes the descriptor and then the tensor's shape (32-bit) and strides (64-bit); those follow as Scalars.
    `elem_type` is the host's CUtensorMapDataType; swizzle, elem_size, elem_type and block_shape are the compiler's, and
    stand for nothing in a plan that was captured and not compiled. Where fp4_padded, the last extent is doubled.
    """

    kind: Literal["tensor_map"] = "tensor_map"
    buffer: int
    offset_bytes: int = 0
    dtype: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    swizzle: int
    elem_size: int
    elem_type: int
    fp4_padded: bool = False
    padding: Literal["zero", "nan"] = "zero"
    """What loads outside the tensor give."""


Argument = Annotated[Pointer | Scalar | TensorMap, Field(discriminator="kind")]


class Resources(Record):
    """Read from one cubin with cuobjdump; the same on every machine."""

    registers: int
    spill_bytes: int
    """Bytes that the code's stores to local memory (STL) write, each counted once."""
    stack_bytes: int
    shared_bytes: int
    cubin_bytes: int
    instructions: dict[str, int] = {}
    """SASS instruction classes and how often each stands in the code: LDG, STG, HGMMA, FFMA, MUFU, BAR …"""


class Kernel(Record):
    """One compiled kernel. The bytes of cubin and TTIR travel beside the plan, named by their hash."""

    name: str
    cubin_sha256: Sha256
    ttir_sha256: Sha256
    num_warps: int
    num_stages: int
    num_ctas: int = 1
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int
    global_scratch_bytes: int = 0
    global_scratch_align: int = 1
    profile_scratch_bytes: int = 0
    cooperative: bool = False
    launch_pdl: bool = False
    signature: tuple[str, ...]
    """Triton's type of each argument that the cubin takes, in order (`*bf16`, `i32`, `nvTmaDesc` …)."""
    constants: dict[str, str] = {}
    resources: Resources


class Launch(Record):
    kind: Literal["launch"] = "launch"
    kernel: int
    """Index into Plan.kernels; −1 in a plan that was captured and not compiled."""
    kernel_name: str
    grid: tuple[int, int, int]
    """In programs; the hardware grid has num_ctas times as many blocks along x."""
    arguments: tuple[Argument, ...]


class Fill(Record):
    kind: Literal["fill"] = "fill"
    target: View
    value: float | int | bool


class Copy(Record):
    """Elementwise copy with broadcasting already resolved in the strides; converts the dtype where the two differ."""

    kind: Literal["copy"] = "copy"
    source: View
    target: View


class Contraction(Record):
    """An ATen matrix product or convolution, allowed only by the spec's `library` policy."""

    kind: Literal["contraction"] = "contraction"
    op: Literal["mm", "addmm", "bmm", "baddbmm", "convolution"]
    operands: tuple[View, ...]
    target: View
    parameters: dict[str, Any] = {}


Step = Annotated[Launch | Fill | Copy | Contraction, Field(discriminator="kind")]


class Plan(Record):
    """Everything a Candidate does to the GPU for one workload and config. Same inputs and versions, same bytes."""

    schema_version: Literal[1] = 1
    spec_sha256: Sha256
    candidate_id: str
    config: Config
    workload: Workload
    dtypes: dict[str, Dtype]
    """The dtype of every tensor input, by name: a plan for a float32 twin differs from the spec's own."""
    target: str
    versions: dict[str, str]
    compiled: bool
    buffers: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    inputs: dict[str, View]
    outputs: dict[str, View]
    hybrid: bool = False
    """True where a library contraction does part of the work."""

    @model_validator(mode="after")
    def _references_hold(self) -> Self:
        count = len(self.buffers)
        for view in (*self.inputs.values(), *self.outputs.values()):
            if not 0 <= view.buffer < count:
                raise ValueError(f"view of buffer {view.buffer}, but the plan has {count}")
        for step in self.steps:
            if isinstance(step, Launch):
                if self.compiled and not 0 <= step.kernel < len(self.kernels):
                    raise ValueError(f"launch of kernel {step.kernel}, but the plan has {len(self.kernels)}")
                for argument in step.arguments:
                    if isinstance(argument, Pointer | TensorMap) and not 0 <= argument.buffer < count:
                        raise ValueError(f"argument of buffer {argument.buffer}, but the plan has {count}")
        return self

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(step for step in self.steps if isinstance(step, Launch))


# ------------------------------------------------------------------------------------------------------- Verdict

CheckName = Literal[
    "structure", "memory", "determinism", "budget", "lattice", "transforms", "shapes", "gradients", "ir", "physics"
]
Stage = Literal[
    "source", "policy", "capture", "compile", "launch",
    "structure", "memory", "determinism", "budget", "lattice", "transforms", "shapes", "gradients", "ir", "physics",
    "timing",
]  # fmt: skip
STAGES: tuple[Stage, ...] = Stage.__args__  # type: ignore[attr-defined]
"""In the order in which a candidate meets them; the first that fails is the verdict's stage."""


class Check(Record):
    """One independent test of equivalence: PASS, FAIL or NOT_RUN, the last two with a reason."""

    name: CheckName
    status: Literal["PASS", "FAIL", "NOT_RUN"]
    mandatory: bool = True
    """A mandatory check that was not run blocks acceptance."""
    reason: str = ""
    facts: dict[str, bool | int | float | str] = {}
    """Figures for the evidence table: worst error constant, cases run, first wrong element …"""

    @model_validator(mode="after")
    def _reason_given(self) -> Self:
        if self.status != "PASS" and not self.reason:
            raise ValueError(f"check {self.name} is {self.status} and gives no reason")
        return self


class ModelledTime(Record):
    """A prediction of the documented roofline-and-occupancy model. Never evidence."""

    kind: Literal["modelled"] = "modelled"
    workload: Workload
    modelled_us: float
    roofline_us: float
    bound: Literal["memory", "compute", "latency"]
    occupancy: float
    min_bytes: int


PLACEMENT = 0.01
"""Equal kernels on different buffers differ by up to 0.8 % on an H200, in every block alike; no interval shows that."""


class MeasuredTime(Record):
    kind: Literal["measured"] = "measured"
    workload: Workload
    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    baselines_us: dict[str, float]
    ratio: tuple[float, float, float]
    """Paired ratio of the strongest baseline's time to ours: low, mid and high of the 95 % bootstrap interval."""
    roofline_us: float
    """At this card's measured peaks."""
    strongest: str = ""
    """The baseline that `ratio` is against."""
    noise: tuple[float, float, float] | None = None
    """The same interval of the kernel against itself: the noise floor."""
    call_us: float | None = None
    """From host, one call at a time, without a graph: what an eager user waits for."""
    baseline_call_us: dict[str, float] = {}
    missing_baselines: dict[str, str] = {}
    """Baselines that the spec names and that this machine could not run, with the reason."""
    dropped_blocks: int = 0
    """Blocks in which the card slowed down or its clock shifted; they count for nothing."""

    @property
    def faster(self) -> bool:
        """Whether a gain may be claimed at all: beyond what the kernel shows against itself, and beyond PLACEMENT."""
        return self.ratio[0] > max(1.0 + PLACEMENT, self.noise[2] if self.noise else 1.0)


Time = Annotated[ModelledTime | MeasuredTime, Field(discriminator="kind")]


class Rejected(Record):
    """The candidate's failure, as a value. It has no times."""

    verdict: Literal["rejected"] = "rejected"
    candidate_id: str
    stage: Stage
    code: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """A short name for the kind of failure, stable across releases: `aten_not_allowed`, `reads_value` …"""
    message: str
    """One or two sentences: what, where (file and line where there is one), how to mend it."""
    evidence: dict[str, bool | int | float | str] = {}
    config: Config | None = None
    workload: Workload | None = None
    checks: tuple[Check, ...] = ()
    box: str = ""

    @model_validator(mode="after")
    def _stage_of_failed_check(self) -> Self:
        failed = [check.name for check in self.checks if check.status == "FAIL"]
        if failed and self.stage not in failed:
            raise ValueError(f"rejected at {self.stage}, but the failed checks are {failed}")
        return self


class Measured(Record):
    """The candidate passed every check that ran."""

    verdict: Literal["measured"] = "measured"
    candidate_id: str
    config: Config
    evidence: str
    """`interpreter + compiled for sm_90`, or `device: NVIDIA H200`."""
    target: str
    device_uuid: str | None = None
    checks: tuple[Check, ...]
    rung: Literal["structural", "bitwise", "within budget"]
    times: tuple[Time, ...] = ()
    plans: tuple[Sha256, ...] = ()
    hybrid: bool = False
    box: str
    """`docker`, `bubblewrap`, or `process (unsafe)`."""
    seed_commitment: Sha256
    """SHA-256 of the secret seed, fixed before the first input was drawn."""
    seed: str
    """Hexadecimal, revealed with the verdict."""

    @model_validator(mode="after")
    def _nothing_failed(self) -> Self:
        failed = [check.name for check in self.checks if check.status == "FAIL"]
        if failed:
            raise ValueError(f"measured with failed checks {failed}")
        measured = [time for time in self.times if isinstance(time, MeasuredTime)]
        if measured and self.device_uuid is None:
            raise ValueError("measured times without the device that gave them")
        if self.device_uuid is None and self.evidence.startswith("device"):
            raise ValueError("device evidence without a device")
        return self

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why this verdict cannot be accepted; empty where it can."""
        reasons = [f"{c.name} was not run: {c.reason}" for c in self.checks if c.mandatory and c.status == "NOT_RUN"]
        if self.device_uuid is None:
            reasons.insert(0, f"no time was measured (evidence: {self.evidence})")
        missing = {name for t in self.times if isinstance(t, MeasuredTime) for name in t.missing_baselines}
        reasons += [f"the baseline {name} could not be run" for name in sorted(missing)]
        if "unsafe" in self.box:
            reasons.append(f"the candidate was built in {self.box}")
        return tuple(reasons)


Verdict = Annotated[Rejected | Measured, Field(discriminator="verdict")]


# ------------------------------------------------------------------------------------------------------ Box, Run


class BoxReport(Record):
    """What a box's probe found: whether it can be used here, what it stops, and how to mend it where it cannot."""

    name: Literal["docker", "bubblewrap", "process"]
    usable: bool
    isolates: bool
    reason: str = ""
    fix: str = ""
    version: str = ""


class Run(Record):
    """The first event of a journal: what was asked for. The folder is `runs/<utc>-<spec>-<4hex>/`."""

    schema_version: Literal[1] = 1
    id: str
    spec: Spec
    spec_path: str
    target: str
    seed: int
    options: dict[str, Any] = {}
    started_utc: str
    versions: dict[str, str] = {}


class SandboxUnavailable(Exception):
    """The machine, not the candidate, failed. `fix` says how to mend it."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what} — {fix}" if fix else what)
        self.what, self.fix = what, fix
