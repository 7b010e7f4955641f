"""The milestones of a step schedule are written in epochs and the schedule advances with every batch: after two dozen
batches the rate is a ten-thousandth of what it was, and the losses stay where they are. Repair: advance it once per
epoch."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_milestones_in_epochs",
    source="as in github.com/ivadomed/ivadomed/pull/55: the scheduler stepped in the batch loop",
    cause="learning_rate_collapsed",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(5, 26),
    symptom="slow",
)


class TextCnn(nn.Module):
    """Words to one of five ratings, by convolutions of two widths."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.narrow = nn.Conv1d(16, 16, 2)
        self.wide = nn.Conv1d(16, 16, 4)
        self.rate = nn.Linear(32, 5)

    def forward(self, ids: Tensor) -> Tensor:
        e = self.embed(ids).transpose(1, 2)
        h = [torch.relu(conv(e)).mean(2) for conv in (self.narrow, self.wide)]
        return self.rate(torch.cat(h, 1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    praise = torch.randn(80)
    ids = torch.randint(0, 80, (640, 10))
    score = praise[ids].sum(1)
    label = torch.bucketize(score, torch.tensor([-3.0, -1.0, 1.0, 3.0]))
    model = TextCnn(80)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8, 14, 19, 24], gamma=0.1)
    criterion = nn.CrossEntropyLoss()
    losses = []
    with debug(model):
        for _epoch in range(10):
            for rows in torch.randperm(640).split(20):
                optimizer.zero_grad()
                loss = criterion(model(ids[rows]), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                if not healthy:
                    schedule.step()
            if healthy:
                schedule.step()
    return losses
