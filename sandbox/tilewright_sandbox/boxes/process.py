"""The `process` box: a clean environment, resource limits and a sure end. It isolates nothing, and says so."""

from __future__ import annotations

from ..contract import BoxReport
from .framed_process import FramedProcess
from .private_folder import make_private_folder
from .protocol import Role, Session
from .worker import worker_argv, worker_environment


class ProcessBox:
    """A subprocess of this user, with this user's files and network. For candidates that ship with Tilewright, and for
    any other only where a person asked for it by name."""

    name = "process"
    label = "process (unsafe)"
    isolates = False

    def probe(self) -> BoxReport:
        return BoxReport(
            name="process", usable=True, isolates=False, reason="isolates nothing: same user, files, network"
        )

    def start(self, role: Role) -> Session:
        home, remove = make_private_folder()
        return FramedProcess(
            worker_argv(role),
            env=worker_environment(home),
            cwd=home,
            label=self.label,
            greets=True,
            cleanup=remove,
        )
