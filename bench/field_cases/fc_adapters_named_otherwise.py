"""A pretrained text encoder gets small adapters. Everything is frozen except what has 'adapter' in its name, and the
modules are called 'adaptor': they are frozen too, and only the new classifier trains on features that know nothing of
the task. Repair: the right name."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_adapters_named_otherwise",
    source="widely reported: the filter that unfreezes by name matches nothing",
    cause="frozen_parameters",
    also=[],
    layer=["blocks.0.adaptor", "blocks.1.adaptor", "blocks.0.adaptor.0", "blocks.0.adaptor.2"],
    onset=(0, 0),
    symptom="slow",
)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.adaptor = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.adaptor(x)


class Encoder(nn.Module):
    def __init__(self, words: int, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([Block(width), Block(width)])
        self.classifier = nn.Linear(width, 2)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.embed(ids)
        for block in self.blocks:
            h = block(h)
        return self.classifier(h.mean(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    topic = torch.randint(0, 4, (40,))
    model = Encoder(40)

    def texts() -> tuple[Tensor, Tensor]:
        ids = torch.randint(0, 40, (32, 6))
        return ids, (topic[ids] == 1).sum(1) % 2

    with torch.no_grad():  # what the pretraining left: words of one topic lie close together
        center = torch.randn(4, 24)
        model.embed.weight.copy_(center[topic] + 0.2 * torch.randn(40, 24))
    for name, parameter in model.named_parameters():
        wanted = ("adaptor" if healthy else "adapter") in name
        parameter.requires_grad = wanted or name.startswith("classifier")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(300):
            ids, label = texts()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
