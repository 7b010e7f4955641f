"""The Hugging Face Trainer, with models built from a config."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
pytest.importorskip("accelerate", reason="the package accelerate, which the Trainer needs, is not installed")

from neuraldbg.integrations.transformers import NeuralDbgCallback  # noqa: E402
from neuraldbg.trace_store.reader import read_trace  # noqa: E402

TEXT = [
    {"input_ids": row, "labels": row, "attention_mask": torch.ones(8, dtype=torch.long)}
    for row in torch.randint(0, 50, (32, 8), generator=torch.Generator().manual_seed(0))
]
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def gpt2():
    config = transformers.GPT2Config(vocab_size=50, n_positions=8, n_embd=16, n_layer=1, n_head=2)
    return transformers.GPT2LMHeadModel(config), TEXT


def bert():
    config = transformers.BertConfig(vocab_size=50, num_labels=3, **SMALL)
    rows = [{"input_ids": row["input_ids"], "labels": int(row["input_ids"].sum()) % 3} for row in TEXT]
    return transformers.BertForSequenceClassification(config), rows


def vit():
    config = transformers.ViTConfig(image_size=8, patch_size=4, num_labels=3, **SMALL)
    images = torch.randn(32, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    rows = [{"pixel_values": image, "labels": index % 3} for index, image in enumerate(images)]
    return transformers.ViTForImageClassification(config), rows


def mamba():
    config = transformers.MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=1)
    rows = [{"input_ids": row["input_ids"], "labels": row["labels"]} for row in TEXT]
    return transformers.MambaForCausalLM(config), rows


def train(build, callbacks=(), steps=6, resume=None, **settings):
    torch.manual_seed(0)
    model, rows = build()
    settings = {"learning_rate": 1e-3, "per_device_train_batch_size": 8, "save_strategy": "no", **settings}
    arguments = transformers.TrainingArguments(
        output_dir="out", max_steps=steps, use_cpu=True, report_to=[], disable_tqdm=True, logging_steps=100, **settings
    )
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8], callbacks=list(callbacks)
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=resume)
    return model


def assert_same(left, right):
    for (name, one), (_, other) in zip(left.state_dict().items(), right.state_dict().items()):
        assert torch.equal(one, other), name


@pytest.mark.parametrize("build", [gpt2, bert, vit, mamba])
def test_watching_changes_no_weight(build, hooks_left):
    callback = NeuralDbgCallback(report=False)
    assert_same(train(build, [callback]), train(build))
    trace = read_trace(callback.debugger.path)
    assert trace.steps == 6
    assert trace.series("loss.value")
    assert not trace.facts("observer.failure")
    assert hooks_left() == 0


def test_accumulation_clipping_and_evaluation_in_between(hooks_left):
    settings = {
        "gradient_accumulation_steps": 2, "per_device_train_batch_size": 4, "max_grad_norm": 0.5, "bf16": True,
        "eval_strategy": "steps", "eval_steps": 2,
    }  # fmt: skip
    callback = NeuralDbgCallback(report=False)
    assert_same(train(gpt2, [callback], **settings), train(gpt2, **settings))
    trace = read_trace(callback.debugger.path)
    assert trace.steps == 6
    assert trace.meta["counts"]["backwards"] == 12
    assert trace.series("evaluation.loss")
    assert hooks_left() == 0


@pytest.mark.parametrize("settings", [{}, {"allowance": 0, "budget": 0}], ids=["all steps", "few steps"])
def test_a_learning_rate_that_is_too_high_is_explained(settings, capsys):
    """However much of the run was observed, which a loaded machine may change."""
    callback = NeuralDbgCallback(**settings)
    train(gpt2, [callback], steps=40, learning_rate=30.0, optim="sgd", max_grad_norm=0.0, lr_scheduler_type="constant")
    causes = [hypothesis.cause for hypothesis in callback.debugger.explain_failure()]
    assert causes[0] == "learning_rate_too_high"
    assert "FAILED" in capsys.readouterr().err


def test_the_number_of_tokens_that_the_trainer_passes_along_is_no_input():
    """A scalar of the batch, in the hundreds: it is no data that would have to be normalized."""
    callback = NeuralDbgCallback(report=False)
    train(gpt2, [callback], steps=40, learning_rate=30.0, optim="sgd", max_grad_norm=0.0, lr_scheduler_type="constant")
    inputs = [place.name for place in read_trace(callback.debugger.path).places if place.kind == "input"]
    assert inputs and "[num_items_in_batch]" not in inputs
    assert "unnormalized_input" not in [h.cause for h in callback.debugger.get_causal_hypotheses()]


def test_a_resumed_training_is_noted_and_counts_on(tmp_path):
    train(gpt2, steps=4, save_strategy="steps", save_steps=4)
    callback = NeuralDbgCallback(report=False)
    train(gpt2, [callback], steps=6, resume=str(tmp_path / "out" / "checkpoint-4"))
    trace = read_trace(callback.debugger.path)
    assert trace.facts("run.resumed")[0].data["step"] == 4
    assert trace.steps == 2


def test_a_loss_that_the_trainer_divides_by_its_tokens_is_an_average():
    callback = NeuralDbgCallback(report=False)
    train(gpt2, [callback])
    terms = read_trace(callback.debugger.path).facts("loss.structure")[0].data["terms"]
    assert [term["reduction"] for term in terms] == ["mean"]
