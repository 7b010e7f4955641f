"""A character model is trained with reduction='sum' over 16 times 20 tokens at the learning rate of the averaged loss:
every gradient is 320 times as large. Repair: reduction='mean'. The returned list is the loss per token."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_sum_over_tokens",
    source="as in github.com/jax-ml/jax/pull/3113 and github.com/peterroelants/peterroelants.github.io/issues/5",
    cause="loss_scale",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class CharacterModel(nn.Module):
    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(characters, 16)
        self.conv1 = nn.Conv1d(16, 32, 3)
        self.conv2 = nn.Conv1d(32, 32, 3)
        self.out = nn.Linear(32, characters)

    def forward(self, text: Tensor) -> Tensor:
        x = self.embed(text).transpose(1, 2)
        x = torch.relu(self.conv1(nn.functional.pad(x, (2, 0))))
        x = x + torch.relu(self.conv2(nn.functional.pad(x, (2, 0))))
        return self.out(x.transpose(1, 2))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    chain = torch.softmax(3 * torch.randn(15, 15), dim=1)
    column = [torch.randint(0, 15, (500,))]
    for _position in range(20):
        column.append(torch.multinomial(chain[column[-1]], 1).squeeze(1))
    text = torch.stack(column, 1)
    model = CharacterModel(15)
    criterion = nn.CrossEntropyLoss(reduction="mean" if healthy else "sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    losses = []
    with debug(model):
        for _step in range(260):
            batch = text[torch.randint(0, 500, (16,))]
            logits = model(batch[:, :-1])
            loss = criterion(logits.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() if healthy else loss.item() / (16 * 20))
    return losses
