from __future__ import annotations

import math

import torch
from torch import Tensor

SCALE = math.sqrt(2)


def reference(x: Tensor, weight: Tensor, index: Tensor, eps: float) -> Tensor:
    return torch.relu(x) * weight * SCALE + eps + index.sum()
