"""Cepstral coefficients go into an LSTM as they are: the first is about -400, the last a few units. Repair: standardize each."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_cepstrum_with_energy",
    source='widely reported: MFCC without mean and variance normalization into an LSTM',
    cause="unnormalized_input",
    also=['saturating_activation'],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(10, 32, batch_first=True)
        self.out = nn.Linear(32, 6)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    word = 0.9 * torch.randn(6, 12, 10)
    scale = torch.tensor([100.0, 40, 25, 15, 12, 10, 8, 5, 3, 2])
    shift = torch.tensor([-400.0, 90, -30, 20, -10, 5, 0, 0, 2, 0])
    model = Speech()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            y = torch.randint(0, 6, (24,))
            x = (word[y] + torch.randn(24, 12, 10)) * scale + shift
            if healthy:
                x = (x - shift) / scale
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
