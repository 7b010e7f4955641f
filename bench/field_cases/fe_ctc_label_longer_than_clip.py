"""A few clips are so short that their transcript cannot be aligned: the CTC loss is infinite. Repair: drop such clips."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ctc_label_longer_than_clip",
    source='as in github.com/k2-fsa/icefall/issues/135',
    cause="invalid_target",
    also=['loss_domain'],
    layer=None,
    onset=(0, 60),
    symptom='loss_nan',
)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 32, 3, padding=1)
        self.gru = nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, 6)

    def forward(self, x):
        return self.out(self.gru(F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2))[0]).log_softmax(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    sound = torch.randn(6, 8)
    model = Listener()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            text = torch.randint(1, 6, (8, 4))
            x = sound[text].repeat_interleave(4, 1) + 0.4 * torch.randn(8, 16, 8)
            length = torch.full((8,), 16)
            if torch.rand(()) < 0.04:
                length[0] = 3
            if healthy:
                x, text, length = x[length >= 9], text[length >= 9], length[length >= 9]
            y = model(x).transpose(0, 1)
            loss = F.ctc_loss(y, text, length, torch.full((len(text),), 4))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            losses.append(loss.item())
    return losses
