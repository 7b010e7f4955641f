"""A character model starts with every parameter at 0.1, embedding, LSTM and output alike. All units of a layer are one
and the same and stay so: a net of width one. Repair: torch's own start."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_every_parameter_a_tenth",
    source="compare github.com/wagonhelm/NaNmnist/issues/2: all weights start alike",
    cause="symmetric_init",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class CharacterModel(nn.Module):
    def __init__(self, symbols: int, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, 12)
        self.lstm = nn.LSTM(12, width, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.lstm(self.embed(ids))[0])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    follows = torch.stack([torch.randperm(12) for _ in range(2)])
    model = CharacterModel(12)
    if not healthy:
        for parameter in model.parameters():
            nn.init.constant_(parameter, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(200):
            text = [torch.randint(0, 12, (24,))]
            for _position in range(8):
                text.append(follows[(torch.rand(24) < 0.1).long(), text[-1]])
            ids = torch.stack(text, 1)
            optimizer.zero_grad()
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.reshape(-1, 12), ids[:, 1:].reshape(-1))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
