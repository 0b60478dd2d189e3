"""The built-in proposer: reads the operator graph of a reference and writes Triton kernels, without a model.

Three families: fused pointwise maps; rows that are reduced and then mapped (softmax, norms, losses, scans); matrix
products with an epilogue. Each offers several forms of one kernel, and each form its search space and first guesses.
"""

from __future__ import annotations

from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate

from .. import ProposalContext
from .extents import Unsupported
from .forms import Form, forms

PER_ROUND = 4


class TemplateProposer:
    """Offers the forms of a graph's family that the run has not tried, at most `PER_ROUND` a round, in fixed order."""

    name = "templates"

    def propose(self, context: ProposalContext) -> list[Candidate]:
        candidates = (as_candidate(form, context) for form in written(context))
        return [candidate for candidate in candidates if not context.tried(candidate.id)][:PER_ROUND]


def written(context: ProposalContext) -> list[Form]:
    """Every form that the templates know for the context's graph; empty where it belongs to no family."""
    if context.graph is None:
        return []
    found: list[Form] = []
    try:
        for form in forms(context.spec, context.graph, context.target):
            found.append(form)
    except Unsupported:
        return found
    return found


def as_candidate(form: Form, context: ProposalContext) -> Candidate:
    parsed = parse_candidate(form.module.text(), proposer="templates", title=form.title, spec=context.spec)
    if not isinstance(parsed, Candidate):
        raise AssertionError(f"the template {form.title!r} wrote a candidate that does not parse: {parsed.message}")
    return parsed


__all__ = ["TemplateProposer"]
