"""Healthy. A large rate for a small language model: now and then the loss leaps for some steps and comes back by
itself, and it ends where it should."""

from collections.abc import Callable

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

META = dict(
    id="fd_ok_spikes_that_pass",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=18, n_positions=12, n_embd=32, n_layer=1, n_head=4, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
    step_of = torch.randint(1, 18, (4,))
    losses = []
    with debug(model):
        model.train()
        for _ in range(180):
            start, stride = torch.randint(0, 18, (12, 1)), step_of[torch.randint(0, 4, (12, 1))]
            ids = (start + stride * torch.arange(10)) % 18
            loss = model(input_ids=ids, labels=ids).loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
