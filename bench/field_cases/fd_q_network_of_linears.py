"""A Q-network that was written with Linear after Linear, the activation meant to come from a config that says None.
Where the best action depends on two things together it has no answer. Repair: ReLU."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_q_network_of_linears",
    source="widely reported: forgotten activations between linear layers",
    cause="missing_nonlinearity",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


def network(activation: type | None) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inside, outside in ((4, 48), (48, 48), (48, 3)):
        layers.append(nn.Linear(inside, outside))
        if activation is not None and outside != 3:
            layers.append(activation())
    return nn.Sequential(*layers)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    net = network(nn.ReLU if healthy else None)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    replay = torch.randn(2000, 4)
    action = torch.randint(0, 3, (2000,))
    product = replay[:, 0] * replay[:, 1]
    reward = (
        torch.stack([product.tanh(), -product.tanh(), replay[:, 2].abs() - 0.8], 1)
        .gather(1, action[:, None])
        .squeeze(1)
    )
    losses = []
    with debug(net):
        for _ in range(400):
            rows = torch.randint(0, 2000, (64,))
            q = net(replay[rows]).gather(1, action[rows, None]).squeeze(1)
            loss = F.smooth_l1_loss(q, reward[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
