"""Accelerate's loop and Ignite's engine."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from neuraldbg import NeuralDbg  # noqa: E402
from neuraldbg.trace_store.reader import read_trace  # noqa: E402


def loader(batch=4):
    inputs = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=batch)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def assert_same(left, right):
    for (name, one), (_, other) in zip(left.state_dict().items(), right.state_dict().items()):
        assert torch.equal(one, other), name


def accelerated(watched):
    accelerate = pytest.importorskip("accelerate", reason="the package accelerate is not installed")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = network()
    model, optimizer, batches = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=0.01), loader())

    def epochs():
        for _ in range(2):
            for inputs, targets in batches:
                with accelerator.accumulate(model):
                    loss = nn.functional.mse_loss(model(inputs), targets)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()

    if not watched:
        epochs()
        return model, None
    with NeuralDbg(model) as debugger:
        epochs()
    return model, debugger


def test_accelerate_with_accumulation_and_clipping(hooks_left):
    model, debugger = accelerated(True)
    assert_same(model, accelerated(False)[0])
    trace = read_trace(debugger.path)
    assert (trace.steps, trace.meta["counts"]["backwards"]) == (8, 16)
    assert not trace.facts("observer.failure")
    assert hooks_left() == 0


def engine(rate=0.01, fail_at=-1):
    ignite = pytest.importorskip("ignite.engine", reason="the package pytorch-ignite is not installed")
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)

    def update(trainer, batch):
        if trainer.state.iteration == fail_at:
            raise ArithmeticError("planted")
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss.item()

    return ignite.Engine(update), model


def test_ignite(hooks_left):
    plain, model = engine()
    plain.run(loader(), max_epochs=2)
    trainer, watched = engine()
    from neuraldbg.integrations.ignite import attach

    watching = attach(trainer, watched, report=False)
    trainer.run(loader(), max_epochs=2)
    assert_same(watched, model)
    assert read_trace(watching.debugger.path).steps == 16
    assert hooks_left() == 0


def test_ignite_lets_an_exception_through(hooks_left):
    trainer, model = engine(fail_at=5)
    from neuraldbg.integrations.ignite import attach

    watching = attach(trainer, model, report=False)
    with pytest.raises(ArithmeticError, match="planted"):
        trainer.run(loader(), max_epochs=1)
    assert hooks_left() == 0
    assert read_trace(watching.debugger.path).facts("run.exception")[0].data["message"] == "planted"
