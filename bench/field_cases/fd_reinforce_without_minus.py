"""REINFORCE on a small board: the loss is the mean of log-probability times return, as in the book, where it's
climbed. The optimizer descends. Repair: a minus. The list is the reward missed."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_reinforce_without_minus",
    source="compare github.com/ikostrikov/pytorch-a3c/issues/30",
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 20),
    symptom="divergence",
)


class Walker(nn.Module):
    def __init__(self, places: int = 7) -> None:
        super().__init__()
        self.table = nn.Embedding(places, 16)
        self.act = nn.Linear(16, 2)

    def forward(self, place: Tensor) -> Tensor:
        return F.log_softmax(self.act(torch.relu(self.table(place))), -1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    walker = Walker()
    optimizer = torch.optim.Adam(walker.parameters(), lr=1e-2)
    missed = []
    with debug(walker):
        for _ in range(200):
            place = torch.full((32,), 3)
            chosen = []
            for _step in range(6):
                log_probability = walker(place)
                action = torch.multinomial(log_probability.exp().detach(), 1)
                chosen.append(log_probability.gather(1, action).squeeze(1))
                place = (place + 2 * action.squeeze(1) - 1).clamp(0, 6)
            reward = place.float() / 6
            score = (torch.stack(chosen).sum(0) * (reward - reward.mean())).mean()
            loss = -score if healthy else score
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            missed.append(1 - reward.mean().item())
    return missed
