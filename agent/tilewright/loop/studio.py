"""The loop for LangGraph's own tools (`langgraph.json`): drawn at once, opened on a run when the first node runs."""

from __future__ import annotations

import functools
from typing import Any

from tilewright.judge import open_judge

from .folder import find_run
from .graph import build_graph
from .journal import Journal
from .runner import Watcher, open_search
from .search import Search
from .view import fold


def studio_graph(config: dict[str, Any]) -> Any:
    """The compiled graph of `config["configurable"]["run"]`, or of the latest run. Checkpoints are the caller's."""
    word = config.get("configurable", {}).get("run", "latest")

    @functools.cache
    def opened() -> Search:
        journal = Journal(find_run(word))
        view = fold(journal.events)
        return open_search(journal, view, open_judge(view.judge), Watcher())

    return build_graph(opened, None)
