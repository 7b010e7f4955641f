"""A transformer defines its position embedding and its forward forgets to add it: attention without positions can't
tell an order from its reverse, and the order is all that the label depends on. Repair: add it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_position_never_added",
    source="compare github.com/facebookresearch/blt/issues/28 and github.com/inria-thoth/HySUPP/issues/3",
    cause="unused_parameters",
    also=[],
    layer=["position", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class OrderModel(nn.Module):
    def __init__(self, healthy: bool, symbols: int = 10, length: int = 8, width: int = 24) -> None:
        super().__init__()
        self.healthy = healthy
        self.token = nn.Embedding(symbols, width)
        self.position = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.token(tokens)
        if self.healthy:
            hidden = hidden + self.position(torch.arange(tokens.shape[1]))
        return self.head(self.encoder(hidden).mean(1))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    """Does the 0 of the row come before its 1?"""
    torch.manual_seed(seed)
    tokens = torch.stack([torch.randperm(10)[:8] for _ in range(4000)])
    tokens[:, :2] = torch.tensor([0, 1])
    tokens[:, 2:] = torch.randint(2, 10, (4000, 6))
    tokens = torch.stack([row[torch.randperm(8)] for row in tokens])
    label = ((tokens == 0).long().argmax(1) < (tokens == 1).long().argmax(1)).long()
    model = OrderModel(healthy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    losses = []
    with debug(model):
        for rows in torch.randperm(4000).repeat(2).split(40):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens[rows]), label[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
