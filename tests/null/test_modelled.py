"""The time model: never under the roofline, and slower for what makes a kernel slower, on every target."""

from __future__ import annotations

import itertools
import math

import pytest

from tilewright_sandbox.contract import (
    Axis,
    Buffer,
    Config,
    Dtype,
    Fill,
    Kernel,
    Launch,
    ModelledTime,
    Plan,
    Pointer,
    Resources,
    Spec,
    TensorInput,
    TensorOutput,
    View,
    Workload,
)
from tilewright_sandbox.modelled import modelled_time
from tilewright_sandbox.occupancy import occupancy
from tilewright_sandbox.targets import TARGETS, Target
from tilewright_sandbox.work import min_bytes, products, roofline_us

HASH = "0" * 64
CARDS = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
LARGE = 1 << 26


def copy_spec(n: int, dtype: Dtype = "float32") -> Spec:
    return Spec(
        name="copy",
        summary="y = x",
        op="copy",
        axes={"n": Axis(min=1, max=1 << 30)},
        inputs=(TensorInput(name="x", shape=("n",), dtype=dtype),),
        outputs=(TensorOutput(name="y", shape=("n",), dtype=dtype),),
        workloads=(Workload(role="tune", axes={"n": n}),),
        reference_sha256=HASH,
    )


def product_spec(m: int, n: int, k: int) -> Spec:
    axes = {"m": m, "n": n, "k": k}
    return Spec(
        name="matmul",
        summary="y = a b",
        op="matmul",
        axes={name: Axis(min=1, max=1 << 20) for name in axes},
        inputs=(
            TensorInput(name="a", shape=("m", "k"), dtype="bfloat16"),
            TensorInput(name="b", shape=("k", "n"), dtype="bfloat16"),
        ),
        outputs=(TensorOutput(name="y", shape=("m", "n"), dtype="bfloat16"),),
        workloads=(Workload(role="tune", axes=axes),),
        reference_sha256=HASH,
    )


def kernel(
    registers: int = 32,
    spill_bytes: int = 0,
    shared_bytes: int = 0,
    num_warps: int = 4,
    num_stages: int = 1,
    constants: dict[str, str] | None = None,
    **instructions: int,
) -> Kernel:
    resources = Resources(
        registers=registers,
        spill_bytes=spill_bytes,
        stack_bytes=spill_bytes,
        shared_bytes=shared_bytes,
        cubin_bytes=4096,
        instructions=instructions or {"LDG": 4, "STG": 4, "IADD": 40},
    )
    return Kernel(
        name="k", cubin_sha256=HASH, ttir_sha256=HASH, num_warps=num_warps, num_stages=num_stages,
        shared_bytes=shared_bytes, signature=(), constants=constants or {}, resources=resources,
    )  # fmt: skip


def plan(spec: Spec, programs: int, code: Kernel, *, workspace_bytes: int = 0, launches: int = 1) -> Plan:
    """`launches` times the same kernel on all of the spec's tensors, through a workspace where there is one."""
    workload = spec.workloads[0]
    views: dict[str, View] = {}
    buffers: list[Buffer] = []
    for tensor, role in [*((t, "input") for t in spec.tensor_inputs), *((t, "output") for t in spec.outputs)]:
        shape = tuple(workload.axes[str(dim)] for dim in tensor.shape)
        strides = tuple(math.prod(shape[index + 1 :]) for index in range(len(shape)))
        views[tensor.name] = View(buffer=len(buffers), shape=shape, strides=strides, dtype=tensor.dtype)
        size = math.prod(shape) * (4 if tensor.dtype == "float32" else 2)
        buffers.append(Buffer.model_validate({"name": tensor.name, "role": role, "bytes": size}))
    if workspace_bytes:
        buffers.append(Buffer(name="t0", role="workspace", bytes=workspace_bytes))
    arguments = tuple(Pointer(buffer=index) for index in range(len(buffers)))
    launch = Launch(kernel=0, kernel_name="k", grid=(programs, 1, 1), arguments=arguments)
    return Plan(
        spec_sha256=HASH, candidate_id="c", config=Config({}), workload=workload,
        dtypes={tensor.name: tensor.dtype for tensor in spec.tensor_inputs}, target="sm_90", versions={}, compiled=True,
        buffers=tuple(buffers), kernels=(code,), steps=(launch,) * launches,
        inputs={t.name: views[t.name] for t in spec.tensor_inputs},
        outputs={t.name: views[t.name] for t in spec.outputs},
    )  # fmt: skip


