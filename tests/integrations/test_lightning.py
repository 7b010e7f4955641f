"""Lightning: automatic and manual optimization, accumulation, precision, clipping, validation, resume, early stop."""

from __future__ import annotations

import logging
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning", reason="the package lightning is not installed")

import lightning.pytorch as pl  # noqa: E402
from lightning.pytorch.callbacks import EarlyStopping  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from neuraldbg.integrations.lightning import NeuralDbgCallback  # noqa: E402
from neuraldbg.trace_store.reader import read_trace  # noqa: E402

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning.*")


class Regression(pl.LightningModule):
    """The shape of Lightning's own first example."""

    def __init__(self, manual: bool = False, rate: float = 0.01, fail_at: int = -1) -> None:
        super().__init__()
        self.automatic_optimization = not manual
        self.net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
        self.rate, self.fail_at = rate, fail_at

    def training_step(self, batch, index):
        inputs, targets = batch
        if self.global_step == self.fail_at:
            raise ArithmeticError("planted")
        loss = nn.functional.mse_loss(self.net(inputs), targets)
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            optimizer.step()
        return loss

    def validation_step(self, batch, index):
        inputs, targets = batch
        self.log("val", nn.functional.mse_loss(self.net(inputs), targets))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.rate)


def loader(batch=8):
    inputs = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=batch)


def fit(callbacks=(), manual=False, rate=0.01, fail_at=-1, resume=None, batch=8, **settings):
    torch.manual_seed(0)
    model = Regression(manual, rate, fail_at)
    settings = {"max_epochs": 2, "enable_checkpointing": False, **settings}
    trainer = pl.Trainer(
        accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=list(callbacks), **settings,
    )  # fmt: skip
    trainer.fit(model, loader(batch), loader(), ckpt_path=resume)
    return model, trainer


def assert_same(left, right):
    for (name, one), (_, other) in zip(left.state_dict().items(), right.state_dict().items()):
        assert torch.equal(one, other), name


@pytest.mark.parametrize(
    ("settings", "backwards"),
    [
        ({}, 16),
        ({"manual": True}, 16),
        ({"accumulate_grad_batches": 2, "batch": 4, "gradient_clip_val": 0.5}, 32),
        ({"precision": "bf16-mixed"}, 16),
    ],
    ids=["automatic", "manual", "accumulation and clipping", "mixed precision"],
)
def test_watching_changes_no_weight(settings, backwards, hooks_left):
    callback = NeuralDbgCallback(report=False)
    watched, _ = fit([callback], **settings)
    assert_same(watched, fit(**settings)[0])
    trace = read_trace(callback.debugger.path)
    assert trace.steps == 16
    assert trace.meta["counts"]["backwards"] == backwards
    assert trace.series("evaluation.loss")
    assert not trace.facts("observer.failure")
    assert hooks_left() == 0


def test_early_stop_and_resume(tmp_path):
    stopping = EarlyStopping("val", patience=1, min_delta=1e9)
    callback = NeuralDbgCallback(report=False)
    _, trainer = fit([callback, stopping], max_epochs=9)
    assert read_trace(callback.debugger.path).steps == trainer.global_step == 16
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    again = NeuralDbgCallback(report=False)
    fit([again], max_epochs=3, resume=str(tmp_path / "half.ckpt"))
    trace = read_trace(again.debugger.path)
    assert trace.facts("run.resumed")[0].data["step"] == 16
    assert trace.steps == 8


def test_an_exception_closes_the_block_and_is_kept(hooks_left):
    callback = NeuralDbgCallback(report=False)
    with pytest.raises(ArithmeticError, match="planted"):
        fit([callback], fail_at=5)
    assert hooks_left() == 0
    assert read_trace(callback.debugger.path).facts("run.exception")[0].data["message"] == "planted"


def test_a_learning_rate_that_is_too_high_is_explained(capsys):
    callback = NeuralDbgCallback()
    fit([callback], rate=30.0, max_epochs=5)
    causes = [hypothesis.cause for hypothesis in callback.debugger.explain_failure()]
    assert "learning_rate_too_high" in causes[:2]
    assert "FAILED" in capsys.readouterr().err
