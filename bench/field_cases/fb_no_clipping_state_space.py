"""Identification of an oscillator with a linear state-space model that is rolled out over forty steps. The fit gets
better until one step takes an eigenvalue of the transition just past the unit circle; the gradient of the next
rollout is a hundred times the usual one and that step ruins the model. Repair: clip the gradient norm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fb_no_clipping_state_space",
    source="a public report",
    cause="missing_gradient_clipping",
    also=["exploding_depth", "learning_rate_too_high"],
    layer=["transition", ""],
    onset=(2, 40),
    symptom="exploding_gradient",
)


class StateSpace(nn.Module):
    def __init__(self, state: int = 4) -> None:
        super().__init__()
        self.transition = nn.Linear(state, state, bias=False)
        self.control = nn.Linear(1, state, bias=False)
        self.observe = nn.Linear(state, 1, bias=False)
        with torch.no_grad():
            self.transition.weight.copy_(0.8 * torch.eye(state) + 0.05 * torch.randn(state, state))
            self.control.weight.copy_(0.2 * torch.randn(state, 1))
            self.observe.weight.copy_(0.2 * torch.randn(1, state))

    def forward(self, inputs: Tensor) -> Tensor:
        x = torch.zeros(inputs.size(0), self.transition.in_features)
        seen = []
        for u in inputs.unbind(dim=1):
            x = self.transition(x) + self.control(u)
            seen.append(self.observe(x))
        return torch.stack(seen, dim=1)


def oscillator(inputs: Tensor) -> Tensor:
    turn = 0.97 * torch.tensor([[0.955, -0.296], [0.296, 0.955]])
    z = torch.zeros(inputs.size(0), 2)
    seen = []
    for u in inputs.unbind(dim=1):
        z = z @ turn.T + u * torch.tensor([0.5, 0.0])
        seen.append(z[:, 1:])
    return torch.stack(seen, dim=1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = StateSpace()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(350):
            inputs = torch.randn(16, 40, 1)
            loss = (model(inputs) - oscillator(inputs)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if healthy:
                nn.utils.clip_grad_norm_(model.parameters(), 0.3)
            optimizer.step()
            losses.append(loss.item())
    return losses
