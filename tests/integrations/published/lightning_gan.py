"""The shape of Lightning's generative adversarial network: two optimizers in manual optimization, toggled in turn."""

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
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Generator(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.BatchNorm1d(32, 0.8), nn.LeakyReLU(0.2),
            nn.Linear(32, 36), nn.Tanh(),
        )  # fmt: skip

    def forward(self, z):
        return self.model(z).view(-1, 1, 6, 6)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(36, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, images):
        return self.model(images.flatten(1))


class GAN(pl.LightningModule):
    def __init__(self, latent=8, lr=2e-4):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator, self.discriminator = Generator(latent), Discriminator()

    def training_step(self, batch, index):
        images = batch[0]
        g, d = self.optimizers()
        z = torch.randn(len(images), self.hparams.latent)
        self.toggle_optimizer(g)
        loss = F.binary_cross_entropy_with_logits(self.discriminator(self.generator(z)), torch.ones(len(images), 1))
        self.manual_backward(loss)
        g.step()
        g.zero_grad()
        self.untoggle_optimizer(g)
        self.toggle_optimizer(d)
        real = F.binary_cross_entropy_with_logits(self.discriminator(images), torch.ones(len(images), 1))
        made = self.discriminator(self.generator(z).detach())
        fake = F.binary_cross_entropy_with_logits(made, torch.zeros(len(images), 1))
        self.manual_backward((real + fake) / 2)
        d.step()
        d.zero_grad()
        self.untoggle_optimizer(d)

    def configure_optimizers(self):
        g = torch.optim.Adam(self.generator.parameters(), lr=self.hparams.lr, betas=(0.5, 0.999))
        d = torch.optim.Adam(self.discriminator.parameters(), lr=self.hparams.lr, betas=(0.5, 0.999))
        return [g, d], []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--bad_row", type=int, default=-1, help="this image has a value that is not a number")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    pl.seed_everything(7, verbose=False)
    images = torch.tanh(torch.randn(384, 1, 6, 6) + torch.linspace(-1, 1, 6))
    if args.bad_row >= 0:
        images[args.bad_row, 0, 2, 2] = float("nan")
    callbacks = []
    if args.watch:
        from neuraldbg.integrations.lightning import NeuralDbgCallback

        callbacks.append(NeuralDbgCallback())
    model = GAN(lr=args.lr)
    trainer = pl.Trainer(
        accelerator="cpu", devices=1, max_epochs=2, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks,
    )  # fmt: skip
    trainer.fit(model, DataLoader(TensorDataset(images), batch_size=16))
    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