def modelled(spec: Spec, target: Target, programs: int, code: Kernel | None = None, **others: int) -> ModelledTime:
    return modelled_time(spec, plan(spec, programs, code or kernel(), **others), target)


TENSOR_CORES = {"sm_80": "HMMA", "sm_90": "HGMMA", "sm_100": "UTCHMMA"}


def product_kernel(target: Target, tile: tuple[int, int] = (128, 128), registers: int = 128, spill: int = 0) -> Kernel:
    instructions = {TENSOR_CORES[target.name]: 64, "LDGSTS": 16, "STG": 16}
    constants = {"BM": str(tile[0]), "BN": str(tile[1])}
    return kernel(registers, spill, 98304, 8, 3, constants, **instructions)


@CARDS
def test_never_under_the_roofline(target: Target) -> None:
    for n, programs, warps in itertools.product((1, 1000, 1 << 20, 1 << 28), (1, 77, 8192), (1, 4, 32)):
        time = modelled(copy_spec(n), target, programs, kernel(num_warps=warps))
        assert time.modelled_us >= time.roofline_us > 0
        assert time.kind == "modelled"
    for size, tile in itertools.product((64, 1000, 8192), ((64, 64), (128, 256))):
        spec = product_spec(size, size, size)
        programs = math.ceil(size / tile[0]) * math.ceil(size / tile[1])
        time = modelled(spec, target, programs, product_kernel(target, tile))
        assert time.modelled_us >= time.roofline_us > 0


@CARDS
def test_a_kernel_that_does_almost_nothing_is_held_at_the_roofline(target: Target) -> None:
    """A plan whose launch gets no tensor cannot seem faster than the bytes that the spec must move."""
    spec = copy_spec(LARGE)
    idle = plan(spec, 1, kernel())
    idle = idle.model_copy(update={"steps": (idle.launches[0].model_copy(update={"arguments": ()}),)})
    time = modelled_time(spec, idle, target)
    assert time.modelled_us == time.roofline_us


