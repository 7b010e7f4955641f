"""Healthy. Q-learning with a target net that is copied every forty steps: at each copy the loss leaps, since the
goal has moved. The list is the distance from the true values."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_ok_target_network_moves",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    size, discount = 8, 0.8
    prize = torch.zeros(size)
    prize[-1] = 1.0
    move = torch.stack([(torch.arange(size) - 1).clamp(0), (torch.arange(size) + 1).clamp(max=size - 1)], 1)
    truth = torch.zeros(size, 2)
    for _ in range(100):
        truth = prize[move] + discount * truth.amax(1)[move]
    net = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, 2))
    target = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    apart = []
    with debug(net):
        for step in range(600):
            place, action = torch.randint(0, size, (32,)), torch.randint(0, 2, (32,))
            after = move[place, action]
            goal = prize[after] + discount * target(F.one_hot(after, size).float()).amax(1)
            q = net(F.one_hot(place, size).float()).gather(1, action[:, None]).squeeze(1)
            loss = F.smooth_l1_loss(q, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 40 == 39:
                target.load_state_dict(net.state_dict())
            with torch.no_grad():
                apart.append((net(torch.eye(size)) - truth).abs().mean().item())
    return apart
