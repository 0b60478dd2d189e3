"""`report.html` in a real browser: everything is laid out and legible, in light and dark, wide and narrow."""

from __future__ import annotations

import html
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tilewright.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")

RECORDED = Path(__file__).parents[1] / "recorded_run"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
"""The last one leaves no name to resolve, so that nothing leaves the machine."""
SCHEMES = {"light": (), "dark": ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")}
SIZES = {"wide": (1100, 900), "narrow": (500, 900)}
MEASURE = """
<script>
const channels = c => (c.match(/[\\d.]+/g) || []).map(Number);
const luminance = c => channels(c).slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = e => {
  for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return getComputedStyle(e).backgroundColor;
  }
  return "rgb(255, 255, 255)";
};
const contrast = e => {
  const style = getComputedStyle(e), inside = e.closest("svg");
  const one = luminance(inside ? style.fill : style.color), two = luminance(ground(e));
  return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
};
const boxes = selector => [...document.querySelectorAll(selector)].map(e => {
  const box = e.getBoundingClientRect();
  return {text: e.textContent.trim().slice(0, 200), width: box.width, height: box.height, top: box.top};
});
const hasText = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
const texts = [...document.querySelectorAll("main *")].filter(e => e.tagName !== "title" && hasText(e));
const measured = {
  headline: boxes(".verdict h2"), banners: boxes(".banner"), checks: boxes(".checks tbody tr"),
  code: boxes(".code .line"), plots: boxes("svg"), marks: boxes("svg circle, svg .mark"),
  paper: getComputedStyle(document.body).backgroundColor,
  pageWidth: document.documentElement.scrollWidth, windowWidth: innerWidth,
  faint: texts.map(e => [contrast(e), e.textContent.trim().slice(0, 60)]).filter(([c]) => !(c >= 4.5)),
};
const out = document.createElement("pre");
out.id = "measured";
out.textContent = JSON.stringify(measured);
document.body.append(out);
</script>
"""


def chromium(folder: Path, page: Path, *flags: str) -> str:
    """What headless chromium writes to standard output, with a profile of its own."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, page.as_uri()],
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "run"
    shutil.copytree(RECORDED, path)
    return write_report(path)


def without_policy(report: Path) -> str:
    source = report.read_text(encoding="utf-8")
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", source)
    assert policy is not None
    return source.replace(policy[0], "")


@pytest.fixture(scope="module", params=[("light", "wide"), ("dark", "wide"), ("light", "narrow")], ids="-".join)
def measured(request: pytest.FixtureRequest, report: Path) -> dict[str, Any]:
    """The layout of the page, measured by a script in a copy of it: the page itself allows none."""
    scheme, size = request.param
    copy = report.parent / "measured.html"
    copy.write_text(without_policy(report).replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    window = "--window-size={},{}".format(*SIZES[size])
    dom = chromium(report.parent, copy, *SCHEMES[scheme], window, "--dump-dom")
    found = re.search(r'<pre id="measured">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None, dom[-2000:]
    return {**json.loads(html.unescape(found[1])), "scheme": scheme}


def shown(boxes: list[dict[str, Any]]) -> list[str]:
    """The texts of boxes, all of which have a size."""
    assert boxes
    for box in boxes:
        assert box["width"] > 0, box
        assert box["height"] > 0, box
    return [box["text"] for box in boxes]


def test_the_verdict_and_its_banner_are_seen_first(measured: dict[str, Any]) -> None:
    assert shown(measured["headline"]) == ["Verified, not timed"]
    assert shown(measured["banners"]) == ["Modelled: nothing was timed, and nothing can be accepted from this run."]
    assert measured["banners"][0]["top"] < 500


def test_the_evidence_has_a_row_for_each_check(measured: dict[str, Any]) -> None:
    rows = shown(measured["checks"])
    assert len(rows) == 10
    assert sum("PASS" in row for row in rows) == 7
    assert any(row.startswith("physics") and "NOT RUN" in row for row in rows)


def test_the_code_is_laid_out_line_by_line(measured: dict[str, Any]) -> None:
    lines = measured["code"]
    assert len(lines) > 40
    assert any("def softmax_rows(" in line["text"] for line in lines)
    tops = [line["top"] for line in lines]
    assert tops == sorted(set(tops))


def test_the_plots_have_a_size_and_their_marks(measured: dict[str, Any]) -> None:
    shown(measured["plots"])
    assert len(measured["plots"]) == 4
    assert all(plot["width"] > 300 and plot["height"] > 100 for plot in measured["plots"])
    assert len(shown(measured["marks"])) == 4 + 18 + 18 + 6


def test_the_page_is_no_wider_than_the_window(measured: dict[str, Any]) -> None:
    assert measured["pageWidth"] <= measured["windowWidth"]


def test_every_text_can_be_read_on_its_ground(measured: dict[str, Any]) -> None:
    """WCAG AA: a contrast of at least 4.5."""
    assert measured["faint"] == []


def test_the_scheme_is_the_readers(measured: dict[str, Any]) -> None:
    brightness = sum(int(channel) for channel in re.findall(r"\d+", measured["paper"])[:3]) / 3
    assert brightness > 200 if measured["scheme"] == "light" else brightness < 60


def test_nothing_is_requested(report: Path) -> None:
    """By the browser's own log. That the log would tell is shown by a copy with an image in it."""
    with_image = report.parent / "image.html"
    image = '<main><img src="http://picture.invalid/a.png">'
    with_image.write_text(without_policy(report).replace("<main>", image), encoding="utf-8")
    assert requested(with_image) == {"picture.invalid"}
    assert requested(report) == set()


def requested(page: Path) -> set[str]:
    """Hosts that were asked for anything, the browser's own left out: it looks for updates whatever one tells it."""
    log = page.parent / "net.json"
    chromium(page.parent, page, f"--log-net-log={log}", "--dump-dom")
    hosts = {urlsplit(url).hostname or "" for url in re.findall(r'"url":"([^"]+)"', log.read_text(encoding="utf-8"))}
    return {host for host in hosts if not host.endswith((".google.com", ".googleapis.com"))}


def test_the_page_itself_is_drawn(report: Path) -> None:
    picture = report.parent / "page.png"
    chromium(report.parent, report, "--window-size=1000,1400", f"--screenshot={picture}")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (1000, 1400)
    assert len(data) > 50_000, "an empty page compresses to less"
    assert zlib.crc32(data[12:29]) == struct.unpack(">I", data[29:33])[0]


def test_the_page_allows_no_script(report: Path) -> None:
    """The policy holds in the browser: a script put into the page as it is does not run."""
    hostile = report.parent / "hostile.html"
    script = "<script>document.body.append('it ' + 'ran')</script>"
    hostile.write_text(report.read_text(encoding="utf-8").replace("</body>", f"{script}</body>"), encoding="utf-8")
    dom = chromium(report.parent, hostile, "--dump-dom")
    assert "Verified, not timed" in dom
    assert "it ran" not in dom
