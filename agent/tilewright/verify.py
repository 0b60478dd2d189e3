"""One Verdict: build in a box, judge in the judge process. Used by the command, the loop, the tuner and the tests."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tilewright_sandbox.boxes import Session, choose, client, is_trusted
from tilewright_sandbox.contract import Candidate, Config, Measured, Plan, Rejected, Spec
from tilewright_sandbox.expressions import compile_where
from tilewright_sandbox.jobs import BuildJob, BuildRequest, Judged, JudgeRequest, NotBuilt
from tilewright_sandbox.spec import SpecFolder
from tilewright_sandbox.wanted import wanted_plans
from tilewright_sandbox.whole_file import write_whole

from .judge import Judge

COMPILE_TIMEOUT_S = 60.0
MAX_POINTS = 100_000
"""Points of SPACE that `default_config` looks at before it gives up."""


@contextmanager
def open_builder(box: str, trusted: bool) -> Iterator[Session]:
    """A live build worker for one candidate, in the box of that name. SandboxUnavailable where there is none."""
    session = choose(box, trusted=trusted).start("build")
    try:
        yield session
    finally:
        session.close()


def default_config(spec: Spec, candidate: Candidate) -> Config | None:
    """The first of TRIALS, then of SPACE in order, that WHERE allows on every tune and bench workload."""
    conditions = [compile_where(text) for text in candidate.where]
    workloads = spec.with_role("tune", "bench")

    def feasible(config: Config) -> bool:
        return all(where.holds(config, workload.axes) for where in conditions for workload in workloads)

    points = itertools.islice(itertools.product(*candidate.space.values()), MAX_POINTS)
    space = (Config(dict(zip(candidate.space, point, strict=True))) for point in points)
    return next((config for config in itertools.chain(candidate.trials, space) if feasible(config)), None)


def write_blobs(folder: Path, blobs: Mapping[str, bytes]) -> None:
    """Store cubins and TTIR under their SHA-256, whole or not at all. A blob that is there already is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, blob in blobs.items():
        if hashlib.sha256(blob).hexdigest() != name:
            raise ValueError(f"blob {name[:16]} does not have the hash that it is named by")
        path = folder / name
        if not path.exists():
            write_whole(path, blob)


def build_plans(
    session: Session,
    spec: Spec,
    candidate: Candidate,
    config: Config,
    target: str,
    blobs_path: Path,
    jobs: tuple[BuildJob, ...] = (),
) -> tuple[Plan, ...] | Rejected:
    """Compiled Plans of every job, or of every tune and bench workload, stored in `blobs_path` with their binaries; or
    why not."""
    jobs = jobs or tuple(BuildJob(config=config, workload=workload) for workload in spec.with_role("tune", "bench"))
    request = BuildRequest(
        source=candidate.source, spec=spec, jobs=jobs, target=target, compile_timeout_s=COMPILE_TIMEOUT_S
    )
    reply, blobs = client.build(session, request, timeout_s=len(jobs) * COMPILE_TIMEOUT_S + 30)
    plans = []
    for job, outcome in zip(jobs, reply.outcomes, strict=True):
        if isinstance(outcome, NotBuilt):
            if _wider_than_it_must_be(spec, job):
                continue
            return outcome.rejected.model_copy(update={"box": session.label})
        plans.append(outcome.plan)
    write_blobs(blobs_path, {**blobs, **{plan.sha256: plan.canonical() for plan in plans}})
    return tuple(plans)


def _wider_than_it_must_be(spec: Spec, job: BuildJob) -> bool:
    """Whether the job is a twin in wider dtypes than the spec's own: a candidate may lack the shared memory for it, or
    be written for the spec's dtypes alone. The judge then does without it, and the verdict says so."""
    own = {tensor.name: tensor.dtype for tensor in spec.tensor_inputs}
    return bool(job.dtypes) and job.dtypes != own


