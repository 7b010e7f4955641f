"""The blocks run under the reentrant kind of checkpointing. The frozen embedding's output needs no gradient, and so
the checkpointed blocks get none either; only the head behind them trains. Repair: an input that requires a
gradient."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

META = dict(
    id="fd_checkpoint_without_input_gradient",
    source="as in github.com/locuslab/open-unlearning/issues/178",
    cause="detached_graph",
    also=[],
    layer=["first", "second", "first.0", "first.2", "second.0", "second.2", "embed"],
    onset=(0, 0),
    symptom="slow",
)


class Checkpointed(nn.Module):
    def __init__(self, needs_grad: bool, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.EmbeddingBag(40, width)
        self.embed.requires_grad_(False)
        self.first = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width))
        self.second = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, 3))
        self.head = nn.Linear(3, 2)
        self.needs_grad = needs_grad

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        if self.needs_grad:
            x.requires_grad_()
        x = checkpoint(self.first, x, use_reentrant=True)
        x = checkpoint(self.second, x, use_reentrant=True)
        return self.head(x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    weight = torch.randn(40)
    model = Checkpointed(needs_grad=healthy)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            tokens = torch.randint(0, 40, (48, 6))
            label = (weight[tokens].sum(1) > 0).long()
            loss = F.cross_entropy(model(tokens), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
