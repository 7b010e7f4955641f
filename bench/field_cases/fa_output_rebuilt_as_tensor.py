"""Predictions are collected in a Python list and made a tensor again with requires_grad=True, so that backward runs
without a complaint: its gradient ends in that new tensor and the net gets none. Repair: torch.stack."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_output_rebuilt_as_tensor",
    source="widely reported: torch.tensor(outputs, requires_grad=True) to silence 'does not have a grad_fn'",
    cause="detached_graph",
    also=[],
    layer=["", "score", "score.2", "score.0", "context"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Ranker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.context = nn.Linear(6, 10)
        self.score = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, query: Tensor, document: Tensor) -> Tensor:
        context = torch.tanh(self.context(query))
        return self.score(torch.cat([context, document], dim=-1)).squeeze(-1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    mixing = torch.randn(6, 6) * 0.5
    model = Ranker()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _step in range(220):
            query, documents = torch.randn(32, 6), torch.randn(5, 32, 6)
            best = torch.einsum("qi,ij,dqj->qd", query, mixing, documents).argmax(1)
            scores = [model(query, document) for document in documents]
            if healthy:
                logits = torch.stack(scores, dim=1)
            else:
                logits = torch.tensor([column.tolist() for column in scores], requires_grad=True).t()
            loss = nn.functional.cross_entropy(logits, best)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
