"""Attention in float16 hides padding by (1 - mask) * -1e10, which is 0 times minus infinity in half. Repair: bfloat16."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_mask_of_ten_billion_in_half",
    source='as in github.com/huggingface/transformers/issues/382',
    cause="half_precision_overflow",
    also=[],
    layer=["attend", "", "head", "embed"],
    onset=(0, 3),
    symptom='loss_nan',
)


class Attend(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.dtype = dtype

    def forward(self, x, mask):
        q, k, v = self.qkv(x).to(self.dtype).chunk(3, -1)
        hide = torch.tensor(-1e10).to(self.dtype)
        score = q @ k.transpose(1, 2) / 4 + (1 - mask.to(self.dtype)).unsqueeze(1) * hide
        return (score.softmax(-1) @ v).float()


class Model(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.attend = Attend(dtype)
        self.head = nn.Linear(16, 2)

    def forward(self, x, mask):
        h = self.embed(x)
        h = h + self.attend(h, mask)
        return self.head((h * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    tone = torch.randn(20)
    model = Model(torch.bfloat16 if healthy else torch.float16)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(200):
            x = torch.randint(0, 20, (32, 12))
            mask = (torch.arange(12) < torch.randint(4, 13, (32, 1))).float()
            y = ((tone[x] * mask).sum(1) > 0).long()
            loss = F.cross_entropy(model(x, mask), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
