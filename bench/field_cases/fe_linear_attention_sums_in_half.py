"""Linear attention sums exp(keys) over the sequence in float16; as keys grow the sums pass 65504. Repair: bfloat16 for this layer."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_linear_attention_sums_in_half",
    source='as in github.com/idiap/fast-transformers/issues/32',
    cause="half_precision_overflow",
    also=[],
    layer=["attend", "", "attend.q", "attend.k", "attend.v", "head"],
    onset=(0, 200),
    symptom='loss_nan',
)


class Linear(nn.Module):
    def __init__(self, d, dtype):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.dtype = dtype

    def forward(self, x):
        q, k, v = (f(x).to(self.dtype) for f in (self.q, self.k, self.v))
        q, k = torch.exp(q), torch.exp(k)
        kv = torch.einsum("bnd,bne->bde", k, v)
        den = torch.einsum("bnd,bd->bn", q, k.sum(1)).unsqueeze(-1)
        return (torch.einsum("bnd,bde->bne", q, kv) / den).float()


class Reader(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.embed = nn.Embedding(30, 24)
        self.attend = Linear(24, dtype)
        self.head = nn.Linear(48, 6)

    def forward(self, x):
        h = self.embed(x)
        return self.head(torch.cat([h, self.attend(h)], -1).mean(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Reader(torch.bfloat16 if healthy else torch.float16)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(250):
            x = torch.randint(6, 30, (16, 48))
            y = torch.randint(0, 6, (16,))
            x[torch.arange(16), torch.randint(0, 48, (16,))] = y
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
