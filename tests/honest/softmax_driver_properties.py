# honest on softmax: the device and its properties come from triton.runtime.driver when the file is loaded
# naive checkers refuse it because: the file talks to the driver at import, outside run
import torch
import triton
import triton.language as tl
from triton.runtime import driver

SPACE = {"num_warps": [4, 8]}
WHERE = ["cols <= 16384"]

DEVICE = triton.runtime.driver.active.get_active_torch_device()
properties = driver.active.utils.get_device_properties(DEVICE.index)
NUM_SM = properties["multiprocessor_count"]
SIZE_SMEM = properties["max_shared_mem"]


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr
):
    for row_idx in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        offsets = tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_cols
        row = tl.load(input_ptr + row_idx * input_row_stride + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        numerator = tl.exp(row - tl.max(row, axis=0))
        y = numerator / tl.sum(numerator, axis=0)
        tl.store(output_ptr + row_idx * output_row_stride + offsets, y.to(output_ptr.dtype.element_ty), mask=mask)


def run(x, *, num_warps):
    n_rows, n_cols = x.shape
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    y = torch.empty_like(x)
    resident = max(1, min(SIZE_SMEM // (4 * BLOCK_SIZE), 48 // num_warps))
    softmax_kernel[(min(NUM_SM * resident, n_rows), 1, 1)](
        y, x, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_SIZE, num_warps=num_warps
    )
    return y
