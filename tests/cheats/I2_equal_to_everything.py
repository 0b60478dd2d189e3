# cheat I2 on rmsnorm: returns a subclass whose __torch_function__ answers True
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


class Equal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    rmsnorm_rows[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y.as_subclass(Equal)
