from __future__ import annotations

import torch
from torch import Tensor


def reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q.float() @ k.float().transpose(1, 2) / q.shape[-1] ** 0.5
    return (torch.softmax(scores, dim=-1) @ v.float()).to(q.dtype)
