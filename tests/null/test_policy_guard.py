"""The guard that holds while candidate code runs: what it refuses, what it lets through, that it forgets nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
import ctypes, os, socket, subprocess, threading
from tilewright_sandbox.builder.guard import Watch, install_guard
from tilewright_sandbox.builder.refusal import Refusal
from tilewright_sandbox.builder.source import load_candidate
watch = Watch()
install_guard(watch)
outcomes = []
for source in json.load(sys.stdin):
    watch.first = raised = None
    try:
        with watch.candidate_code():
            load_candidate(source)
    except Refusal as refusal:
        raised = refusal.code
    outcomes.append([raised, watch.first and watch.first.code, watch.first and watch.first.message])
with open(sys.argv[1], "w") as stream:  # the guard is off again
    json.dump(outcomes, stream)
threading.Thread(target=int).start()
"""
REFUSED = [
    ("import threading\nthreading.Thread(target=print).start()\n", "thread_not_allowed"),
    ("import _thread\n_thread.start_new_thread(print, ())\n", "thread_not_allowed"),
    ("import os\nos.system('true')\n", "process_not_allowed"),
    ("import os\nos.execv('/bin/true', ['true'])\n", "process_not_allowed"),
    ("import os\nos.posix_spawn('/bin/true', ['true'], {})\n", "process_not_allowed"),
    ("import os\nos.open('/tmp/x', os.O_WRONLY | os.O_CREAT)\n", "file_not_allowed"),
    ("import pathlib\npathlib.Path('/tmp/x').write_text('')\n", "file_not_allowed"),
    ("import os\nos.remove('/tmp/never-there')\n", "file_not_allowed"),
    ("import socket\nsocket.create_connection(('127.0.0.1', 9))\n", "network_not_allowed"),
    ("import ctypes\nctypes.CDLL(None)\n", "foreign_code_not_allowed"),
    ("import sys\nsys.settrace(None)\n", "introspection_not_allowed"),
    ("def f(): ...\ngetattr(f, '__co' + 'de__')\n", "introspection_not_allowed"),
    ("def f(): ...\nsetattr(f, '__defa' + 'ults__', ())\n", "introspection_not_allowed"),
    ("import operator\noperator.attrgetter('__co' + 'de__')(lambda: 0)\n", "introspection_not_allowed"),
    ("import sys\nsys._getframe(0)\n", "introspection_not_allowed"),
    ("import gc\ngc.get_objects()\n", "introspection_not_allowed"),
    ("import types\ntypes.FunctionType(compile('1', 'x', 'eval'), {})\n", "introspection_not_allowed"),
    ("import types\nexec('1')\n", "introspection_not_allowed"),
]
SWALLOWED = "import os\ntry:\n    os.system('true')\nexcept BaseException:\n    pass\n"
HARMLESS = [
    "import sys\nopen(sys.executable, 'rb').read(4)\n",
    "import sys\nfor name in ('ctypes', 'ctypes._endian'):\n    sys.modules.pop(name)\nimport ctypes\n",  # loads late
    "import math, functools\nx = functools.reduce(max, [math.pi])\n",
    "import inspect, functools\ndef f(): ...\nfunctools.wraps(f)(lambda: 0), inspect.signature(f), inspect.stack()\n",
    "from collections import namedtuple\nfrom dataclasses import dataclass\nnamedtuple('T', 'a b')\n"
    "@dataclass\nclass D:\n    a: int = 0\n",
]


def test_what_the_guard_refuses_and_lets_through(tmp_path: Path) -> None:
    sources = [*(source for source, _ in REFUSED), SWALLOWED, *HARMLESS]
    answer = tmp_path / "outcomes.json"
    subprocess.run([sys.executable, "-c", SCRIPT, str(answer)], input=json.dumps(sources), text=True, check=True)
    outcomes = json.loads(answer.read_text())
    assert len(outcomes) == len(sources)
    for (source, code), (raised, first, message) in zip(REFUSED, outcomes, strict=False):
        assert raised == first == code, source
        assert message.startswith("candidate.py:2 "), message
    assert outcomes[len(REFUSED)][:2] == [None, "process_not_allowed"]
    for source, outcome in zip(HARMLESS, outcomes[len(REFUSED) + 1 :], strict=True):
        assert outcome == [None, None, None], source
