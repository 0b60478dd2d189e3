# honest on rmsnorm: dataclass, enum, NamedTuple and f-strings in asserts hold the launch's configuration
# naive checkers refuse it because: classes and asserts look like a place to hide state
import dataclasses
import enum
from typing import NamedTuple

import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [1, 2, 4], "num_warps": [4, 8]}
WHERE = ["ROWS * hidden <= 32768"]


class Order(enum.Enum):
    FORWARD = 0
    BACKWARD = 1


class Extents(NamedTuple):
    tokens: int
    hidden: int


@dataclasses.dataclass(frozen=True)
class Launch:
    extents: Extents
    rows: int
    num_warps: int
    order: Order = Order.BACKWARD

    @property
    def block(self) -> int:
        return triton.next_power_of_2(self.extents.hidden)

    @property
    def grid(self) -> tuple[int, ...]:
        return (triton.cdiv(self.extents.tokens, self.rows),)

    def options(self) -> dict:
        return {"BLOCK": self.block, "ROWS": self.rows, "BACKWARD": self.order.value, "num_warps": self.num_warps}


@triton.jit
def rmsnorm_several_rows(
    x_ptr, weight_ptr, y_ptr, tokens, hidden, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr, BACKWARD: tl.constexpr
):
    group = tl.program_id(0)
    if BACKWARD:  # the last rows first: they are the likelier to be in L2 still
        group = tl.num_programs(0) - 1 - group
    rows = group.to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    inside = (rows < tokens) & (cols < hidden)
    x = tl.load(x_ptr + rows * hidden + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=cols < hidden, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 1, keep_dims=True) / hidden + eps)
    tl.store(y_ptr + rows * hidden + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, ROWS, num_warps):
    launch = Launch(Extents(*x.shape), ROWS, num_warps)
    assert weight.shape == (launch.extents.hidden,), f"weight is {tuple(weight.shape)}, x is {tuple(x.shape)}"
    assert x.is_contiguous() and x.is_cuda, f"{x.stride()=} on {x.device}"
    y = torch.empty_like(x)
    rmsnorm_several_rows[launch.grid](x, weight, y, *launch.extents, eps, **launch.options())
    return y
