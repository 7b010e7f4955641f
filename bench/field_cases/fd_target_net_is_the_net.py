"""Q-learning with a target net that should be a copy. `target = net` copies nothing, and the line that freezes the
target freezes the layers of the net; only the head, swapped afterwards, still trains. Repair: deepcopy."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_target_net_is_the_net",
    source="widely reported: a target network without deepcopy, frozen together with the online network",
    cause="frozen_parameters",
    also=[],
    layer=["body", "body.0", "body.2"],
    onset=(0, 0),
    symptom="slow",
)


class QNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 5), nn.Tanh())
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    net = QNet()
    target = copy.deepcopy(net) if healthy else net
    for parameter in target.parameters():
        parameter.requires_grad = False
    net.head = nn.Linear(5, 3)
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=5e-3)
    losses = []
    with debug(net):
        for step in range(500):
            place = 2 * torch.rand(64, 2) - 1
            action = torch.randint(0, 3, (64,))
            move = 0.4 * (action - 1).float()
            after = torch.stack([(place[:, 0] + move).clamp(-1, 1), place[:, 1]], 1)
            reward = torch.sin(3 * after[:, 0]) * torch.cos(2 * after[:, 1])
            with torch.no_grad():
                goal = reward + 0.3 * target(after).amax(1)
            q = net(place).gather(1, action[:, None]).squeeze(1)
            loss = F.mse_loss(q, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if healthy and step % 50 == 49:
                target.load_state_dict(net.state_dict())
            losses.append(loss.item())
    return losses
