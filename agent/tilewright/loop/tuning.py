"""Tune: search the SPACE of the round's best candidates; every trial is in the journal and none is built twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tilewright.verify import COMPILE_TIMEOUT_S, write_blobs
from tilewright_sandbox.boxes import choose, client, is_trusted
from tilewright_sandbox.contract import Candidate, Spec
from tilewright_sandbox.jobs import BuildJob, BuildRequest, NotBuilt, Outcome

Build = Callable[[Sequence[BuildJob]], Sequence[Outcome]]
WORKER_GONE = frozenset({"timeout", "out_of_memory", "crashed", "oversize", "malformed_reply"})
"""Codes after which a session may have ended."""

FINALISTS = 3
"""Candidates of a round that are tuned."""


@contextmanager
def open_tuner(spec: Spec, candidate: Candidate, box: str, target: str, blobs_path: Path) -> Iterator[Build]:
    """A builder of this candidate's points; a worker that a point brought down is replaced before the next batch."""
    trusted = is_trusted(candidate.proposer)
    session = choose(box, trusted=trusted).start("build")

    def build(jobs: Sequence[BuildJob]) -> Sequence[Outcome]:
        nonlocal session
        request = BuildRequest(
            source=candidate.source,
            spec=spec,
            jobs=tuple(jobs),
            target=target,
            compile_timeout_s=COMPILE_TIMEOUT_S,
        )
        reply, blobs = client.build(session, request, timeout_s=len(jobs) * COMPILE_TIMEOUT_S + 30)
        write_blobs(blobs_path, blobs)
        if any(isinstance(o, NotBuilt) and o.rejected.code in WORKER_GONE for o in reply.outcomes):
            session.close()
            session = choose(box, trusted=trusted).start("build")
        return reply.outcomes

    try:
        yield build
    finally:
        session.close()


def tune_best(search: Search, state: State) -> State:
    """Tune the best few that passed the screen. Trials that the journal holds are handed back, not built."""
    run = search.view.run
    for candidate in contenders(search.view.in_round(state["round"]))[:FINALISTS]:
        if candidate.tuned:
            continue
        search.step(f"tuning {label(candidate)}")
        with search.budget.spending("tune"):
            search.record(_tune(search, candidate))
    return state
