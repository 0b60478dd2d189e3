"""The kernels of the winner: resources and instruction mix, from the plans that the run stored."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tilewright.loop.folder import BLOBS
from tilewright.loop.view import RunView
from tilewright_sandbox.contract import Plan
from tilewright_sandbox.occupancy import occupancy
from tilewright_sandbox.targets import TARGETS

from .data import KernelRow

SHOWN_INSTRUCTIONS = 8


def kernel_rows(run_path: Path, view: RunView) -> tuple[KernelRow, ...]:
    """One row a distinct kernel and grid of the winner's plans; empty where the run stored none of its config."""
    rows: dict[tuple[str, str], KernelRow] = {}
    for plan in _plans(run_path, view):
        target = TARGETS.get(plan.target)
        for launch in plan.launches:
            kernel, used = plan.kernels[launch.kernel], plan.kernels[launch.kernel].resources
            grid = " × ".join(str(extent) for extent in launch.grid if extent > 1) or "1"
            mix = sorted(used.instructions.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_INSTRUCTIONS]
            fit = occupancy(kernel, target) if target else None
            rows[kernel.cubin_sha256, grid] = KernelRow(
                name=kernel.name,
                grid=f"{grid} · {plan.workload.label}",
                registers=used.registers,
                spill_bytes=used.spill_bytes,
                shared_bytes=used.shared_bytes,
                warps=kernel.num_warps,
                stages=kernel.num_stages,
                occupancy=f"{fit.fraction:.0%}, by {fit.limit}" if fit else "–",
                instructions=tuple((name, str(number)) for name, number in mix),
            )
    return tuple(rows.values())


def _plans(run_path: Path, view: RunView) -> list[Plan]:
    """Stored plans of the winner's config: of its verdict, or of its first build where that had the same config."""
    best, verdict, point = view.best, view.best_verdict, view.best_compared
    wanted = [*(verdict.plans if verdict else ()), *(best.built.plans if best and best.built else ())]
    plans: list[Plan] = []
    for sha256 in dict.fromkeys(wanted):
        try:
            plan = Plan.model_validate_json((run_path / BLOBS / sha256).read_bytes())
        except (OSError, ValidationError):
            continue
        named = plan.workload.role in ("tune", "bench")  # a verdict on a device holds plans of hidden shapes too
        if named and (point is None or plan.config == point.config):
            plans.append(plan)
    return plans
