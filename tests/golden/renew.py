"""Writes the golden graphs and sources anew; read the difference before you commit it. Needs torch."""

from __future__ import annotations

from pathlib import Path

from tilewright.propose import ProposalContext
from tilewright.propose.templates import written
from tilewright_sandbox.judge.trace import trace
from tilewright_sandbox.spec import load_spec

GOLDEN = Path(__file__).parent
FORMS = {
    "softmax": ("resident row", "online"),
    "rmsnorm": ("multi-row", "looped"),
    "matmul_bias_gelu": ("tiled", "split-K"),
    "cross_entropy": ("online",),
    "groupnorm_silu": ("looped",),
}


def main() -> None:
    for name, titles in FORMS.items():
        folder = load_spec(GOLDEN.parents[1] / "specs" / name)
        graph = trace(folder)
        (GOLDEN / f"{name}.graph.json").write_text(graph.model_dump_json(indent=1) + "\n")
        for form in written(ProposalContext(folder.spec, graph, "sm_90")):
            if form.title in titles:
                (GOLDEN / f"{name}.{form.title.replace(' ', '_')}.py").write_text(form.module.text())


if __name__ == "__main__":
    main()