@CARDS
def test_a_good_copy_comes_near_the_roofline_and_is_memory_bound(target: Target) -> None:
    time = modelled(copy_spec(LARGE), target, LARGE // 4096, kernel(LDG=8, STG=8, IADD=40))
    assert time.bound == "memory"
    assert time.min_bytes == 2 * 4 * LARGE
    assert time.roofline_us / time.modelled_us > 0.75


@CARDS
def test_more_bytes_take_longer(target: Target) -> None:
    times = [modelled(copy_spec(n), target, n // 4096).modelled_us for n in (1 << 22, 1 << 24, 1 << 26, 1 << 28)]
    assert times == sorted(times)
    assert times[-1] / times[-2] == pytest.approx(4, rel=0.1)
    narrow = modelled(copy_spec(LARGE, "bfloat16"), target, LARGE // 4096)
    assert narrow.modelled_us < modelled(copy_spec(LARGE), target, LARGE // 4096).modelled_us


@CARDS
def test_a_workspace_costs_and_a_large_one_costs_memory(target: Target) -> None:
    spec = copy_spec(LARGE)
    none, small, large = (
        modelled(spec, target, LARGE // 4096, workspace_bytes=size).modelled_us for size in (0, 1 << 20, 1 << 30)
    )
    assert none < small < large
    assert large - none > 0.8 * (1 << 30) / target.hbm_gb_per_s / 1e3


@CARDS
def test_spills_are_slower_and_more_of_them_slower_still(target: Target) -> None:
    times = [
        modelled(copy_spec(LARGE), target, LARGE // 4096, kernel(spill_bytes=spill)).modelled_us
        for spill in (0, 16, 128, 1024)
    ]
    assert times == sorted(set(times))
    spec = product_spec(4096, 4096, 4096)
    clean, spilling = (modelled(spec, target, 1024, product_kernel(target, spill=spill)) for spill in (0, 256))
    assert spilling.modelled_us > clean.modelled_us


@CARDS
def test_a_few_blocks_in_a_last_wave_make_a_tail(target: Target) -> None:
    """One block more than full waves hold takes longer than its share of the work."""
    spec = product_spec(16384, 4096, 4096)
    code = product_kernel(target)
    wave = occupancy(code, target).blocks_per_sm * target.sms
    full = modelled(spec, target, wave, code).modelled_us
    tail = modelled(spec, target, wave + 1, code).modelled_us
    assert tail > full * 1.2


@CARDS
def test_fewer_blocks_than_multiprocessors_leave_some_idle(target: Target) -> None:
    spec = copy_spec(LARGE)
    times = [modelled(spec, target, programs).modelled_us for programs in (1, 8, target.sms // 2, target.sms * 16)]
    assert times == sorted(times, reverse=True)
    assert times[0] > 20 * times[-1]


@CARDS
def test_every_launch_costs_its_overhead(target: Target) -> None:
    spec = copy_spec(1024)
    times = [modelled(spec, target, 1, launches=count).modelled_us for count in (1, 2, 5)]
    assert times[1] - times[0] >= target.launch_us
    assert times[2] - times[1] == pytest.approx(3 * (times[1] - times[0]), rel=0.05)
    assert modelled(spec, target, 1).bound == "latency"


@CARDS
def test_a_fill_costs_bytes_and_a_launch(target: Target) -> None:
    spec = copy_spec(LARGE)
    bare = plan(spec, LARGE // 4096, kernel())
    filled = bare.model_copy(update={"steps": (Fill(target=bare.outputs["y"], value=0), *bare.steps)})
    more_us = modelled_time(spec, filled, target).modelled_us - modelled_time(spec, bare, target).modelled_us
    assert more_us >= 0.9 * 4 * LARGE / target.hbm_gb_per_s / 1e3


@CARDS
def test_a_kernel_that_does_not_fit_has_no_finite_time(target: Target) -> None:
    spec = copy_spec(LARGE)
    for code in (kernel(shared_bytes=target.shared_per_block_bytes + 1), kernel(registers=255, num_warps=32)):
        assert occupancy(code, target).blocks_per_sm == 0
        assert modelled(spec, target, 1024, code).modelled_us == math.inf


@CARDS
def test_large_products_are_bound_by_compute_and_small_tiles_are_slower(target: Target) -> None:
    spec = product_spec(8192, 8192, 8192)
    (product,) = products(spec, spec.workloads[0])
    assert product.flops == 2.0 * 8192**3
    assert roofline_us(spec, spec.workloads[0], target) == pytest.approx(product.flops / target.bf16_tflops / 1e6)
    large = modelled(spec, target, 64 * 64, product_kernel(target))
    small = modelled(spec, target, 256 * 256, product_kernel(target, tile=(32, 32)))
    assert large.bound == "compute"
    assert small.modelled_us > large.modelled_us


@CARDS
def test_products_without_tensor_cores_are_slower(target: Target) -> None:
    spec = product_spec(4096, 4096, 4096)
    constants = {"BM": "128", "BN": "128"}
    cuda_cores = kernel(128, 0, 32768, 8, 1, constants, FFMA=4096, LDG=16)
    assert modelled(spec, target, 1024, cuda_cores).modelled_us > 3 * (
        modelled(spec, target, 1024, product_kernel(target)).modelled_us
    )


def test_occupancy_by_its_scarcest_resource() -> None:
    """Figures of the CUDA occupancy calculator for compute capability 9.0."""
    target = TARGETS["sm_90"]
    for code, blocks, limit in [
        (kernel(registers=32, num_warps=4), 16, "warps"),
        (kernel(registers=16, num_warps=1), 32, "blocks"),
        (kernel(registers=128, num_warps=8), 2, "registers"),
        (kernel(registers=64, num_warps=4), 8, "registers"),
        (kernel(registers=32, num_warps=4, shared_bytes=100 << 10), 2, "shared memory"),
        (kernel(registers=32, num_warps=4, shared_bytes=227 << 10), 1, "shared memory"),
    ]:
        fit = occupancy(code, target)
        assert (fit.blocks_per_sm, fit.limit) == (blocks, limit)
        assert fit.fraction == blocks * code.num_warps / 64


def test_least_bytes_are_inputs_and_outputs_once() -> None:
    spec = product_spec(100, 200, 300)
    assert min_bytes(spec, spec.workloads[0]) == 2 * (100 * 300 + 300 * 200 + 100 * 200)


def test_a_captured_plan_has_no_time() -> None:
    captured = plan(copy_spec(64), 1, kernel()).model_copy(update={"compiled": False})
    with pytest.raises(ValueError, match="captured and not compiled"):
        modelled_time(copy_spec(64), captured, TARGETS["sm_90"])
