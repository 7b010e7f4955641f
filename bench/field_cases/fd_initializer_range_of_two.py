"""A tiny transformer from a config with an initializer_range of 2.0 in place of 0.02. Attention is one-hot and the
logits are in the hundreds from the start. Repair: 0.02."""

from collections.abc import Callable

import torch
from transformers import BertConfig, BertForSequenceClassification

META = dict(
    id="fd_initializer_range_of_two",
    source="widely reported: a wrong initializer_range in a config",
    cause="init_too_large",
    also=["saturating_activation"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=24, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=2,
        initializer_range=0.02 if healthy else 2.0,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    weight = torch.randn(24)
    losses = []
    with debug(model):
        model.train()
        for _ in range(160):
            ids = torch.randint(0, 24, (24, 8))
            label = (weight[ids].sum(1) > 0).long()
            loss = model(input_ids=ids, labels=label).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
