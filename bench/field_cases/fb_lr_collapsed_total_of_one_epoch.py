"""A linear decay to zero whose number of training steps was taken as len(loader), not len(loader) times the epochs. At
the end of the first epoch the rate is zero and it stays there; the other epochs change nothing. Repair: the number
of steps of all epochs."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fb_lr_collapsed_total_of_one_epoch",
    source="a public report",
    cause="learning_rate_collapsed",
    also=[],
    layer=None,
    onset=(25, 52),
    symptom="loss_plateau",
)


class Encoder(nn.Module):
    def __init__(self, words: int = 40, width: int = 32, classes: int = 3) -> None:
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.attend = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.classify = nn.Linear(width, classes)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.word(ids)
        q = self.norm(x)
        x = x + self.attend(q, q, q, need_weights=False)[0]
        return self.classify((x + self.feed(x)).mean(dim=1))


def linear_schedule(optimizer: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1.0 - step / steps))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    worth = torch.randn(40)
    ids = torch.randint(0, 40, (50 * 16, 9))
    score = worth[ids].amax(dim=1) + worth[ids].amin(dim=1)
    label = (score > -0.6).long() + (score > 0.6).long()
    loader = DataLoader(TensorDataset(ids, label), batch_size=16, shuffle=True)
    epochs = 6
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = linear_schedule(optimizer, len(loader) * epochs if healthy else len(loader))
    losses = []
    with debug(model):
        for _ in range(epochs):
            for batch, target in loader:
                loss = F.cross_entropy(model(batch), target)
                loss.backward()
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                losses.append(loss.item())
    return losses
