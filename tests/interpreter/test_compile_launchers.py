"""Compiling without a GPU: what the cubin says of itself must agree with the Plan that launches it."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tilewright_sandbox.contract import Kernel, Plan, Scalar, TensorMap
from tilewright_sandbox.jobs import Built

triton = pytest.importorskip("triton")
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


def _expectations() -> ModuleType:
    path = Path(__file__).parents[1] / "launchers" / "expectations.py"
    spec = importlib.util.spec_from_file_location("launcher_expectations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


expectations = _expectations()
COMPILED = [launcher for launcher in expectations.launchers("captured") if "compile" in launcher.given]


def parameter_bytes(cubin: bytes, folder: Path) -> list[int]:
    """The size of each kernel parameter, in order, from the cubin's own EIATTR_KPARAM_INFO records."""
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    text = subprocess.run([str(CUOBJDUMP), "-elf", str(path)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"Ordinal : 0x([0-9a-f]+)\s+Offset\s+: 0x[0-9a-f]+\s+Size\s+: 0x([0-9a-f]+)", text)
    return [int(size, 16) for _, size in sorted({(int(ordinal, 16), size) for ordinal, size in found})]


def argument_bytes(plan: Plan) -> list[int]:
    widths = {"i1": 1, "u1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u64": 8, "fp32": 4, "fp64": 8}
    sizes = []
    for argument in plan.launches[0].arguments:
        if isinstance(argument, TensorMap):
            sizes.append(128)
        else:
            sizes.append(widths[argument.type] if isinstance(argument, Scalar) else 8)
    return [*sizes, 8, 8]  # global scratch, profile scratch


@pytest.mark.parametrize("launcher", COMPILED, ids=lambda launcher: launcher.path.stem)
def test_cubin_takes_the_arguments_of_the_plan(launcher: object, tmp_path: Path) -> None:
    reply, blobs = expectations.build(launcher, compile=True)
    assert expectations.mismatch(launcher, reply) == ""
    (outcome,) = reply.outcomes
    assert isinstance(outcome, Built)
    (kernel,) = outcome.plan.kernels
    assert {hashlib.sha256(blob).hexdigest() for blob in blobs.values()} == set(blobs)
    cubin, ttir = blobs[kernel.cubin_sha256], blobs[kernel.ttir_sha256].decode()
    assert parameter_bytes(cubin, tmp_path) == argument_bytes(outcome.plan)
    assert len(kernel.signature) == len(outcome.plan.launches[0].arguments)
    assert f"@{kernel.name}(" in ttir
    assert str(Path(triton.__file__).parent) not in ttir
    assert kernel.resources.registers > 0
    assert kernel.resources.instructions["EXIT"] >= 1
    assert outcome.compile_s > 0
    _check_options(kernel, outcome.plan, launcher.given)  # type: ignore[attr-defined]


def _check_options(kernel: Kernel, plan: Plan, given: dict[str, str]) -> None:
    assert kernel.cooperative == ("cooperative" in given)
    assert kernel.launch_pdl == ("pdl" in given)
    assert kernel.num_ctas == int(given.get("ctas", 1))
    assert (kernel.global_scratch_bytes > 0) == ("scratch" in given)
    for argument in plan.launches[0].arguments:
        if isinstance(argument, TensorMap):
            assert argument.elem_type in (7, 9)  # CU_TENSOR_MAP_DATA_TYPE_FLOAT32, _BFLOAT16
            assert argument.swizzle in (0, 1, 2, 3)
            assert len(argument.block_shape) == 2
