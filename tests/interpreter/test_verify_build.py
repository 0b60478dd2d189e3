"""The build half of verify: Plans from a box, checked against what was asked, since candidate code ran beside them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.verify import build_plans, default_config, open_builder
from tilewright_sandbox import wire
from tilewright_sandbox.boxes import client
from tilewright_sandbox.boxes.bubblewrap import BubblewrapBox
from tilewright_sandbox.boxes.protocol import Exchange
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Config, Plan, Rejected
from tilewright_sandbox.jobs import BuildJob, BuildReply, BuildRequest, Built, NotBuilt
from tilewright_sandbox.spec import find_spec, load_spec

ROOT = Path(__file__).parents[2]
SOFTMAX = load_spec(find_spec("softmax", ROOT))
SPEC = SOFTMAX.spec.model_copy(update={"workloads": SOFTMAX.spec.workloads[:2]})
BOXES = ["process", *(["bubblewrap"] if BubblewrapBox().probe().usable else [])]
Blobs = dict[str, bytes]


def candidate(source: str) -> Candidate:
    parsed = parse_candidate(source, proposer="templates", spec=SPEC)
    assert isinstance(parsed, Candidate), parsed
    return parsed


RIGHT = candidate(SOFTMAX.solutions["right"][0].read_text())


def config() -> Config:
    chosen = default_config(SPEC, RIGHT)
    assert chosen is not None
    return chosen


def test_the_same_plans_from_every_box(tmp_path: Path) -> None:
    hashes = []
    for box in BOXES:
        with open_builder(box, trusted=True) as session:
            plans = build_plans(session, SPEC, RIGHT, config(), "sm_90", tmp_path / box)
        assert not isinstance(plans, Rejected), plans
        assert [plan.workload for plan in plans] == list(SPEC.with_role("tune", "bench"))
        named = {sha for plan in plans for kernel in plan.kernels for sha in (kernel.cubin_sha256, kernel.ttir_sha256)}
        assert named
        assert {path.name for path in (tmp_path / box).iterdir()} == named | {plan.sha256 for plan in plans}
        hashes.append([plan.sha256 for plan in plans])
    assert all(plans == hashes[0] for plans in hashes)


def test_a_refused_launcher_carries_its_box() -> None:
    parameters = RIGHT.source.partition("\ndef run(")[2].partition(")")[0]
    launcher = f"\n\ndef run({parameters}):\n    return torch.softmax(x, -1)\n"
    calls_torch = candidate(RIGHT.source.replace("\ndef run(", "\ndef unused(") + launcher)
    with open_builder(BOXES[-1], trusted=True) as session:
        answer = build_plans(session, SPEC, calls_torch, config(), "sm_90", Path("/nowhere"))
    assert isinstance(answer, Rejected)
    assert (answer.stage, answer.code, answer.box) == ("policy", "aten_not_allowed", session.label)
    assert answer.config == config()


JOB = BuildJob(config=config(), workload=SPEC.with_role("tune")[0])
REQUEST = BuildRequest(source=RIGHT.source, spec=SPEC, jobs=(JOB,), target="sm_90")


@pytest.fixture(scope="module")
def honest() -> Exchange:
    """A real worker's answer to REQUEST."""
    with open_builder("process", trusted=True) as session:
        return session.exchange(wire.pack(REQUEST.model_dump_json().encode()), 120)


class Tampered:
    """A session whose real answer is altered on the way, as candidate code in the worker could alter it."""

    label = "process (unsafe)"

    def __init__(self, true: Exchange, alter: Callable[[BuildReply, Blobs], tuple[BuildReply, Blobs]]) -> None:
        self.true, self.alter = true, alter

    def exchange(self, request: bytes, timeout_s: float) -> Exchange:
        body, blobs = wire.unpack(io.BytesIO(self.true.reply))
        reply, blobs = self.alter(BuildReply.model_validate_json(body), blobs)
        frame = wire.pack(reply.model_dump_json().encode(), blobs)
        return Exchange("replied", frame, "", None, self.true.seconds)

    def close(self) -> None: ...


def with_plan(**changes: object) -> Callable[[BuildReply, Blobs], tuple[BuildReply, Blobs]]:
    def alter(reply: BuildReply, blobs: Blobs) -> tuple[BuildReply, Blobs]:
        built = reply.outcomes[0]
        assert isinstance(built, Built)
        plan = Plan(**(dict(built.plan) | changes))
        return reply.model_copy(update={"outcomes": (built.model_copy(update={"plan": plan}),)}), blobs

    return alter


def of_another_candidate(reply: BuildReply, blobs: Blobs) -> tuple[BuildReply, Blobs]:
    rejected = Rejected(candidate_id="0" * 16, stage="policy", code="framed", message="It was the other one.")
    return reply.model_copy(update={"outcomes": (NotBuilt(rejected=rejected),)}), blobs


TAMPERINGS: dict[str, Callable[[BuildReply, Blobs], tuple[BuildReply, Blobs]]] = {
    "bytes of a blob": lambda reply, blobs: (reply, {name: blob + b"\0" for name, blob in blobs.items()}),
    "no blobs": lambda reply, blobs: (reply, {}),
    "no outcomes": lambda reply, blobs: (reply.model_copy(update={"outcomes": ()}), blobs),
    "outcomes of two jobs": lambda reply, blobs: (reply.model_copy(update={"outcomes": reply.outcomes * 2}), blobs),
    "config": with_plan(config=Config({"BLOCK": 1})),
    "target": with_plan(target="sm_80"),
    "workload": with_plan(workload=SPEC.with_role("bench")[0]),
    "candidate": with_plan(candidate_id="f" * 16),
    "spec": with_plan(spec_sha256="f" * 64),
    "uncompiled": with_plan(compiled=False),
    "rejection of another": of_another_candidate,
}


def test_an_honest_answer_is_taken(honest: Exchange) -> None:
    reply, blobs = client.build(Tampered(honest, lambda reply, blobs: (reply, blobs)), REQUEST, 120)
    assert isinstance(reply.outcomes[0], Built)
    assert blobs


@pytest.mark.parametrize("name", TAMPERINGS)
def test_an_answer_that_does_not_fit_the_question_is_a_rejection(honest: Exchange, name: str) -> None:
    reply, blobs = client.build(Tampered(honest, TAMPERINGS[name]), REQUEST, 120)
    outcome = reply.outcomes[0]
    assert isinstance(outcome, NotBuilt)
    assert (outcome.rejected.stage, outcome.rejected.code) == ("compile", "malformed_reply")
    assert outcome.rejected.candidate_id == RIGHT.id
    assert blobs == {}
