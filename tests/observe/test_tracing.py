"""A program that torch writes down inside the block is the one it would write down outside, and training goes on."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from helpers.watching import Watching, failures


class Model(nn.Module):
    """Dropout and a loss are functionals of which the block diverts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(F.dropout(torch.relu(self.first(x)), 0.5, self.training))  # type: ignore[no-any-return]


class WithLoss(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return F.cross_entropy(self.model(x), torch.zeros(4, dtype=torch.long))


def _jit(model: nn.Module, x: Tensor) -> str:
    return str(torch.jit.trace(model, x).inlined_graph)


def _jit_training_mode(model: nn.Module, x: Tensor) -> str:
    return str(torch.jit.trace(model.train(), x, check_trace=False).inlined_graph)


def _jit_without_gradients(model: nn.Module, x: Tensor) -> str:
    with torch.no_grad():
        return str(torch.jit.trace(WithLoss(model), x).inlined_graph)


def _symbolic(model: nn.Module, x: Tensor) -> str:
    return str(torch.fx.symbolic_trace(model).graph)


def _make_fx(model: nn.Module, x: Tensor) -> str:
    return str(make_fx(lambda x: F.mse_loss(model(x), torch.zeros(4, 3)))(x).graph)  # type: ignore[no-untyped-call]


def _export(model: nn.Module, x: Tensor) -> str:
    return str(torch.export.export(model, (x,)).graph)


def _fake(model: nn.Module, x: Tensor) -> str:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        return str(tuple(model(mode.from_tensor(x)).shape))


WAYS = [_jit, _jit_training_mode, _jit_without_gradients, _symbolic, _make_fx, _export, _fake]


def _written(write: Callable[[nn.Module, Tensor], str], model: nn.Module, x: Tensor) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=r".*torch\.jit\.trace.*deprecated")
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning, message=r"Trace had nondeterministic")
        text = write(model.eval(), x)
    model.train()
    # Neither the source lines nor the numbers that keep mangled names apart are the program.
    return re.sub(r" #.*|\.?___torch_mangle_\d+|%[\w.]+", "", text)


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("given", [True, False], ids=["model", "discovered"])
def test_the_program_is_the_same_and_training_goes_on(
    tmp_path: Path, write: Callable[[nn.Module, Tensor], str], given: bool
) -> None:
    torch.manual_seed(0)
    model, x, y = Model(), torch.randn(4, 6), torch.tensor([0, 1, 2, 0])
    outside = _written(write, model, x)
    block = Watching(tmp_path)
    with block(model if given else None):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step in (0, 3):
                assert _written(write, model, x) == outside
    assert failures(block.trace) == []
    assert block.trace.steps == 6
    steps, _ = block.trace.scalar("module.output_std", "last")
    assert steps.tolist() == list(range(6))
