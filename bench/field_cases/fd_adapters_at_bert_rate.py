"""Low-rank adapters on a frozen encoder, trained from nothing with the rate that full fine-tuning uses, 2e-6 after
its decay for layers. They would need a thousand times as much. Repair: 0.005."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_adapters_at_bert_rate",
    source="widely reported: adapters need a far larger rate than full fine-tuning",
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class Adapted(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + x @ self.down.t() @ self.up.t()


class Encoder(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.inside = Adapted(nn.Linear(16, width))
        self.middle = Adapted(nn.Linear(width, width))
        self.head = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.gelu(self.middle(F.gelu(self.inside(x)))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(16, 4)
    model = Encoder()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=5e-3 if healthy else 2e-6)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(32, 16)
            label = (x @ rule).argmax(1)
            loss = F.cross_entropy(model(x), label)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses
