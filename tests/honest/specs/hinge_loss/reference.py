from __future__ import annotations

import torch
from torch import Tensor


def reference(score: Tensor, margin: Tensor) -> Tensor:
    return torch.relu(1.0 - margin * score).mean()
