"""A recommender (embeddings and a small tower) whose StepLR was written with gamma=10 where 0.1 was meant. The first
third of the run is fine; at the first step of the schedule the rate becomes ten times as large, at the second a
hundred times, and the loss breaks. Repair: gamma=0.1."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_lr_jump_steplr_gamma_ten",
    source="a public report",
    cause="learning_rate_jump",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(120, 245),
    symptom="divergence",
)


class Recommender(nn.Module):
    def __init__(self, users: int = 50, items: int = 40, width: int = 12) -> None:
        super().__init__()
        self.user = nn.Embedding(users, width)
        self.item = nn.Embedding(items, width)
        self.tower = nn.Sequential(nn.Linear(2 * width, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        return self.tower(torch.cat([self.user(user), self.item(item)], dim=1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste, style = torch.randn(50, 3), torch.randn(40, 3)
    model = Recommender()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.3 if healthy else 10.0)
    losses = []
    with debug(model):
        for _ in range(12):
            for _ in range(30):
                user, item = torch.randint(0, 50, (64,)), torch.randint(0, 40, (64,))
                rating = torch.tanh(taste[user, 0] + style[item, 0] + 0.3 * taste[user, 1] * style[item, 1])
                optimizer.zero_grad()
                loss = F.mse_loss(model(user, item), rating)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            scheduler.step()
    return losses
