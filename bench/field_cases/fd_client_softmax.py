"""Averaging over four clients, each with a copy of the net and some steps of its own. The net ends in a softmax and
the clients train it with CrossEntropyLoss, which has one. Repair: no softmax in the net."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_client_softmax",
    source="as in github.com/shaoxiongji/federated-learning/issues/9",
    cause="redundant_softmax",
    also=[],
    layer=["", "softmax"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Client(nn.Module):
    def __init__(self, softmax: bool) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(24, 32), nn.Linear(32, 10)
        self.softmax = nn.Softmax(dim=1) if softmax else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.softmax(self.out(F.relu(self.hidden(x))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    prototype = torch.randn(10, 24)
    model = Client(softmax=not healthy)
    losses = []
    with debug(model):
        for _round in range(10):
            first, collected = copy.deepcopy(model.state_dict()), []
            for _client in range(4):
                model.load_state_dict(first)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
                for _ in range(8):
                    label = torch.randint(0, 10, (24,))
                    x = prototype[label] + 0.8 * torch.randn(24, 24)
                    loss = F.cross_entropy(model(x), label)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
                collected.append(copy.deepcopy(model.state_dict()))
            model.load_state_dict({k: torch.stack([c[k] for c in collected]).mean(0) for k in first})
    return losses
