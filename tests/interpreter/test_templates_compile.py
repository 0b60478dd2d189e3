"""One form of each family compiles for sm_90 at its first guess: nothing spills, and shared memory fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.propose import ProposalContext
from tilewright.propose.templates import as_candidate, written
from tilewright_sandbox.boxes import choose
from tilewright_sandbox.boxes.client import build
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import BuildJob, BuildRequest, Built
from tilewright_sandbox.spec import load_spec
from tilewright_sandbox.targets import TARGETS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("softmax", "online"),
        ("rmsnorm", "multi-row"),
        ("cross_entropy", "online"),
        ("groupnorm_silu", "looped"),
        ("matmul_bias_gelu", "split-K"),
    ],
)
def test_first_guess_compiles_without_spills(name: str, title: str) -> None:
    folder = load_spec(ROOT / "specs" / name)
    graph = OpGraph.model_validate_json((ROOT / "tests" / "golden" / f"{name}.graph.json").read_text())
    context = ProposalContext(folder.spec, graph, "sm_90")
    candidate = next(as_candidate(form, context) for form in written(context) if form.title == title)
    workload = folder.spec.with_role("tune")[0]
    job = BuildJob(config=candidate.trials[0], workload=workload)
    session = choose("process", trusted=True).start("build")
    try:
        request = BuildRequest(source=candidate.source, spec=folder.spec, jobs=(job,), target="sm_90")
        reply, _ = build(session, request, timeout_s=120)
    finally:
        session.close()
    (outcome,) = reply.outcomes
    assert isinstance(outcome, Built), outcome.rejected.message
    for kernel in outcome.plan.kernels:
        assert kernel.resources.spill_bytes == 0, kernel.name
        assert kernel.shared_bytes <= TARGETS["sm_90"].shared_per_block_bytes
