"""Is the judge's clock right? Its times against Triton's own launcher, a kernel against itself, planted differences.

    python benchmarks/measure_judge.py build FOLDER          anywhere: plans of the right solutions
    python benchmarks/measure_judge.py run FOLDER RECORD     on a GPU machine

Candidates are run here by Triton itself, in this process, for the comparison alone: they are the specs' own solutions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PLANTED = {"+5 %": 1.05, "+1.5 %": 1.015}
COMPARISONS = {"same": 200, "+5 %": 50, "+1.5 %": 50}
OF = "rmsnorm/row_in_registers"


def build(folder: Path) -> None:
    from tilewright.verify import build_plans, default_config, open_builder
    from tilewright_sandbox.candidate import parse_candidate
    from tilewright_sandbox.contract import Candidate, Workload
    from tilewright_sandbox.jobs import BuildJob
    from tilewright_sandbox.spec import load_spec

    entries = []
    for path in sorted((ROOT / "specs").glob("*/solutions/right/*.py")):
        spec_folder = load_spec(path.parents[2])
        spec = spec_folder.spec
        candidate = parse_candidate(path.read_text(), proposer="person", spec=spec)
        assert isinstance(candidate, Candidate), candidate
        config = default_config(spec, candidate)
        assert config is not None
        workload = spec.with_role("bench")[0]
        name = f"{spec.name}/{path.stem}"
        wanted = {"": workload}
        if name == OF:
            for label, factor in PLANTED.items():
                axes = workload.axes | {"tokens": round(workload.axes["tokens"] * factor)}
                wanted[label] = Workload(role="bench", axes=axes)
        jobs = tuple(BuildJob(config=config, workload=each) for each in wanted.values())
        with open_builder("auto", True) as session:
            plans = build_plans(session, spec, candidate, config, "sm_90", folder / "blobs", jobs)
        if not isinstance(plans, tuple):
            sys.stdout.write(f"{name}: {plans.message}\n")
            continue
        for label, plan in zip(wanted, plans, strict=True):
            entries.append(
                {"name": name, "planted": label, "config": config.root, "plan": plan.model_dump(mode="json")}
            )
        sys.stdout.write(f"{name}\n")
    (folder / "parity.json").write_text(json.dumps(entries))


class Contender:
    """One plan on slots of its own, and arms that replay it."""

    def __init__(self, entry: dict[str, Any], folder: Path) -> None:
        import torch

        from tilewright_sandbox.contract import Plan
        from tilewright_sandbox.judge.cases import Case, case_inputs
        from tilewright_sandbox.judge.device.arena import SMALL_MARGIN_BYTES, Arena
        from tilewright_sandbox.judge.device.executor import Bound, KernelCache, wait
        from tilewright_sandbox.judge.device.timing import slot_count
        from tilewright_sandbox.spec import load_spec

        self.name, self.config = entry["name"], entry["config"]
        self.plan = Plan.model_validate(entry["plan"])
        spec_name, _, self.stem = self.name.partition("/")
        self.spec = load_spec(ROOT / "specs" / spec_name).spec
        kernels = KernelCache(lambda sha256: (folder / "blobs" / sha256).read_bytes())
        self.slots = []
        for number in range(slot_count(self.plan, 3)):
            case = Case("budget", self.plan.workload, self.plan.dtypes, f"slot:{number}")
            arena = Arena(self.plan.buffers, "cuda", SMALL_MARGIN_BYTES)
            arena.poison("nan")
            for name, value in case_inputs(self.spec, case, b"parity", "cuda").items():
                if isinstance(value, torch.Tensor):
                    arena.view(self.plan.inputs[name]).copy_(value)
            self.slots.append((arena, Bound(self.plan, kernels.of(self.plan), arena)))
        wait()

    def arm(self, label: str) -> Any:
        return self._arm(label, [bound.run for _, bound in self.slots])

    def launcher_arm(self, label: str) -> Any:
        """Triton's own launcher on the same inputs."""
        import importlib.util

        path = ROOT / "specs" / self.spec.name / "solutions/right" / f"{self.stem}.py"
        loader = importlib.util.spec_from_file_location(f"candidate_{self.spec.name}_{self.stem}", path)
        assert loader is not None
        assert loader.loader is not None
        module = importlib.util.module_from_spec(loader)
        loader.loader.exec_module(module)

        def call(arena: Any) -> Callable[[], Any]:
            values = [arena.view(self.plan.inputs[i.name]) if i.kind == "tensor" else i.value for i in self.spec.inputs]
            return lambda: module.run(*values, **self.config)

        return self._arm(label, [call(arena) for arena, _ in self.slots])

    def _arm(self, label: str, calls: list[Callable[[], Any]]) -> Any:
        from tilewright_sandbox.judge.device.blocks import Arm
        from tilewright_sandbox.judge.device.executor import capture, wait

        def run() -> None:
            for call in calls:
                call()

        run()
        wait()
        return Arm(label, capture(run).replay, len(calls))


