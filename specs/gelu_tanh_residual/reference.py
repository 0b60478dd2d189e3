from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def reference(x: Tensor, residual: Tensor) -> Tensor:
    return (F.gelu(x.float(), approximate="tanh") + residual.float()).to(x.dtype)
