"""InfoNCE by hand: exp(similarity / temperature) over its sum, with a temperature of 0.01. A similarity above 0.887
makes an exponent above 88.7, infinity in float32, and infinity over infinity is NaN: as soon as pairs match well,
the run ends. Repair: logsumexp."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_domain_contrastive_exp",
    source="a public report",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 230),
    symptom="loss_nan",
)


class TwoViews(nn.Module):
    def __init__(self, width: int = 48, code: int = 16) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, code))
        self.text = nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, code))

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        return F.normalize(self.image(image), dim=1) @ F.normalize(self.text(text), dim=1).T


def info_nce(similarity: Tensor, temperature: float, stable: bool) -> Tensor:
    if stable:
        return (torch.logsumexp(similarity / temperature, dim=1) - similarity.diagonal() / temperature).mean()
    e = torch.exp(similarity / temperature)
    return -torch.log(e.diagonal() / e.sum(dim=1)).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    draw, write = torch.randn(4, 20), torch.randn(4, 12)
    model = TwoViews()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            meaning = torch.randn(32, 4)
            image = torch.tanh(meaning @ draw) + 0.02 * torch.randn(32, 20)
            text = torch.tanh(meaning @ write) + 0.02 * torch.randn(32, 12)
            loss = info_nce(model(image, text), temperature=0.01, stable=healthy)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
