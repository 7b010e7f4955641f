"""A recognizer ends in a softmax, and the CTC loss is given log_softmax of that: frames can't be surer than e to 1. Repair: its logits."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_alignment_of_probabilities",
    source='widely reported: log_softmax over softmax in front of CTC',
    cause="redundant_softmax",
    also=[],
    layer=["softmax", "", "out"],
    onset=(0, 0),
    symptom='plateau',
)


class Recognizer(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(6, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1), nn.ReLU())
        self.out = nn.Linear(32, 12)
        self.softmax = nn.Identity() if healthy else nn.Softmax(-1)

    def forward(self, x):
        return self.softmax(self.out(self.conv(x.transpose(1, 2)).transpose(1, 2)))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    sound = torch.randn(12, 6)
    model = Recognizer(healthy)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            text = torch.randint(1, 12, (16, 3))
            x = sound[text].repeat_interleave(4, 1) + 0.3 * torch.randn(16, 12, 6)
            y = F.log_softmax(model(x), -1).transpose(0, 1)
            loss = F.ctc_loss(y, text, torch.full((16,), 12), torch.full((16,), 3))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
