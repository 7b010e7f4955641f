"""A recurrent language model on forty short verses, eighty times over. It recites them; on verses that it hasn't
seen its loss has doubled. Repair: more verses, once. The list is the validation loss."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_forty_verses_by_heart",
    source="widely reported: a language model on a few texts, validation loss rising",
    cause="overfitting",
    also=[],
    layer=None,
    onset=(30, 350),
    symptom="divergence",
)


class Verses(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, 16)

    def forward(self, text: Tensor) -> Tensor:
        return self.out(self.rnn(self.embed(text))[0])


def verses(count: int, chance: Tensor) -> Tensor:
    text = [torch.randint(0, 16, (count,))]
    for _ in range(8):
        text.append(torch.multinomial(chance[text[-1]], 1).squeeze(1))
    return torch.stack(text, 1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    chance = (1.5 * torch.randn(16, 16)).softmax(1)
    train, valid = verses(3200 if healthy else 40, chance), verses(120, chance)
    model = Verses()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss_of(text: Tensor) -> Tensor:
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    validation = []
    with debug(model):
        for epoch in range(1 if healthy else 80):
            order = torch.randperm(len(train)).split(10)
            for i, rows in enumerate(order):
                loss = loss_of(train[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if i % 16 == 3 and (healthy or epoch % 4 == 0):
                    with torch.no_grad():
                        validation.append(loss_of(valid).item())
    return validation
