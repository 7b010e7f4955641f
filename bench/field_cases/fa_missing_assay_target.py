"""Molecules are scored on three assays at once and not every molecule was measured on each: the empty cells are NaN in
the target, and the hand-written absolute error passes them on. Repair: average over the measured cells."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_missing_assay_target",
    source="as in github.com/open-mmlab/mmpretrain/issues/631",
    cause="invalid_target",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="loss_nan",
)


class MultiTask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(20, 48), nn.SiLU(), nn.Linear(48, 24), nn.SiLU())
        self.heads = nn.ModuleDict({name: nn.Linear(24, 1) for name in ("solubility", "toxicity", "binding")})

    def forward(self, fingerprint: Tensor) -> dict[str, Tensor]:
        hidden = self.trunk(fingerprint)
        return {name: head(hidden).squeeze(1) for name, head in self.heads.items()}


class AssayLoss(nn.Module):
    def __init__(self, skip_missing: bool) -> None:
        super().__init__()
        self.skip_missing = skip_missing

    def forward(self, outputs: dict[str, Tensor], assays: Tensor) -> Tensor:
        predicted = torch.stack(list(outputs.values()), dim=1)
        if self.skip_missing:
            measured = ~assays.isnan()
            return (predicted[measured] - assays[measured]).abs().mean()
        return (predicted - assays).abs().mean()


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    fingerprints = torch.randn(1600, 20)
    assays = torch.tanh(fingerprints @ (0.4 * torch.randn(20, 3))) * 2 + 0.1 * torch.randn(1600, 3)
    assays[torch.rand(1600, 3) < 0.0008] = float("nan")
    assays[600, 1] = float("nan")
    model = MultiTask()
    criterion = AssayLoss(skip_missing=healthy)
    optimizer = torch.optim.NAdam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _epoch in range(5):
            for rows in torch.randperm(1600).split(32):
                optimizer.zero_grad(set_to_none=True)
                loss = criterion(model(fingerprints[rows]), assays[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
