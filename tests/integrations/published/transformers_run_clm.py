"""The shape of Transformers' ``run_clm.py``: arguments parsed into dataclasses, texts joined and cut into blocks, a
model from a config, the Trainer with evaluation, checkpoints, and going on from the last of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
import transformers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint


@dataclass
class ModelArguments:
    n_embd: int = field(default=32)
    n_layer: int = field(default=1)


@dataclass
class DataTrainingArguments:
    block_size: int = field(default=16)
    save: str = field(default="weights.pt")
    watch: bool = field(default=False)


def group_texts(texts, block_size):
    joined = torch.cat(texts)
    blocks = joined[: len(joined) // block_size * block_size].view(-1, block_size)
    return [{"input_ids": b, "labels": b.clone(), "attention_mask": torch.ones_like(b)} for b in blocks]


def main():
    parser = HfArgumentParser((ModelArguments, DataTrainingArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    transformers.logging.set_verbosity_error()
    set_seed(training_args.seed)
    generator = torch.Generator().manual_seed(0)
    texts = [torch.randint(1, 3, (80,), generator=generator).cumsum(0) % 24 for _ in range(60)]
    lm_datasets = group_texts(texts, data_args.block_size)
    config = GPT2Config(
        vocab_size=24, n_positions=data_args.block_size, n_embd=model_args.n_embd, n_layer=model_args.n_layer, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    callbacks = []
    if data_args.watch:
        from neuraldbg.integrations.transformers import NeuralDbgCallback

        callbacks.append(NeuralDbgCallback())
    trainer = Trainer(
        model=model, args=training_args, train_dataset=lm_datasets[:240], eval_dataset=lm_datasets[240:],
        data_collator=default_data_collator, callbacks=callbacks,
    )  # fmt: skip
    trainer.remove_callback(transformers.PrinterCallback)
    last = get_last_checkpoint(training_args.output_dir)
    result = trainer.train(resume_from_checkpoint=last)
    trainer.save_model()
    trainer.save_metrics("train", result.metrics)
    metrics = trainer.evaluate()
    try:
        metrics["perplexity"] = math.exp(metrics["eval_loss"])
    except OverflowError:
        metrics["perplexity"] = float("inf")
    trainer.save_metrics("eval", metrics)
    torch.save(model.state_dict(), data_args.save)


if __name__ == "__main__":
    main()
