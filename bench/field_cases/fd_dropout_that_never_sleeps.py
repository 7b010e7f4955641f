"""Attention by functions: F.dropout(weights, 0.6), whose third argument is True unless one says otherwise, so that
the validation drops too, in eval mode or not. Repair: training=self.training. The list is the validation loss."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_dropout_that_never_sleeps",
    source="as in github.com/karpathy/nanoGPT/pull/240",
    cause="validation_mismatch",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="divergence",
)


class SetAttention(nn.Module):
    def __init__(self, minds_the_mode: bool, width: int = 24) -> None:
        super().__init__()
        self.key, self.value = nn.Linear(5, width), nn.Linear(5, width)
        self.ask = nn.Parameter(torch.randn(width))
        self.out = nn.Linear(width, 3)
        self.minds_the_mode = minds_the_mode

    def forward(self, x: Tensor) -> Tensor:
        on = self.training if self.minds_the_mode else True
        share = F.dropout((self.key(x) @ self.ask / 5).softmax(1), 0.6, on)
        h = F.dropout((share.unsqueeze(2) * self.value(x)).sum(1), 0.6, on)
        return self.out(F.relu(h))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    centre = torch.randn(3, 1, 5)
    label = torch.randint(0, 3, (600,))
    x = centre[label] + 0.6 * torch.randn(600, 6, 5)
    model = SetAttention(minds_the_mode=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    validation = []
    with debug(model):
        for _epoch in range(15):
            model.train()
            for rows in torch.randperm(480).split(24):
                loss = F.cross_entropy(model(x[rows]), label[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                validation.append(F.cross_entropy(model(x[480:]), label[480:]).item())
    return validation
