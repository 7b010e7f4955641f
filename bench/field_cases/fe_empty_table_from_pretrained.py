"""No word was found in the vectors' file, so that the table is nearly empty, and from_pretrained freezes it. Repair: freeze=False."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_empty_table_from_pretrained",
    source='widely reported: Embedding.from_pretrained of a table whose words were not found; it freezes by default',
    cause="frozen_parameters",
    also=['symmetric_init', 'constant_input'],
    layer=["embed"],
    onset=(0, 5),
    symptom='plateau',
)


class Words(nn.Module):
    def __init__(self, table, freeze):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(table, freeze=freeze)
        self.conv = nn.Conv1d(16, 24, 3, padding=1)
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        return self.out(F.relu(self.conv(self.embed(x).transpose(1, 2))).amax(-1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    table = torch.zeros(300, 16)
    found = torch.randperm(300)[:6]
    table[found] = torch.randn(6, 16)
    model = Words(table, not healthy)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    tone = torch.randn(300)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randint(0, 300, (64, 10))
            y = (tone[x].sum(1) > 0).long()
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
