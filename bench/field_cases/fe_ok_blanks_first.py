"""Healthy. CTC starts with blanks alone: the loss drops, rests for a while and then drops again as the letters come."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_blanks_first",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 40, batch_first=True, bidirectional=True)
        self.out = nn.Linear(80, 9)

    def forward(self, x):
        return self.out(self.gru(x)[0]).log_softmax(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    sound = torch.randn(9, 8)
    model = Listener()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            text = torch.randint(1, 9, (16, 3))
            x = sound[text].repeat_interleave(6, 1) + 0.7 * torch.randn(16, 18, 8)
            loss = F.ctc_loss(model(x).transpose(0, 1), text, torch.full((16,), 18), torch.full((16,), 3), zero_infinity=True)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
