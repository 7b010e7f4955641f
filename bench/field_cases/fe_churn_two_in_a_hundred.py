"""Two customers in a hundred leave, and it's hard to see. With the plain loss nobody is said to leave. Repair: draw leavers oftener; the list is the balanced error."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_churn_two_in_a_hundred",
    source='widely reported: churn models that predict nobody leaves',
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 100),
    symptom='plateau',
)


class Churn(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0][:, -1]).squeeze(-1)


def customers(share):
    y = (torch.rand(64) < share).float()
    trend = torch.linspace(-1, 1, 10)[None, :, None] * y[:, None, None] * 0.8
    return torch.randn(64, 10, 4) + trend * torch.tensor([1.0, 1, -1, 0]), y


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Churn()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    errors = []
    with debug(model):
        for _ in range(400):
            x, y = customers(0.5 if healthy else 0.02)
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                x, y = customers(0.5)
                guess = (model(x) > 0).float()
                errors.append((guess != y).float().mean().item())
    return errors
