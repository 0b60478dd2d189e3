"""Which box is chosen, and what is said where none will do. Nothing degrades silently."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tilewright_sandbox.boxes import choose, is_trusted, probe_all
from tilewright_sandbox.boxes.bubblewrap import PACKAGE, BubblewrapBox
from tilewright_sandbox.contract import SandboxUnavailable

needs_bubblewrap = pytest.mark.skipif(not BubblewrapBox().probe().usable, reason=BubblewrapBox().probe().reason)


def put_on_path(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `bwrap` of our own making, first on PATH."""
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@needs_bubblewrap
def test_auto_takes_bubblewrap_where_it_works() -> None:
    assert choose("auto", trusted=False).label == "bubblewrap"
    assert [report.name for report in probe_all()] == ["docker", "bubblewrap", "process"]
    assert [report.isolates for report in probe_all()] == [True, True, False]


def test_without_bubblewrap_only_built_in_candidates_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose("auto", trusted=True).label == "process (unsafe)"
    with pytest.raises(SandboxUnavailable, match="--sandbox process") as refused:
        choose("auto", trusted=False)
    assert "install bubblewrap" in refused.value.fix
    with pytest.raises(SandboxUnavailable, match="not installed"):
        choose("bubblewrap", trusted=True)
    assert choose("process", trusted=False).label == "process (unsafe)"


def test_a_bwrap_that_does_not_isolate_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reports a version, takes every option and runs the command on the bare machine."""
    put_on_path(tmp_path, 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"', monkeypatch)
    report = BubblewrapBox().probe()
    assert not report.usable
    assert "leaks" in report.reason
    assert not (PACKAGE / "probe").exists()
    with pytest.raises(SandboxUnavailable, match="leaks"):
        choose("auto", trusted=False)


def test_a_bwrap_that_fails_is_reported_with_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(tmp_path, "echo 'bwrap: No permissions to create new namespace' >&2; exit 1", monkeypatch)
    report = BubblewrapBox().probe()
    assert not report.usable
    assert "No permissions to create new namespace" in report.reason
    assert "user namespaces" in report.fix


def test_a_bwrap_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(tmp_path, "echo 'bwrap: Unknown option --disable-userns' >&2; exit 1", monkeypatch)
    assert "0.8" in BubblewrapBox().probe().fix


def test_names() -> None:
    with pytest.raises(SandboxUnavailable, match="docker box cannot be used"):
        choose("docker", trusted=True)
    with pytest.raises(ValueError, match="no box is named"):
        choose("chroot", trusted=True)
    assert all(is_trusted(name) for name in ("templates", "inductor"))
    assert not any(is_trusted(name) for name in ("person", "llm:any", "inbox", "template", ""))


@needs_bubblewrap
def test_python_and_package_below_tmp_are_seen_in_the_box(tmp_path: Path) -> None:
    """The box's own /tmp must not hide an installation that lies below the host's."""
    place = Path("/tmp") / tmp_path.relative_to(tmp_path.anchor).name / "installed"
    venv.create(place, symlinks=True)
    try:
        paths = [entry for entry in sys.path if entry] + [str(PACKAGE.parent)]
        program = (
            f"import sys; sys.path[:0] = {paths!r}; import subprocess\n"
            "from tilewright_sandbox.boxes.bubblewrap import bubblewrap_argv\n"
            "look = ['/bin/sh', '-c', 'test -x \"$0\" && : > /tmp/mine', sys.executable]\n"
            "sys.exit(subprocess.run(bubblewrap_argv(look)).returncode)"
        )
        assert subprocess.run([place / "bin" / "python", "-c", program], check=False).returncode == 0
    finally:
        shutil.rmtree(place.parent)
