"""Kill `optimize` at random moments, resume it each time, and compare the end with an undisturbed run.

    python benchmarks/kill_resume.py [SPEC] --kills 10 --rounds 1 --trials 8

SIGKILL goes to the agent process alone, as the kernel or a scheduler would send it. A table shows each kill: when, what
the journal's last line was, whether it was torn, and whether any process of the killed session was alive 5 s later.
Verified kernels with their configs, trials and decisions must be those of the undisturbed run; exit 1 if not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tilewright.loop.folder import list_runs
from tilewright.loop.journal import FILE, read_journal
from tilewright.loop.view import fold
from tilewright_sandbox.boxes.framed_process import MARK
from tilewright_sandbox.contract import Measured

REPOSITORY = Path(__file__).resolve().parents[1]
GONE_WITHIN_S = 5.0


@dataclass
class Kill:
    after_s: float
    events: int
    last: str
    torn: bool
    left_alive: int


def start(runs: Path, arguments: list[str]) -> subprocess.Popen[str]:
    runs.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "tilewright", *arguments, "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "TILEWRIGHT_RUNS": str(runs)},
        stdout=subprocess.PIPE,
        stderr=(runs / "stderr").open("a"),
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate()
    if process.returncode not in (0, 1, 2):
        raise SystemExit(f"{' '.join(map(str, process.args))} ended with {process.returncode}: {out}")
    return dict(json.loads(out))


def children_of(agent: int) -> list[int]:
    """Processes that this agent's sessions started, and theirs: each carries a mark that begins with the agent's id."""
    mark = f"{MARK}=/{agent}-".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def left_alive(agent: int) -> int:
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := len(children_of(agent))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def kill_after(process: subprocess.Popen[str], seconds: float, runs: Path) -> Kill | None:
    """None if it ended by itself first."""
    begun = time.monotonic()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    else:
        return None
    finally:
        assert process.stdout is not None
        process.stdout.close()
    after_s, alive = time.monotonic() - begun, left_alive(process.pid)
    found = list_runs(runs)
    if not found:
        return Kill(after_s, 0, "–", False, alive)
    events = read_journal(found[-1])
    torn = not (found[-1] / FILE).read_bytes().endswith(b"\n")
    return Kill(after_s, len(events), events[-1].kind if events else "–", torn, alive)


def essence(run: Path) -> dict[str, Any]:
    """What must not depend on interruptions: kernels with configs, trials, decisions. No times of day, no seeds."""
    view = fold(read_journal(run))
    candidates = {
        c.id: {
            "state": c.state,
            "built": c.built and (c.built.config.root, c.built.modelled_us, c.built.plans),
            "trials": [(t.config.root, t.value_us, t.state) for t in c.trials],
            "tuned": c.tuned and (c.tuned.config.root, c.tuned.value_us),
            "verdicts": [(v.depth, v.config and v.config.root, v.verdict.verdict) for v in c.verdicts],
        }
        for c in view.candidates.values()
    }
    best = view.best_verdict
    return {
        "candidates": candidates,
        "compared": [(c.round, c.candidate_id, c.config and c.config.root, c.modelled_us) for c in view.compared],
        "decided": [(d.round, d.go_on, d.status, d.reason) for d in view.decided],
        "verified": best and {c.name: c.status for c in best.checks} if isinstance(best, Measured) else None,
        "status": view.status,
    }


def differences(one: Any, other: Any, where: str = "run") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            d for key in one.keys() | other.keys() for d in differences(one.get(key), other.get(key), f"{where}.{key}")
        ]
    return [] if one == other else [f"{where}: {one!r} undisturbed, {other!r} killed"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="?", default="specs/softmax")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0, help="of the search and of the moments of the kills")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    spec = str(Path(given.spec).resolve())
    optimize = [
        "optimize",
        spec,
        "--rounds",
        str(given.rounds),
        "--trials",
        str(given.trials),
        "--seed",
        str(given.seed),
    ]
    optimize += ["--budget-minutes", "600"]
    moments = random.Random(given.seed)

    with tempfile.TemporaryDirectory(prefix="tilewright-kills-") as folder:
        quiet, disturbed = Path(folder) / "quiet", Path(folder) / "disturbed"
        begun = time.monotonic()
        finish(start(quiet, optimize))
        whole_s = time.monotonic() - begun
        kills: list[Kill] = []
        for _ in range(10 * given.kills):
            if len(kills) == given.kills:
                break
            arguments = ["resume", "latest"] if list_runs(disturbed) else optimize
            process = start(disturbed, arguments)
            kill = kill_after(process, moments.uniform(0.3, max(4.0, whole_s / 3)), disturbed)
            if kill is None:
                break  # the run was done before all kills were spent
            kills.append(kill)
        finish(start(disturbed, ["resume", "latest"] if list_runs(disturbed) else optimize))
        found = differences(essence(list_runs(quiet)[-1]), essence(list_runs(disturbed)[-1]))
        runs = len(list_runs(disturbed))
    if runs != 1:
        found.append(f"{runs} runs where one was killed and resumed")
    found += [
        f"{kill.left_alive} processes outlived the kill after {kill.after_s:.1f} s" for kill in kills if kill.left_alive
    ]
    if given.json:
        print(json.dumps({"undisturbed_s": whole_s, "kills": [asdict(kill) for kill in kills], "differences": found}))
    else:
        print(f"undisturbed: {whole_s:.1f} s")
        print(f"{'killed after':>12}  {'events':>6}  {'last event':<18}  torn  alive 5 s later")
        for kill in kills:
            torn = "yes" if kill.torn else "no"
            print(f"{kill.after_s:>10.1f} s  {kill.events:>6}  {kill.last:<18}  {torn:<4}  {kill.left_alive}")
        print("\n".join(found) or f"after {len(kills)} kills: the same kernels, configs, trials and decisions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
