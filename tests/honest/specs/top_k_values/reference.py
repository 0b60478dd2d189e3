from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, k: int) -> Tensor:
    return torch.topk(x, k, dim=-1).values
