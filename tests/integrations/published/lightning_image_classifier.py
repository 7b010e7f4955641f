"""The shape of Lightning's image classifier: a module around a backbone, a data module, metrics that are logged, early
stopping and the best checkpoint."""

from __future__ import annotations

import argparse
import logging
import warnings
from importlib import import_module
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

pl = import_module("lightning.pytorch" if find_spec("lightning") else "pytorch_lightning")
callbacks = import_module(f"{pl.__name__}.callbacks")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Backbone(nn.Module):
    def __init__(self, hidden_dim=32):
        super().__init__()
        self.l1, self.l2 = nn.Linear(64, hidden_dim), nn.Linear(hidden_dim, 4)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x.flatten(1))))


class LitClassifier(pl.LightningModule):
    def __init__(self, learning_rate=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = Backbone()

    def forward(self, x):
        return self.backbone(x)

    def training_step(self, batch, index):
        loss = self._loss(batch)
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("valid_loss", self._loss(batch))

    def test_step(self, batch, index):
        self.log("test_loss", self._loss(batch))

    def _loss(self, batch):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.learning_rate, momentum=0.9)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)}


class Digits(pl.LightningDataModule):
    def setup(self, stage=None):
        generator = torch.Generator().manual_seed(0)
        patterns = torch.randn(4, 1, 8, 8, generator=generator)
        labels = torch.randint(0, 4, (640,), generator=generator)
        images = patterns[labels] + 0.7 * torch.randn(640, 1, 8, 8, generator=generator)
        self.parts = [TensorDataset(images[i:j], labels[i:j]) for i, j in ((0, 384), (384, 512), (512, 640))]

    def train_dataloader(self):
        return DataLoader(self.parts[0], batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.parts[1], batch_size=64)

    def test_dataloader(self):
        return DataLoader(self.parts[2], batch_size=64)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=1e-2)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    pl.seed_everything(1234, verbose=False)
    used = [callbacks.EarlyStopping("valid_loss", patience=3), callbacks.ModelCheckpoint("kept", monitor="valid_loss")]
    if args.watch:
        from neuraldbg.integrations.lightning import NeuralDbgCallback

        used.append(NeuralDbgCallback())
    model, data = LitClassifier(args.learning_rate), Digits()
    trainer = pl.Trainer(
        accelerator="cpu", devices=1, max_epochs=4, logger=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=used,
    )  # fmt: skip
    trainer.fit(model, datamodule=data)
    torch.save(model.state_dict(), args.save)
    trainer.test(model, datamodule=data, verbose=False)


if __name__ == "__main__":
    main()
