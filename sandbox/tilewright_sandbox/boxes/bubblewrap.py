"""The `bubblewrap` box: own namespaces, no network, no capabilities, a read-only view of Python and of this package."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from ..contract import BoxReport, SandboxUnavailable
from .framed_process import FramedProcess
from .protocol import Role, Session
from .worker import worker_argv, worker_environment

TMP_BYTES = 4 << 30
SHM_BYTES = 256 << 20
MAX_PROCESSES = 256
PACKAGE = Path(__file__).resolve().parents[1]
INSTALL = "apt-get install bubblewrap (dnf, pacman and apk have it too)"
USER_NAMESPACES = (
    "allow unprivileged user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 "
    "(Ubuntu 24.04 and later) or kernel.unprivileged_userns_clone=1; "
    "in a container, run it with --security-opt seccomp=unconfined"
)

PROBE = """
( : > /probe ) 2>/dev/null && { rm /probe; exit 41; }
( : > "$1/probe" ) 2>/dev/null && { rm "$1/probe"; exit 41; }
[ "$(grep -c : /proc/net/dev)" = 1 ] || exit 42
: > /tmp/probe || exit 43
/bin/true || exit 44
"""
PROBE_FAILURES = {
    41: "a write outside /tmp went through",
    42: "the network is visible",
    43: "/tmp cannot be written",
    44: "/bin/true cannot be run",
}


def _read_only_binds() -> list[str]:
    """Options that show the system's libraries, the Python installation and this package, and hide the agent's."""
    options = ["--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        path = Path(folder)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            options += ["--ro-bind", folder, folder]
    options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    shown = [Path("/usr")]
    for path in (Path(sys.base_prefix), Path(sys.prefix), PACKAGE):
        for place in dict.fromkeys((path, path.resolve())):
            if not any(place.is_relative_to(bound) for bound in shown):
                options += ["--ro-bind", str(place), str(place)]
                shown.append(place)
    for hidden in _agent_folders():
        if any(hidden.is_relative_to(bound) for bound in shown):
            options += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    return options


def _agent_folders() -> list[Path]:
    """Where the agent's package lies; in a wheel installation it is next to this one."""
    found = importlib.util.find_spec("tilewright")  # does not import it
    return [Path(place) for place in (found.submodule_search_locations or [])] if found else []


def bubblewrap_argv(command: list[str], program: str = "bwrap") -> list[str]:
    """`command` inside the box. Only /tmp and /dev/shm can be written; both are memory, bounded, and private."""
    environment = worker_environment("/tmp") | {"TILEWRIGHT_MAX_PROCESSES": str(MAX_PROCESSES)}
    argv = [program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    argv += ["--clearenv", "--cap-drop", "ALL", "--hostname", "box"]
    # before the binds: Python or this package may be installed somewhere below /tmp
    argv += ["--size", str(TMP_BYTES), "--tmpfs", "/tmp", *_read_only_binds()]
    argv += ["--proc", "/proc", "--dev", "/dev", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/"]
    for name, value in environment.items():
        argv += ["--setenv", name, value]
    return [*argv, "--chdir", "/tmp", "--", *command]


class BubblewrapBox:
    """Linux namespaces by bubblewrap; works without root where unprivileged user namespaces are allowed."""

    name = "bubblewrap"
    label = "bubblewrap"
    isolates = True

    def probe(self) -> BoxReport:
        """Starts a shell in the box and tries what must fail; a box that only claims to isolate is not usable."""
        program = shutil.which("bwrap")
        if program is None:
            return self._unusable("bwrap is not installed", INSTALL)
        try:
            version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10).stdout.strip()
            command = bubblewrap_argv(["/bin/sh", "-c", PROBE, "probe", str(PACKAGE)], program)
            tried = subprocess.run(  # in a session of its own: Ctrl-C at the terminal is the agent's, not the probe's
                command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL, start_new_session=True
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return self._unusable(f"bwrap does not run: {error}", INSTALL)
        if tried.returncode in PROBE_FAILURES:
            return self._unusable(
                f"the box leaks: {PROBE_FAILURES[tried.returncode]}", "report this with `bwrap --version`"
            )
        if tried.returncode:
            said = tried.stderr.strip().splitlines()[-1:] or [f"exit code {tried.returncode}"]
            fix = "install bubblewrap 0.8 or later" if "Unknown option" in tried.stderr else USER_NAMESPACES
            return self._unusable(f"bwrap cannot make a box: {said[0]}", fix)
        return BoxReport(name="bubblewrap", usable=True, isolates=True, version=version)

    def start(self, role: Role) -> Session:
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxUnavailable("bwrap is not installed", INSTALL)
        command = bubblewrap_argv(worker_argv(role), program)
        return FramedProcess(command, env={}, cwd="/", label=self.label, greets=True)

    @staticmethod
    def _unusable(reason: str, fix: str) -> BoxReport:
        return BoxReport(name="bubblewrap", usable=False, isolates=True, reason=reason, fix=fix)
