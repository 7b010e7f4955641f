"""Healthy. An encoder trained before is frozen and in eval mode, on purpose, with its batch norm; only a linear
probe learns, and learns well."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_linear_probe",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Probe(nn.Module):
    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.probe = encoder, nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            h = self.encoder(x)
        return self.probe(h)

    def train(self, mode: bool = True) -> "Probe":
        super().train(mode)
        self.encoder.eval()
        return self


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    thing = torch.randn(8, 20)
    encoder = nn.Sequential(nn.Linear(20, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
    pretext = nn.Linear(32, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *pretext.parameters()], lr=5e-3)
    for _ in range(60):
        kind = torch.randint(0, 8, (64,))
        optimizer.zero_grad()
        F.cross_entropy(pretext(encoder(thing[kind] + 0.8 * torch.randn(64, 20))), kind).backward()
        optimizer.step()
    for parameter in encoder.parameters():
        parameter.requires_grad = False
    model = Probe(encoder).train()
    optimizer = torch.optim.SGD(model.probe.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(200):
            kind = torch.randint(0, 8, (32,))
            loss = F.cross_entropy(model(thing[kind] + 0.8 * torch.randn(32, 20)), kind // 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
