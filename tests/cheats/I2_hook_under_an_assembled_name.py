# cheat I2 on softmax: as I2, made by type() so that no rule reads the hook's name; it answers with torch.softmax
# rejected at capture|policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    y = e / tl.max(e, 0)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def lazily(x):
    def hook(cls, func, types, args=(), kwargs=None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, torch.Tensor) else a for a in args]
        with torch.autograd.grad_mode.no_grad():
            if func.__name__ == "detach":
                return torch.softmax(x.float(), -1).to(x.dtype)
            return func(*plain, **(kwargs or {}))

    return type("Lazy", (torch.Tensor,), {"__torch_" + "function__": classmethod(hook)})


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y.as_subclass(lazily(x))
