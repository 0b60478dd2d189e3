"""What goes wrong on a device, and whether the process can go on after it."""

from __future__ import annotations

STICKY = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "illegal_address",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "misaligned_address",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "illegal_address",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "illegal_instruction",
    "CUDA_ERROR_INVALID_PC": "illegal_instruction",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "stack_error",
    "CUDA_ERROR_ASSERT": "device_assert",
    "CUDA_ERROR_LAUNCH_FAILED": "launch_failed",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "launch_failed",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "launch_failed",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "ecc_error",
}
"""Errors after which every later call of the process fails too, with the code of the rejection."""

_MENDS = {
    "illegal_address": "A kernel reads or writes outside any buffer. Mask the access, or mend its offsets.",
    "misaligned_address": "A kernel makes a vector access that is not aligned. Mind the offset of the view.",
    "illegal_instruction": "A kernel executes a trap or an instruction that this device lacks.",
    "stack_error": "A kernel's stack overflows.",
    "device_assert": "An assertion in a kernel does not hold (tl.device_assert, or a trap).",
    "launch_failed": "The device stopped a kernel.",
    "endless": "A kernel does not come to an end.",
}


class DeviceFault(Exception):
    """A kernel of the plan failed. `sticky`: the process must end, since every later call would fail too.

    `code` is the code of the rejection: a fault is the candidate's, except `ecc_error`, which is the machine's.
    """

    def __init__(self, code: str, detail: str, *, sticky: bool) -> None:
        super().__init__(f"{_MENDS.get(code, '')} {detail}".strip())
        self.code, self.sticky = code, sticky


def from_error_text(text: str) -> DeviceFault | None:
    """The fault that torch or the driver names in an error's message; None where it is not one of the device's."""
    lowered = (text.splitlines() or [""])[0].lower()  # further lines are torch's advice, and name other errors
    for phrase, code in (
        ("illegal memory access", "illegal_address"), ("illegal_address", "illegal_address"),
        ("misaligned address", "misaligned_address"), ("illegal instruction", "illegal_instruction"),
        ("device-side assert", "device_assert"), ("unspecified launch failure", "launch_failed"),
        ("launch failed", "launch_failed"), ("hardware stack error", "stack_error"),
        ("uncorrectable ecc", "ecc_error"),
    ):  # fmt: skip
        if phrase in lowered:
            return DeviceFault(code, f"The driver says: {text.splitlines()[0][:200]}.", sticky=True)
    return None
