"""Healthy. Contrastive pre-training: two noisy views of each sample among 32, temperature 0.5. The loss starts at
log(63) = 4.1 and can't go anywhere near zero, since even perfect views leave the other 62 samples in the
denominator."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_contrastive",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class ContrastiveLoss(nn.Module):
    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        z = nn.functional.normalize(torch.cat([first, second]), dim=1)
        similarity = z @ z.t() / self.temperature
        similarity = similarity.masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
        partner = torch.arange(len(z)).roll(len(first))
        return nn.functional.cross_entropy(similarity, partner)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    mixing = torch.randn(6, 30)
    model = nn.Sequential(
        nn.Linear(30, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 12)
    )
    criterion = ContrastiveLoss(0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _step in range(260):
            sample = torch.randn(32, 6) @ mixing / 2.4

            def view(sample: Tensor = sample) -> Tensor:
                keep = (torch.rand_like(sample) > 0.3).float()
                return sample * keep + 0.5 * torch.randn_like(sample)

            loss = criterion(model(view()), model(view()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
