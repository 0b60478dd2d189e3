"""`report.html`: self-contained, every text escaped, and no modelled time without that word."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tilewright.loop import events as ev
from tilewright.loop.folder import BLOBS
from tilewright.loop.journal import JournalError, read_journal
from tilewright.report import write_report
from tilewright.report.highlight import highlight
from tilewright.report.plots import Point, plot
from tilewright_sandbox.contract import (
    Buffer,
    Config,
    Kernel,
    Launch,
    Measured,
    MeasuredTime,
    Plan,
    Pointer,
    Rejected,
    Resources,
    candidate_id,
)

RECORDED = read_journal(Path(__file__).parents[1] / "recorded_run")
HOSTILE = "</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{ 7*7 }}"
WINNER = "7f81db4027cab894"
Change = Callable[[Any], Any]


def write(
    path: Path,
    change: Change = lambda event: event,
    *,
    until: int = len(RECORDED),
    renamed: tuple[str, str] = (WINNER, WINNER),
) -> str:
    """The page of the recorded run with its events changed; `until` cuts the journal short."""
    path.mkdir(parents=True, exist_ok=True)
    lines = [change(event).model_dump_json() for event in RECORDED[:until]]
    (path / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines).replace(*renamed))
    written = write_report(path)
    assert written == path / "report.html"
    return written.read_text(encoding="utf-8")


class Page(HTMLParser):
    """Elements with their attributes, and the text that a reader sees by element class."""

    VOID = frozenset({"meta", "img", "br", "line", "circle", "path", "link"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    @property
    def balanced(self) -> bool:
        return not self._open

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def check_self_contained(html: str) -> Page:
    page = Page(html)
    assert page.balanced
    for tag, attributes in page.elements:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "a"}
        for name in attributes:
            assert name not in {"src", "srcset", "href", "xlink:href", "data", "action", "poster"}, (tag, name)
            assert not name.startswith("on"), (tag, name)
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in html
    return page


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("report"))


def test_the_page_loads_nothing_and_runs_nothing(html: str) -> None:
    check_self_contained(html)
    assert not re.search(r"https?:|//[a-z]", html.replace("//{", ""))


def test_the_page_tells_the_whole_run(html: str) -> None:
    page = Page(html)
    for phrase in (
        "softmax", "Verified, not timed", "looped passed 7 of 10 checks", "nothing was timed",
        "structure", "determinism", "lattice", "NOT RUN", "Mandatory: this blocks acceptance",
        "no time was measured (evidence: interpreter + compiled for sm_90)",
        "rejected at memory", "unwritten", "366 of 427 elements of y are never written",
        "winner", "BLOCK=512 num_warps=4", "registers 32", "occupancy 100%", "What mattered", "18 trials",
        "no proposer has anything new to offer", "NVIDIA H200", "bubblewrap", "search seed", "torch", "3.6.0",
        "tilewright optimize softmax --target sm_90 --sandbox bubblewrap --seed 0",
        "tilewright verify softmax runs/20261201T022102Z-softmax-f49c/candidates/7f81db4027cab894.py",
        "def softmax_rows(",
    ):  # fmt: skip
        assert phrase in page.text, phrase
    assert page.count("svg") == 4, "the trajectory and three searches"


def test_the_source_is_shown_whole_and_in_order(html: str) -> None:
    proposed = next(e for e in RECORDED if isinstance(e, ev.Proposed)).candidates
    winner = next(c for c in proposed if c.id == WINNER).source
    shown = re.search(r'<pre class="code"><code>(.*?)</code></pre>', html, re.DOTALL)
    assert shown is not None
    assert Page(shown[1]).text.rstrip("\n") == winner.rstrip("\n")


def test_every_text_of_a_candidate_is_escaped(tmp_path: Path) -> None:
    source = f'"""{HOSTILE}"""\n# {HOSTILE}\nx = 1\n'
    hostile = {"title": HOSTILE, "proposer": HOSTILE}

    def change(event: Any) -> Any:
        updates: dict[str, Any] = {}
        if isinstance(event, ev.Proposed):
            updates["candidates"] = tuple(
                c.model_copy(update={**hostile, "source": source if c.id == WINNER else c.source})
                for c in event.candidates
            )
        if isinstance(event, ev.JudgedEvent) and isinstance(event.verdict, Rejected):
            updates["verdict"] = event.verdict.model_copy(update={"message": HOSTILE})
        if isinstance(event, ev.JudgedEvent) and isinstance(event.verdict, Measured):
            checks = tuple(
                c.model_copy(update={"reason": HOSTILE, "facts": {HOSTILE: HOSTILE}}) for c in event.verdict.checks
            )
            updates["verdict"] = event.verdict.model_copy(update={"checks": checks, "box": HOSTILE})
        if isinstance(event, ev.TrialEvent):
            updates |= {"config": Config({HOSTILE: HOSTILE}), "reason": HOSTILE}
        if isinstance(event, ev.Tuned | ev.Compared):
            updates["config"] = Config({HOSTILE: HOSTILE})
        if isinstance(event, ev.Tuned):
            updates["importance"] = {HOSTILE: 1.0}
        if isinstance(event, ev.Decided):
            updates["reason"] = HOSTILE
        if isinstance(event, ev.Compared):
            updates["message"] = HOSTILE
        if isinstance(event, ev.RunStarted):
            spec = event.run.spec.model_copy(update={"summary": HOSTILE})
            updates["run"] = event.run.model_copy(update={"spec": spec, "versions": {HOSTILE: HOSTILE}})
        return event.model_copy(update=updates)

    html = write(tmp_path, change, renamed=(WINNER, candidate_id(source)))
    page = check_self_contained(html)
    assert page.text.count("alert(1)") > 50
    assert page.text.count("{{ 7*7 }}") == page.text.count("alert(1)")


def test_no_time_stands_without_the_word_modelled(html: str) -> None:
    """On a run with no device, each part of the page that shows a time says that it is modelled."""
    body = html[html.index("<main>") :]
    figures = re.findall(r"<div><dt>.*?</div>", body, re.DOTALL)
    parts = [*figures, *re.findall(r"<section.*?</section>", body, re.DOTALL)]
    timed = [part for part in parts if re.search(r"\d (µs|ms)\b", Page(re.sub(r"<svg.*?</svg>", "", part)).text)]
    assert len(timed) >= 6
    for part in timed:
        assert "odelled" in Page(part).text, part[:300]
    rows = re.findall(r"<tr><th scope=\"row\" class=\"mono\">rows=.*?</tr>", body, re.DOTALL)
    assert len(rows) == 3
    assert all('<span class="kind modelled">modelled</span>' in row for row in rows)
    assert "measured speed-up" not in body
    for label in re.findall(r"<title>(.*?)</title>", body):
        assert "modelled" in label


def test_measured_times_are_called_measured_and_lead_the_page(tmp_path: Path) -> None:
    def change(event: Any) -> Any:
        if not (isinstance(event, ev.JudgedEvent) and event.depth == "full" and isinstance(event.verdict, Measured)):
            return event
        times = tuple(
            MeasuredTime(
                workload=time.workload, median_us=80.5, p10_us=80.0, p90_us=81.0, samples=200,
                baselines_us={"eager": 120.0}, ratio=(1.41, 1.5, 1.56), roofline_us=60.0,
            )
            for time in event.verdict.times
        )  # fmt: skip
        update = {"times": times, "device_uuid": "GPU-1", "evidence": "device: NVIDIA H200"}
        return event.model_copy(update={"verdict": event.verdict.model_copy(update=update)})

    page = Page(write(tmp_path, change))
    assert "1.50× faster (1.41× to 1.56×)" in page.text
    assert "measured speed-up" in page.text
    assert "nothing was timed" not in page.text
    assert "80.5 µs" in page.text


@pytest.mark.parametrize("until", range(1, len(RECORDED), 3))
def test_a_run_that_was_cut_anywhere_has_a_page(until: int, tmp_path: Path) -> None:
    page = check_self_contained(write(tmp_path, until=until))
    assert "nothing was timed" in page.text
    assert "tilewright optimize softmax" in page.text


def test_kernels_are_shown_from_the_stored_plan(tmp_path: Path) -> None:
    resources = Resources(
        registers=77, spill_bytes=48, stack_bytes=48, shared_bytes=4096, cubin_bytes=1,
        instructions={"MUFU": 9, "LDG": 31},
    )  # fmt: skip
    kernel = Kernel(
        name="softmax_rows", cubin_sha256="a" * 64, ttir_sha256="b" * 64, num_warps=4, num_stages=3, shared_bytes=4096,
        signature=("*bf16",), resources=resources,
    )  # fmt: skip
    workload = next(e for e in RECORDED if isinstance(e, ev.RunStarted)).run.spec.workloads[0]
    plan = Plan(
        spec_sha256="c" * 64, candidate_id="7f81db4027cab894", config=Config({"BLOCK": 512, "num_warps": 4}),
        workload=workload, dtypes={"x": "bfloat16"}, target="sm_90", versions={}, compiled=True,
        buffers=(Buffer(name="x", role="input", bytes=2),), kernels=(kernel,),
        steps=(Launch(kernel=0, kernel_name="k", grid=(4096, 1, 1), arguments=(Pointer(buffer=0),)),),
        inputs={}, outputs={},
    )  # fmt: skip
    (tmp_path / BLOBS).mkdir()
    (tmp_path / BLOBS / plan.sha256).write_bytes(plan.model_dump_json().encode())

    def change(event: Any) -> Any:
        if isinstance(event, ev.JudgedEvent) and event.depth == "full":
            return event.model_copy(update={"verdict": event.verdict.model_copy(update={"plans": (plan.sha256,)})})
        return event

    text = Page(write(tmp_path, change)).text
    for phrase in ("softmax_rows", "77", "48 B", "4,096 B", "LDG 31", "MUFU 9", "4096 · rows=4096,cols=8192"):
        assert phrase in text, phrase


def test_without_a_journal_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_plots_take_what_has_no_finite_value() -> None:
    points = [Point(None, "bad", "<b>"), Point(float("inf"), "bad", "&"), Point(3.0, "plain", '"quoted"')]
    svg = str(plot(points, [None, None, 3.0], across="trial"))
    assert svg.count('class="mark bad"') == 2
    assert svg.count("<circle") == 1
    assert "<b>" not in svg
    assert "nan" not in svg
    assert "inf" not in svg
    assert "<svg" in str(plot([Point(None, "bad", "")], [None], across="trial", floor_us=None))


def test_highlighting_keeps_every_line() -> None:
    lines = highlight("\n\nx = '<&>'  # </span>\n\n")
    assert len(lines) == 4
    assert "&lt;&amp;&gt;" in lines[2]
    assert "</span></span>" not in lines[2].replace("&lt;/span&gt;", "")
