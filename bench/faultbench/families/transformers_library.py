"""Small configurations of real architectures, built from a config, never downloaded; left out where not installed."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common, _sequences
from bench.faultbench.recipe import Recipe, Style

# The configurations below leave the ids of special tokens as they come; the library would warn about each.
transformers.logging.set_verbosity_error()

VOCABULARY = 24
KINDS = ("gpt2", "bert", "llama", "distilbert")


class Wrapped(nn.Module):
    """The library's model, with logits as the only output."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: Tensor) -> Tensor:
        return self.inner(input_ids=tokens).logits


def _model(kind: str, classes: int, style: Style) -> nn.Module:
    width, depth, rate = style.width, style.depth, style.dropout
    if kind == "gpt2":
        config: Any = transformers.GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=64,
            n_embd=width,
            n_layer=depth,
            n_head=2,
            resid_pdrop=rate,
            embd_pdrop=rate,
            attn_pdrop=rate,
        )
        return Wrapped(transformers.GPT2LMHeadModel(config))
    if kind == "llama":
        config = transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=depth,
            num_attention_heads=2,
            max_position_embeddings=64,
        )
        return Wrapped(transformers.LlamaForCausalLM(config))
    if kind == "bert":
        config = transformers.BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=2,
            intermediate_size=2 * width,
            max_position_embeddings=64,
            num_labels=classes,
            hidden_dropout_prob=rate,
            attention_probs_dropout_prob=rate,
        )
        return Wrapped(transformers.BertForSequenceClassification(config))
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        dim=width,
        n_layers=depth,
        n_heads=2,
        hidden_dim=2 * width,
        max_position_embeddings=64,
        num_labels=classes,
        dropout=rate,
        attention_dropout=rate,
        seq_classif_dropout=rate,
    )
    return Wrapped(transformers.DistilBertForSequenceClassification(config))


def make(seed: int) -> Recipe:
    rng = _common.source("transformers_library", seed)
    kind = rng.choice(KINDS)
    language = kind in ("gpt2", "llama")
    classes = VOCABULARY if language else rng.choice([2, 3])
    truth = _common.teacher(seed)
    table, lean = torch.randperm(VOCABULARY, generator=truth), _sequences.lean_of(VOCABULARY, max(classes, 1), truth)
    task = "tokens" if language else "classes"
    objective, metric = tasks.standard_parts(task, rng)

    def draw(count: int, generator: torch.Generator, style: Style):  # type: ignore[no-untyped-def]
        if language:
            return _sequences.chain(table, count, generator, style.length)
        return _sequences.leaning(lean, count, generator, style.length, classes)

    steps = 120
    return Recipe(
        family="transformers_library",
        seed=seed,
        task=task,
        style=_common.draw_style(rng, dropouts=(0.0, 0.1), widths=(32,), depths=(2,), length=10),
        knobs=frozenset({"width", "depth"}),
        tags=frozenset({"token_input", "attention", "last_layer"} | ({"language"} if language else set())),
        build=lambda style: _model(kind, classes, style),
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"adam": 4e-3, "adamw": 4e-3}),
        batch=16,
        steps=steps,
        samples=1024,
        classes=classes,
        loop=_common.draw_loop(rng, steps, amp=False),
    )
