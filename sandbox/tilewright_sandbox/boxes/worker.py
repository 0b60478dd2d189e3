"""The command line and environment of a worker: the same in every box."""

from __future__ import annotations

import sys

from .protocol import Role

PATH = "/usr/local/bin:/usr/bin:/bin"


def worker_argv(role: Role) -> list[str]:
    """`-I`: neither the environment nor the working folder may choose what is imported."""
    return [sys.executable, "-I", "-B", "-m", "tilewright_sandbox.builder", role]


def worker_environment(home: str) -> dict[str, str]:
    """Everything that a worker's environment holds: nothing is inherited. `home` is private and writable."""
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "HOME": home,
        "USER": "candidate",
        "TMPDIR": home,
        "TRITON_CACHE_DIR": f"{home}/triton",
        "CUDA_VISIBLE_DEVICES": "",  # fake tensors need none, and a real one would be initialised before the forks
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
