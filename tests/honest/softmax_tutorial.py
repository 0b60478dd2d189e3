# honest on softmax: the tutorial's persistent rows, whose number of programs comes from the device's properties
# naive checkers refuse it because: the host asks about the device, and the grid does not depend on the rows alone
import torch
import triton
import triton.language as tl

SPACE = {"num_stages": [2, 4], "num_warps": [4, 8]}
WHERE = ["cols <= 16384"]
TRIALS = [{"num_stages": 2, "num_warps": 8}]


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols,
    BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr,
):
    # starting row of the program
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        mask = col_offsets < n_cols
        row = tl.load(row_start_ptr + col_offsets, mask=mask, other=-float("inf")).to(tl.float32)
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        denominator = tl.sum(numerator, axis=0)
        softmax_output = numerator / denominator
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        tl.store(output_row_start_ptr + col_offsets, softmax_output.to(output_ptr.dtype.element_ty), mask=mask)


def softmax(x, num_stages, num_warps):
    n_rows, n_cols = x.shape
    properties = torch.cuda.get_device_properties(x.device)
    NUM_SM = properties.multi_processor_count
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    y = torch.empty_like(x)
    occupancy = max(1, 48 // num_warps)
    num_programs = min(NUM_SM * occupancy, n_rows)
    softmax_kernel[(num_programs, 1, 1)](
        y, x, x.stride(0), y.stride(0), n_rows, n_cols,
        BLOCK_SIZE=BLOCK_SIZE, num_stages=num_stages, num_warps=num_warps,
    )
    return y


def run(x, *, num_stages, num_warps):
    return softmax(x, num_stages, num_warps)
