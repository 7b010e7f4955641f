"""The encoder is frozen while the head warms up and should thaw after that: `child.requires_grad = True` sets an
attribute on a module, which means nothing, and the parameters stay frozen. Repair: requires_grad_(True)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_module_requires_grad_attribute",
    source="the mirror of github.com/catalyst-team/catalyst/issues/79: nn.Module has no requires_grad",
    cause="frozen_parameters",
    also=[],
    layer=["encoder", "encoder.embed", "encoder.rnn"],
    onset=(0, 60),
    symptom="loss_plateau",
)


class Encoder(nn.Module):
    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, 8)
        self.rnn = nn.GRU(8, 20, batch_first=True)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.rnn(self.embed(tokens))[1][-1]


class Parity(nn.Module):
    """Counts the zeros modulo three: a random recurrent encoder is of no help."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(6)
        self.head = nn.Linear(20, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(tokens))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    tokens = torch.randint(0, 6, (3000, 5))
    tokens[torch.rand(3000, 5) < 0.35] = 0
    label = ((tokens == 0).sum(1) % 3).long()
    model = Parity()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for step in range(420):
            if step == 0:
                for parameter in model.encoder.parameters():
                    parameter.requires_grad = False
            if step == 60:
                for child in model.encoder.children():
                    if healthy:
                        child.requires_grad_(True)
                    else:
                        child.requires_grad = True  # type: ignore[assignment]
            rows = torch.randint(0, 3000, (48,))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens[rows]), label[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
