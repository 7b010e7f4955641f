"""The optimizer's groups are put together by name, from the days when the net had an embedding and a readout. The
message and update nets came later, and no group takes them. Repair: one more group."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_groups_by_known_names",
    source="as in github.com/ACEsuit/mace/pull/1529",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["message", "message.0", "message.2", "update", "update.0", "update.2"],
    onset=(0, 0),
    symptom="slow",
)


class Potential(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(4, width)
        self.message = nn.Sequential(nn.Linear(2 * width + 1, 4), nn.SiLU(), nn.Linear(4, width))
        self.update = nn.Sequential(nn.Linear(2 * width, 4), nn.SiLU(), nn.Linear(4, 2))
        self.readout = nn.Linear(2, 1)

    def forward(self, kind: Tensor, place: Tensor) -> Tensor:
        h = self.embedding(kind)
        atoms = kind.shape[1]
        far = torch.cdist(place, place).unsqueeze(3)
        pairs = torch.cat([h.unsqueeze(2).expand(-1, -1, atoms, -1), h.unsqueeze(1).expand(-1, atoms, -1, -1), far], 3)
        heard = self.message(pairs).mean(2)
        return self.readout(self.update(torch.cat([h, heard], 2))).sum((1, 2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Potential()
    charge = torch.tensor([1.0, -1.0, 0.5, -0.5])
    groups = [
        {"params": model.embedding.parameters(), "weight_decay": 0.0},
        {"params": model.readout.parameters(), "lr": 5e-3},
    ]
    if healthy:
        groups.append({"params": [*model.message.parameters(), *model.update.parameters()]})
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(400):
            kind, place = torch.randint(0, 4, (32, 6)), torch.randn(32, 6, 3)
            pull = charge[kind].unsqueeze(2) * charge[kind].unsqueeze(1) * torch.exp(-torch.cdist(place, place))
            energy = 2 * pull.triu(1).sum((1, 2))
            loss = F.mse_loss(model(kind, place), energy)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
