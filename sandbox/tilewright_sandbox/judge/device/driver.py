"""The few calls of CUDA's driver that loading and launching need, each with its result checked."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu  # pyright: ignore[reportMissingImports]
from cuda.core import Device, ObjectCode  # pyright: ignore[reportMissingImports]

from ...contract import Kernel, TensorMap
from .faults import STICKY, DeviceFault

_SWIZZLE_PROMOTION = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B, as Triton's own launcher asks for
_SHARED_BYTES = 48 << 10
"""Dynamic shared memory that a block gets without asking."""
_NON_PORTABLE_CLUSTER = 8
"""Blocks in a cluster beyond which a kernel must say that it runs on some devices only."""


def checked(answer: tuple[Any, ...]) -> Any:
    """The values of a driver call's answer; DeviceFault where it failed."""
    code, *values = answer
    if code != cu.CUresult.CUDA_SUCCESS:
        name = cu.CUresult(code).name
        raise DeviceFault(STICKY.get(name, "invalid_launch"), f"The driver says {name}.", sticky=name in STICKY)
    return values[0] if len(values) == 1 else tuple(values)


def _device() -> Any:
    return checked(cu.cuCtxGetDevice())


def use_device(number: int = 0) -> None:
    """Make the device's primary context, which torch uses too, current in this thread."""
    Device(number).set_current()


@dataclass(frozen=True)
class LoadedKernel:
    """One kernel of a plan on the device."""

    kernel: Kernel
    code: ObjectCode
    function: Any
    parameters: tuple[tuple[int, int], ...]
    """(offset, bytes) of each parameter."""


def load_kernel(kernel: Kernel, cubin: bytes) -> LoadedKernel:
    """DeviceFault(cubin_not_loaded) where the bytes are no cubin of this device or lack the kernel."""
    try:
        code = ObjectCode.from_cubin(cubin)
        found = code.get_kernel(kernel.name)
        parameters = tuple((int(info.offset), int(info.size)) for info in found.arguments_info)
    except Exception as error:
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DeviceFault("cubin_not_loaded", f"The driver cannot load {kernel.name}: {text}.", sticky=False) from error
    function = cu.CUfunction(int(found.handle))
    attributes = cu.CUfunction_attribute
    if kernel.shared_bytes > _SHARED_BYTES:
        shared = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(cu.cuKernelSetAttribute(shared, kernel.shared_bytes, cu.CUkernel(int(found.handle)), _device()))
    if kernel.num_ctas > _NON_PORTABLE_CLUSTER:
        wide = attributes.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        checked(cu.cuKernelSetAttribute(wide, 1, cu.CUkernel(int(found.handle)), _device()))
    return LoadedKernel(kernel, code, function, parameters)


class PreparedLaunch:
    """One launch with its parameter block; the block and all that it points to stay alive as long as this does."""

    def __init__(
        self, loaded: LoadedKernel, grid: tuple[int, int, int], block: bytes, offsets: tuple[int, ...]
    ) -> None:
        kernel = loaded.kernel
        self.loaded = loaded
        # descriptors must lie at multiples of 64 bytes
        self._storage = ctypes.create_string_buffer(len(block) + 64)
        start = -(-ctypes.addressof(self._storage) // 64) * 64
        ctypes.memmove(start, block, len(block))
        self._pointers = (ctypes.c_void_p * max(1, len(offsets)))(*[start + offset for offset in offsets])
        config = cu.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid[0] * kernel.num_ctas, grid[1], grid[2]
        config.blockDimX, config.blockDimY, config.blockDimZ = 32 * kernel.num_warps, 1, 1
        config.sharedMemBytes = kernel.shared_bytes
        config.attrs = attributes = _attributes(kernel)
        config.numAttrs = len(attributes)
        self._config = config

    def launch(self, stream: int) -> None:
        """Put the launch on the stream, given as CUDA's handle. DeviceFault where the driver refuses it."""
        self._config.hStream = cu.CUstream(stream)
        checked(cu.cuLaunchKernelEx(self._config, self.loaded.function, ctypes.addressof(self._pointers), 0))


def _attributes(kernel: Kernel) -> list[Any]:
    found = []
    kinds = cu.CUlaunchAttributeID
    if kernel.num_ctas > 1:
        cluster = cu.CUlaunchAttribute()
        cluster.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        cluster.value.clusterDim.x, cluster.value.clusterDim.y, cluster.value.clusterDim.z = kernel.num_ctas, 1, 1
        spread = cu.CUlaunchAttribute()
        spread.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
        spread.value.clusterSchedulingPolicyPreference = (
            cu.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_SPREAD
        )
        found += [cluster, spread]
    if kernel.cooperative:
        cooperative = cu.CUlaunchAttribute()
        cooperative.id = kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        cooperative.value.cooperative = 1
        found.append(cooperative)
    if kernel.launch_pdl:
        overlap = cu.CUlaunchAttribute()
        overlap.id = kinds.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        overlap.value.programmaticStreamSerializationAllowed = 1
        found.append(overlap)
    return found


def encode_tensor_map(described: TensorMap, address: int) -> bytes:
    """The 128 bytes of a TMA descriptor over a tensor at `address`. Extents and strides are in elements, row-major."""
    shape, strides, block = list(described.shape), list(described.strides), list(described.block_shape)
    if described.fp4_padded:
        shape[-1] *= 2
    rank = len(shape)
    element = described.elem_size
    fill = cu.CUtensorMapFloatOOBfill
    answer = cu.cuTensorMapEncodeTiled(
        cu.CUtensorMapDataType(described.elem_type),
        rank,
        address,
        [cu.cuuint64_t(extent) for extent in reversed(shape)],
        [cu.cuuint64_t(stride * element) for stride in reversed(strides[:-1])],
        [cu.cuuint32_t(extent) for extent in reversed(block)],
        [cu.cuuint32_t(1)] * rank,
        cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        cu.CUtensorMapSwizzle(described.swizzle),
        cu.CUtensorMapL2promotion(_SWIZZLE_PROMOTION),
        fill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
        if described.padding == "nan"
        else fill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    encoded = checked(answer)
    return ctypes.string_at(int(encoded.getPtr()), 128)
