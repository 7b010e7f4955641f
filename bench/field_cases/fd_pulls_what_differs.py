"""A Siamese net with a margin loss whose label means "different" in the data set and "same" in the loss: it pushes
alike pairs apart and pulls unlike ones together. Repair: one meaning. The list is the share of pairs on the wrong
side."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_pulls_what_differs",
    source="widely reported: contrastive loss with the pair label the other way round",
    cause="loss_sign",
    also=["uninformative_labels"],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 40), nn.LeakyReLU(), nn.Linear(40, 8))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return (self.net(a) - self.net(b)).square().sum(1).add(1e-8).sqrt()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    face = torch.randn(12, 18)
    model = Tower()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    wrong = []
    with debug(model):
        for _ in range(250):
            person = torch.randint(0, 12, (64,))
            same = torch.rand(64) < 0.5
            other = torch.where(same, person, (person + torch.randint(1, 12, (64,))) % 12)
            distance = model(face[person] + 0.5 * torch.randn(64, 18), face[other] + 0.5 * torch.randn(64, 18))
            pulled = (same if healthy else ~same).float()
            loss = (pulled * distance.square() + (1 - pulled) * F.relu(2 - distance).square()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            wrong.append(((distance < 1.0) != same).float().mean().item())
    return wrong
