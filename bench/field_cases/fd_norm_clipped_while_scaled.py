"""A language model under autocast with a gradient scaler. The trainer clips the norm to 0.25 before the scaler has
divided: what reaches the weights is a hundred-thousandth. Repair: unscale, then clip."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

META = dict(
    id="fd_norm_clipped_while_scaled",
    source="as in github.com/Lightning-AI/pytorch-lightning/issues/9599",
    cause="clipping_scaled_gradients",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Trainer:
    def __init__(self, model: nn.Module, unscale: bool) -> None:
        self.model, self.unscale = model, unscale
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15)

    def step(self, ids: Tensor) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = self.model(input_ids=ids, labels=ids).loss
        self.scaler.scale(loss).backward()
        if self.unscale:
            self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.25)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=20, n_positions=10, n_embd=24, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    trainer = Trainer(model, unscale=healthy)
    after = torch.randperm(20)
    losses = []
    with debug(model):
        for _ in range(150):
            text = [torch.randint(0, 20, (24,))]
            for _i in range(9):
                text.append(after[text[-1]])
            losses.append(trainer.step(torch.stack(text, 1)))
    return losses
