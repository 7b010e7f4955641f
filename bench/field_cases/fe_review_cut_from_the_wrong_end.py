"""Reviews are padded on the right to 60 words and then cut to the last 20: padding alone is left. Repair: cut first, then pad."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_review_cut_from_the_wrong_end",
    source='widely reported: right padding together with truncation from the left feeds padding alone',
    cause="constant_input",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(80, 24, padding_idx=0)
        self.gru = nn.GRU(24, 24, batch_first=True)
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        return self.out(self.gru(self.embed(x))[0].mean(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    tone = torch.randn(80)
    tone -= tone[1:].mean()
    model = Sentiment()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(220):
            words = torch.randint(1, 80, (32, 15))
            y = (tone[words].sum(1) > 0).long()
            padded = F.pad(words, (0, 45))
            x = padded[:, :20] if healthy else padded[:, -20:]
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
