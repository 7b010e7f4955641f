"""The shape of nanoGPT's ``train.py``: a script without functions around its loop, micro-steps, autocast, a scaler that
is switched off, clipping, warm-up and cosine decay set by hand, two parameter groups, estimates of the loss between."""

from __future__ import annotations

import contextlib
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

# settings, overridden as key=value
batch_size, block_size, vocab_size, n_embd = 8, 16, 16, 32
gradient_accumulation_steps, max_iters, eval_interval, eval_iters = 2, 60, 20, 2
learning_rate, min_lr, warmup_iters, weight_decay, grad_clip = 3e-3, 3e-4, 5, 0.1, 1.0
watch, save = 0, ""
for argument in sys.argv[1:]:
    key, _, value = argument.removeprefix("--").partition("=")
    globals()[key] = type(globals()[key])(value)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (
            part.view(rows, length, 2, n_embd // 2).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(rows, length, n_embd))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(2))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1), ignore_index=-1)


torch.manual_seed(1337)
data = {name: torch.randint(1, 4, (4000,)).cumsum(0) % vocab_size for name in ("train", "val")}


def get_batch(split):
    ix = torch.randint(len(data[split]) - block_size, (batch_size,))
    x = torch.stack([data[split][i : i + block_size] for i in ix])
    y = torch.stack([data[split][i + 1 : i + 1 + block_size] for i in ix])
    return x, y


@torch.no_grad()
def estimate_loss(model):
    model.eval()
    out = {split: sum(model(*get_batch(split))[1].item() for _ in range(eval_iters)) / eval_iters for split in data}
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    ratio = (it - warmup_iters) / (max_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


model = GPT()
decayed = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95))
scaler = torch.amp.GradScaler("cpu", enabled=False)
stack = contextlib.ExitStack()
if watch:
    from neuraldbg import NeuralDbg

    stack.enter_context(NeuralDbg(model))
X, Y = get_batch("train")
iter_num = 0
while True:
    for group in optimizer.param_groups:
        group["lr"] = get_lr(iter_num)
    if iter_num % eval_interval == 0:
        estimate_loss(model)
    for _ in range(gradient_accumulation_steps):
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            _, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        X, Y = get_batch("train")
        scaler.scale(loss).backward()
    if grad_clip:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    iter_num += 1
    if iter_num > max_iters:
        break
stack.close()
torch.save(model.state_dict(), save)
