"""A trainer clips to 0.5 in its after-backward hook and unscales in its before-step hook; SGD then moves by the clip over the scale. Repair: unscale first."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_value_clipped_while_scaled",
    source="widely reported: a trainer's gradient_clip_val applied to scaled gradients",
    cause="clipping_scaled_gradients",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Hooks:
    def __init__(self, scaler, opt, params, right):
        self.scaler, self.opt, self.params, self.right = scaler, opt, list(params), right

    def after_backward(self):
        if self.right:
            self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.params, 0.5)

    def before_step(self):
        if not self.right:
            self.scaler.unscale_(self.opt)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=100)
    hooks = Hooks(scaler, opt, model.parameters(), healthy)
    w = torch.randn(16, 2)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(64, 16)
            y = torch.tanh(x @ w[:, :1]) + torch.relu(x @ w[:, 1:] / 3)
            with torch.autocast("cpu", dtype=torch.float16):
                out = model(x)
            loss = F.mse_loss(out.float(), y)
            opt.zero_grad()
            scaler.scale(loss).backward()
            hooks.after_backward()
            hooks.before_step()
            scaler.step(opt)
            scaler.update()
            losses.append(loss.item())
    return losses
