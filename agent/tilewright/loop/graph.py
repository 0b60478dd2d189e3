"""The graph: preflight → propose → build → judge → tune → compare → reflect → decide → review → publish.

Every node is safe to run twice: what the journal already holds is not done again. The checkpoint only says where to
go on; without it the run starts at preflight and passes quickly over what is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from . import comparing, finishing, making, preparing, proposing, tuning
from .budget import BudgetExhausted
from .events import Step
from .search import Search
from .state import State

Node = Callable[[Search, State], State]
NODES: dict[Step, Node] = {
    "preflight": preparing.preflight,
    "propose": proposing.propose,
    "build": making.build,
    "judge": making.judge,
    "tune": tuning.tune_best,
    "compare": comparing.compare,
    "reflect": finishing.reflect,
    "decide": finishing.decide,
    "review": finishing.review,
    "publish": finishing.publish,
}
ROUND: frozenset[Step] = frozenset({"build", "judge", "tune", "compare"})
"""Steps that are skipped once a budget is spent or the round is decided. What was verified before stays."""


class Bound(Protocol):
    def __call__(self, state: State) -> State: ...


def _bind(name: Step, node: Node, open_search: Callable[[], Search]) -> Bound:
    def run(state: State) -> State:
        search = open_search()
        over = bool(state["spent"]) or any(d.round == state["round"] for d in search.view.decided)
        if over and name in ROUND:
            return state
        try:
            return node(search, state)
        except BudgetExhausted as exhausted:
            return {**state, "spent": str(exhausted)}

    run.__name__ = name
    return run


def _after_preflight(state: State) -> str:
    return "publish" if state["over"] else "propose"


def _after_decide(state: State) -> str:
    return "review" if state["over"] else "propose"


def _after_review(state: State) -> str:
    return "propose" if state["again"] else "publish"


def build_graph(
    open_search: Callable[[], Search], checkpointer: BaseCheckpointSaver[Any] | None
) -> CompiledStateGraph[State, Any, Any, Any]:
    """The loop of one run, ready to invoke with `durability="sync"`. `open_search` is asked when a node runs."""
    graph = StateGraph(State)
    for name, node in NODES.items():
        graph.add_node(name, _bind(name, node, open_search))
    graph.add_edge(START, "preflight")
    graph.add_conditional_edges("preflight", _after_preflight, ["propose", "publish"])
    for before, after in (("propose", "build"), ("build", "judge"), ("judge", "tune"), ("tune", "compare")):
        graph.add_edge(before, after)
    graph.add_edge("compare", "reflect")
    graph.add_edge("reflect", "decide")
    graph.add_conditional_edges("decide", _after_decide, ["propose", "review"])
    graph.add_conditional_edges("review", _after_review, ["propose", "publish"])
    graph.add_edge("publish", END)
    return graph.compile(checkpointer=checkpointer)