def run(folder: Path, record: Path) -> None:
    import torch
    import triton

    from tilewright_sandbox.contract import PLACEMENT
    from tilewright_sandbox.judge.device.blocks import measure
    from tilewright_sandbox.judge.device.driver import use_device
    from tilewright_sandbox.judge.device.nvml import Card
    from tilewright_sandbox.judge.device.statistics import median

    use_device()
    card = Card()
    entries = json.loads((folder / "parity.json").read_text())
    found: dict[str, Any] = {
        "command": "python benchmarks/measure_judge.py run FOLDER RECORD", "device": card.identity().__dict__,
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "parity": [], "comparisons": {},
    }  # fmt: skip
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for entry in entries:
            if entry["planted"]:
                continue
            try:
                contender = Contender(entry, folder)
                samples = measure([contender.arm("judge"), contender.launcher_arm("triton")], card, 0.3)
            except Exception as error:
                sys.stdout.write(f"parity {entry['name']}: {type(error).__name__}: {str(error)[:200]}\n")
                continue
            ours, theirs = median(samples.times_us("judge")), median(samples.times_us("triton"))
            ratio = samples.ratio("judge", "triton")
            label = contender.plan.workload.label
            pair = {"name": entry["name"], "workload": label, "judge_us": ours, "triton_us": theirs, "ratio": ratio}
            found["parity"].append(pair)
            sys.stdout.write(f"parity {entry['name']:40s} {ours:9.1f} {theirs:9.1f}  {ratio[1]:.4f}\n")
            del contender
            torch.cuda.empty_cache()
        by_label = {entry["planted"]: entry for entry in entries if entry["name"] == OF}
        fast = Contender(by_label[""], folder)
        others = {"same": Contender(by_label[""], folder)}
        others |= {label: Contender(by_label[label], folder) for label in PLANTED}
        ours, again = fast.arm("ours"), fast.arm("ours again")
        for label, count in COMPARISONS.items():
            other = others[label].arm("other")
            begun, results = time.monotonic(), []
            for _ in range(count):
                samples = measure([ours, again, other], card, 0.0)
                results.append({"ratio": samples.ratio("other", "ours"), "noise": samples.ratio("ours again", "ours")})
            claims = sum(r["ratio"][0] > max(1.0 + PLACEMENT, r["noise"][2]) for r in results)
            losses = sum(r["ratio"][2] < min(1.0 / (1.0 + PLACEMENT), r["noise"][0]) for r in results)
            found["comparisons"][label] = {"count": count, "faster": claims, "slower": losses, "results": results}
            mid = median([r["ratio"][1] for r in results])
            text = f"{label}: of {count}, faster {claims}, slower {losses}; median ratio {mid:.4f}"
            sys.stdout.write(f"{text}; {time.monotonic() - begun:.1f} s\n")
            sys.stdout.flush()
    record.write_text(json.dumps(found) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["build", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("record", type=Path, nargs="?")
    given = parser.parse_args()
    if given.what == "build":
        build(given.folder)
    else:
        run(given.folder, given.record)


if __name__ == "__main__":
    main()
