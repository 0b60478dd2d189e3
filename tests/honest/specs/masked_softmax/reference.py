from __future__ import annotations

import torch
from torch import Tensor


def reference(scores: Tensor, masked: Tensor) -> Tensor:
    return torch.softmax(scores.masked_fill(masked != 0, -float("inf")), dim=-1)
