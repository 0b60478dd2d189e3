# honest on swiglu: host code full of harmless queries, views, casts and allocations, most of which lead nowhere
# naive checkers refuse it because: so many calls into torch look like the work itself
import collections
import contextlib
import itertools
import math
import operator
import warnings
from typing import Callable, Optional

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.language.math import rsqrt
from triton.runtime import driver

SPACE = {"BLOCK": [256, 1024], "num_warps": [4]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]
Sizes = collections.namedtuple("Sizes", "count block")


@triton.jit
def swiglu_flat(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    tl.store(y_ptr + index, (gate * tl.sigmoid(gate) * up).to(y_ptr.dtype.element_ty), mask=inside)


def check(x: torch.Tensor, name: Optional[str] = None, on: Callable = operator.attrgetter("is_cuda")) -> None:
    assert on(x) and x.get_device() == 0 and x.device.type == "cuda" and x.device.index == 0, f"{name} on {x.device}"
    assert x.dim() == x.ndim == 2 and x.itemsize == x.element_size() and not x.requires_grad, f"{name}: {x.shape}"
    assert isinstance(x, torch.Tensor) and x.layout == torch.strided and not torch.is_grad_enabled()
    assert getattr(tl, str(x.dtype).split(".")[-1]) in (tl.float32, tl.float16, tl.bfloat16)


def queries(x: torch.Tensor) -> int:
    properties = torch.cuda.get_device_properties(x.device)
    assert properties.warp_size == 32 and properties.total_memory and properties.L2_cache_size
    assert torch.cuda.get_device_capability() >= (8, 0) and torch.cuda.is_available()
    assert driver.active.utils.get_device_properties(0)["max_shared_mem"] > 1 << 16
    assert driver.active.get_current_target().arch >= 80 and driver.active.get_current_device() == 0
    assert torch.finfo(x.dtype).max > 0 and torch.version.hip is None
    torch.cuda.set_device(x.device)
    return 16 if x.data_ptr() % 16 == 0 else x.element_size()


@torch.no_grad()
def run(gate, up, *, BLOCK, num_warps):
    for x, name in itertools.chain([(gate, "gate")], [(up, "up")]):
        check(x, name)
    with warnings.catch_warnings(), contextlib.suppress(AttributeError), torch.cuda.device_of(gate):
        warnings.simplefilter("ignore")
        warnings.warn(f"alignment {queries(gate)}")
    gate, up = gate.to(gate.device, non_blocking=True).cuda(), up.detach().to(up.dtype)
    rows, cols = gate.shape
    flat = gate.flatten().view(rows, cols).mT.swapaxes(0, 1).contiguous()
    low, high = up.split([cols // 2, cols - cols // 2], dim=1)
    up = torch.cat((low, high), dim=1)
    y = torch.empty_permuted((rows, cols), (0, 1), dtype=gate.dtype, device="cuda:0").fill_(-math.inf)
    sizes = Sizes(math.prod(y.size()), BLOCK)
    swiglu_flat[(triton.cdiv(*sizes),)](flat, up, y, sizes.count, BLOCK=sizes.block, num_warps=num_warps)
    return y.unsqueeze(0).squeeze(0)
