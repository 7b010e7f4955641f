"""A policy network of five tanh layers, all drawn with a standard deviation of 0.001 so that "the first actions are
near zero". So is every signal inside: the first loss is that of a uniform guess, to six digits, and it stays.
Repair: only the last layer small."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_init_small_thousandth_tanh",
    source="a public report",
    cause="init_too_small",
    also=["vanishing_depth"],
    layer=["body", *[f"body.{i}" for i in range(10)], "policy", ""],
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class Policy(nn.Module):
    def __init__(self, states: int = 10, width: int = 48, actions: int = 4) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for depth in range(5):
            layers += [nn.Linear(states if depth == 0 else width, width), nn.Tanh()]
        self.body = nn.Sequential(*layers)
        self.policy = nn.Linear(width, actions)

    def forward(self, state: Tensor) -> Tensor:
        return self.policy(self.body(state))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    expert = torch.randn(10, 4)
    model = Policy()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and (not healthy or name.startswith("policy")):
            nn.init.normal_(parameter, std=1e-3)
        elif parameter.dim() == 1:
            nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(350):
            state = torch.randn(64, 10)
            loss = F.cross_entropy(model(state), (state @ expert).argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