def prepare(
    folder: SpecFolder,
    candidate: Candidate,
    *,
    config: Config | None = None,
    box: str = "auto",
    target: str,
    blobs_path: Path,
    seed: str | None = None,
    depth: Literal["screen", "full"] = "full",
    on: Literal["interpreter", "device"] = "interpreter",
    timed: bool = False,
    builder: Session | None = None,
    shape_seed: str | None = None,
) -> JudgeRequest | Rejected:
    """Build what a verdict on one config needs, for a judge here or elsewhere.

    For a device that is a plan for every shape and dtype that `wanted_plans` names; the hidden ones are drawn here,
    after the candidate was written. `builder` is an open build session of this candidate; without it one is opened and
    closed. `shape_seed` is hexadecimal and only for asking for the same job again. Raises SandboxUnavailable.
    """
    config = config or default_config(folder.spec, candidate)
    if config is None:
        return _refused(
            candidate, "no_feasible_config", "no point of SPACE satisfies WHERE on every workload; widen SPACE"
        )
    if config.root.keys() != candidate.space.keys():
        wrong = ", ".join(sorted(config.root.keys() ^ candidate.space.keys()))
        return _refused(
            candidate, "config_mismatch", f"the config and SPACE differ in {wrong}; give each of SPACE's names"
        )
    shape_seed = shape_seed or seed or secrets.token_hex(16)
    jobs = wanted_jobs(folder.spec, candidate, config, shape_seed, depth) if on == "device" else ()
    if builder is None:
        with open_builder(box, is_trusted(candidate.proposer)) as session:
            label, plans = session.label, build_plans(session, folder.spec, candidate, config, target, blobs_path, jobs)
    else:
        label, plans = builder.label, build_plans(builder, folder.spec, candidate, config, target, blobs_path, jobs)
    if isinstance(plans, Rejected):
        return plans
    return JudgeRequest(
        spec_path=str(folder.path.resolve()), source=candidate.source, proposer=candidate.proposer, config=config,
        plans=plans, blobs_path=str(blobs_path.resolve()), target=target, seed=seed, depth=depth, on=on, timed=timed,
        box=label, shape_seed=shape_seed if on == "device" else "",
    )  # fmt: skip


def wanted_jobs(
    spec: Spec, candidate: Candidate, config: Config, shape_seed: str, depth: Literal["screen", "full"]
) -> tuple[BuildJob, ...]:
    """What a verdict on a device needs built: see `wanted_plans`."""
    conditions = [compile_where(text) for text in candidate.where]

    def feasible(axes: Mapping[str, int]) -> bool:
        return all(where.holds(config, axes) for where in conditions)

    return wanted_plans(spec, config, feasible, bytes.fromhex(shape_seed), depth)


def verify(
    folder: SpecFolder,
    candidate: Candidate,
    *,
    config: Config | None = None,
    box: str = "auto",
    target: str,
    judge: Judge,
    blobs_path: Path,
    seed: str | None = None,
    depth: Literal["screen", "full"] = "full",
    on: Literal["interpreter", "device"] = "interpreter",
    timed: bool = False,
    builder: Session | None = None,
) -> Rejected | Measured:
    """Build one config of the candidate and judge it: see `prepare` for the arguments.

    `seed` is hexadecimal and only for repeating a verdict. SandboxUnavailable is the machine's failure, SpecError the
    spec's; whatever the candidate does wrong is a `Rejected`.
    """
    judge.start()  # imports torch while the builder compiles
    request = prepare(
        folder, candidate, config=config, box=box, target=target, blobs_path=blobs_path, seed=seed, depth=depth, on=on,
        timed=timed, builder=builder,
    )  # fmt: skip
    if isinstance(request, Rejected):
        return request
    return judge.ask(request, Judged).verdict.model_copy(update={"box": request.box})


def _refused(candidate: Candidate, code: str, what: str) -> Rejected:
    return Rejected(candidate_id=candidate.id, stage="source", code=code, message=f"{what[0].upper()}{what[1:]}.")
