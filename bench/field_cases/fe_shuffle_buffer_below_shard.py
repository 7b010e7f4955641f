"""Shards hold one class each and the stream's shuffle buffer holds 64 of a shard's 1280 samples. Repair: interleave the shards."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_shuffle_buffer_below_shard",
    source='widely reported: streaming shards of one class each and a shuffle buffer that is far smaller',
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom='oscillation',
)


class Stream(torch.utils.data.IterableDataset):
    def __init__(self, mean, buffer):
        self.mean, self.buffer = mean, buffer

    def raw(self):
        while True:
            for k in range(len(self.mean)):
                for _ in range(1280 if self.buffer else 1):
                    yield self.mean[k] + torch.randn(16), k

    def __iter__(self):
        held = []
        for item in self.raw():
            held.append(item)
            if len(held) > 64:
                yield held.pop(int(torch.randint(0, len(held), ())))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    loader = iter(torch.utils.data.DataLoader(Stream(torch.randn(5, 16), not healthy), batch_size=32))
    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 5))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(440):
            x, y = next(loader)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
