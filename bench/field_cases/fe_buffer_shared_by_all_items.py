"""The dataset decodes into one buffer and returns it; when the batch is put together, all its items show the last picture. Repair: return a copy."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_buffer_shared_by_all_items",
    source='widely reported: a dataset that returns views of one reused buffer, all samples of a batch are equal',
    cause="constant_input",
    also=['uninformative_labels'],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


class Frames:
    def __init__(self, x, y, clone):
        self.x, self.y, self.clone = x, y, clone
        self.buffer = torch.empty_like(x[0])

    def __getitem__(self, i):
        self.buffer.copy_(self.x[i])
        return (self.buffer.clone() if self.clone else self.buffer), self.y[i]


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    y = torch.randint(0, 5, (2000,))
    x = torch.randn(5, 40)[y] + torch.randn(2000, 40)
    data = Frames(x, y, healthy)
    model = nn.Sequential(nn.Linear(40, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 5))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            items = [data[i] for i in torch.randint(0, 2000, (32,)).tolist()]
            a, b = torch.stack([i[0] for i in items]), torch.stack([i[1] for i in items])
            loss = F.cross_entropy(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
