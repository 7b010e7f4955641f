"""The value of the chosen action is gathered with shape (N, 1), the bootstrapped return has shape (N,), and the Huber
loss is written by hand: a table of all pairs, without a warning. All values converge on the mean return. Repair:
squeeze the gathered value."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_q_values_against_returns",
    source="widely reported: deep Q-learning with (N, 1) against (N,)",
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


def huber(value: Tensor, goal: Tensor) -> Tensor:
    error = value - goal
    small = error.abs().clamp(max=1.0)
    return (0.5 * small**2 + (error.abs() - small)).mean()


class QNetwork(nn.Module):
    def __init__(self, state: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(state, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.value = nn.Linear(48, 1)
        self.advantage = nn.Linear(48, actions)

    def forward(self, state: Tensor) -> Tensor:
        hidden = self.body(state)
        advantage = self.advantage(hidden)
        return self.value(hidden) + advantage - advantage.mean(1, keepdim=True)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    state = torch.randn(4000, 5)
    action = torch.randint(0, 3, (4000,))
    move = torch.randn(3, 5)
    reward = 2 * (state * move[action]).sum(1) / 2.2
    after = torch.randn(4000, 5)
    network = QNetwork(5, 3)
    target = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    losses = []
    with debug(network):
        for step in range(320):
            rows = torch.randint(0, 4000, (48,))
            value = network(state[rows]).gather(1, action[rows].unsqueeze(1))
            with torch.no_grad():
                goal = reward[rows] + 0.2 * target(after[rows]).max(1).values
            loss = huber(value.squeeze(1) if healthy else value, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 40 == 39:
                target.load_state_dict(network.state_dict())
            losses.append(loss.item())
    return losses
