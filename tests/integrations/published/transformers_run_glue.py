"""The shape of Transformers' ``run_glue.py``: sentences padded by a collator, a classifier on BERT, a metric."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import transformers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class DataTrainingArguments:
    save: str = field(default="weights.pt")
    watch: bool = field(default=False)


def sentences(count, seed):
    """Pairs of equal or different first words, of unequal lengths."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(count):
        length = int(torch.randint(4, 9, (1,), generator=generator))
        words = torch.randint(3, 20, (length,), generator=generator)
        rows.append({"input_ids": words.tolist(), "label": int(words[0] > 11)})
    return rows


def collate(rows):
    longest = max(len(row["input_ids"]) for row in rows)
    padded = [row["input_ids"] + [0] * (longest - len(row["input_ids"])) for row in rows]
    ids = torch.tensor(padded)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([r["label"] for r in rows])}


def compute_metrics(prediction):
    return {"accuracy": float((np.argmax(prediction.predictions, axis=1) == prediction.label_ids).mean())}


def main():
    parser = HfArgumentParser((DataTrainingArguments, TrainingArguments))
    data_args, training_args = parser.parse_args_into_dataclasses()
    transformers.logging.set_verbosity_error()
    set_seed(training_args.seed)
    config = BertConfig(
        vocab_size=20, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, num_labels=2,
        max_position_embeddings=16,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    callbacks = []
    if data_args.watch:
        from neuraldbg.integrations.transformers import NeuralDbgCallback

        callbacks.append(NeuralDbgCallback())
    trainer = Trainer(
        model=model, args=training_args, train_dataset=sentences(320, 0), eval_dataset=sentences(64, 1),
        compute_metrics=compute_metrics, data_collator=collate, callbacks=callbacks,
    )  # fmt: skip
    trainer.remove_callback(transformers.PrinterCallback)
    result = trainer.train()
    trainer.save_metrics("train", result.metrics)
    trainer.save_metrics("eval", trainer.evaluate())
    torch.save(model.state_dict(), data_args.save)


if __name__ == "__main__":
    main()
