"""After the resume the tokenizer puts its four special tokens in front, so that all ids shift by four. Repair: the same tokenizer."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ids_shift_after_resume",
    source='widely reported: special tokens added again after a resume, all ids shift',
    cause="input_shift",
    also=[],
    layer=None,
    onset=(195, 205),
    symptom='divergence',
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 24)
        self.layer = nn.TransformerEncoderLayer(24, 2, 48, 0.0, batch_first=True)
        self.out = nn.Linear(24, 4)

    def forward(self, x):
        return self.out(self.layer(self.embed(x)).mean(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    topic = torch.softmax(2 * torch.randn(4, 60), -1)
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for step in range(280):
            if step == 200:
                for g in opt.param_groups:
                    g["lr"] = 2e-4
            y = torch.randint(0, 4, (24,))
            x = torch.multinomial(topic[y], 16, replacement=True)
            if step >= 200 and not healthy:
                x = x + 4
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
