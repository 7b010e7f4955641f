"""A causal model of the transformers library shifts the labels by itself, and the data loader has shifted them already.
The text is made of pairs, a word and its answer; two places on nothing can be foretold. Repair: shift once."""

from collections.abc import Callable

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

META = dict(
    id="fc_labels_shifted_twice",
    source="widely reported: labels shifted by hand for a model that shifts them",
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=24, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    answer = torch.randperm(24)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        model.train()
        for _ in range(200):
            word = torch.randint(0, 24, (16, 5))
            text = torch.stack([word, answer[word]], 2).flatten(1)
            ids, labels = text, text.clone()
            labels[:, 0::2] = -100
            if not healthy:
                ids, labels = ids[:, :-1], labels[:, 1:]
            loss = model(input_ids=ids, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
