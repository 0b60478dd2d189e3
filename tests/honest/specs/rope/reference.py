from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[:, :, 0], x[:, :, 1]
    c, s = cos[:, None], sin[:, None]
    return torch.stack((a * c - b * s, b * c + a * s), dim=2)
