"""A sequence model with a dictionary output computes `probs` for the user and hands these, and not `logits`, to its
own cross-entropy. With twelve classes the loss can't go below log(1 + 11/e) = 1.62. Repair: the logits."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_probabilities_as_logits",
    source="compare github.com/jaehong31/CGES/issues/1: softmax twice",
    cause="redundant_softmax",
    also=[],
    layer=["", "head"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class NextSymbol(nn.Module):
    def __init__(self, symbols: int, healthy: bool) -> None:
        super().__init__()
        self.healthy, self.symbols = healthy, symbols
        self.embed = nn.Embedding(symbols, 20)
        self.lstm = nn.LSTM(20, 40, batch_first=True)
        self.head = nn.Linear(40, symbols)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        logits = self.head(self.lstm(self.embed(input_ids))[0])
        output = {"logits": logits, "probs": logits.softmax(-1)}
        if labels is not None:
            scores = output["logits" if self.healthy else "probs"]
            output["loss"] = nn.functional.cross_entropy(scores.view(-1, self.symbols), labels.reshape(-1))
        return output


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    following = torch.stack([torch.randperm(12) for _ in range(2)])
    rows = [torch.randint(0, 12, (600,))]
    for position in range(10):
        rows.append(following[position % 2, rows[-1]])
    text = torch.stack(rows, dim=1)
    model = NextSymbol(12, healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, total_iters=300)
    losses = []
    with debug(model):
        for _step in range(300):
            batch = text[torch.randint(0, len(text), (24,))]
            loss = model(input_ids=batch[:, :-1], labels=batch[:, 1:])["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
