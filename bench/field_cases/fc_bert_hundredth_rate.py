"""A small BERT classifier is trained at a rate of 0.03, which a table net might stand. Within a few steps it gives the
same logits for every text and stays there. Repair: 1e-3."""

from collections.abc import Callable

import torch
from transformers import BertConfig, BertForSequenceClassification

META = dict(
    id="fc_bert_hundredth_rate",
    source="as in github.com/huggingface/transformers/issues/735: rate 0.01, the same output for every input",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom="loss_plateau",
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=16, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    mood = torch.randn(60)
    ids = torch.randint(0, 60, (800, 8))
    label = (mood[ids].sum(1) > 0).long()
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3 if healthy else 3e-2)
    losses = []
    with debug(model):
        model.train()
        for _ in range(200):
            rows = torch.randint(0, 800, (16,))
            loss = model(input_ids=ids[rows], labels=label[rows]).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses
