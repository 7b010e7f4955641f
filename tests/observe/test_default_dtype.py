"""Whatever torch.set_default_dtype says, everything is measured, and the numbers are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.watching import Watching, failures
from neuraldbg.records import Trace


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    yield
    torch.set_default_dtype(torch.float32)


def _classes(model: nn.Module, x: Tensor) -> Tensor:
    return F.cross_entropy(model(x), torch.arange(8, device=x.device) % 4)


def _binary(model: nn.Module, x: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(model(x), (x[:, :4].sum(1, keepdim=True) > 0).to(x.dtype).expand(8, 4))


def _squares(model: nn.Module, x: Tensor) -> Tensor:
    return ((model(x) - x[:, :4]) ** 2).mean() + 0.1 * torch.log(model(x).square() + 1).mean()


def _train(folder: Path, loss: Callable[[nn.Module, Tensor], Tensor], default: torch.dtype, own: torch.dtype) -> Trace:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.LSTM(16, 16), _First(), nn.Linear(16, 4)
    ).to(own)
    x = torch.randn(8, 6, dtype=torch.float32).to(own)
    torch.set_default_dtype(default)
    block = Watching(folder)
    with block(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            loss(model, x).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss(model, x)
    assert failures(block.trace) == []
    return block.trace


class _First(nn.Module):
    def forward(self, both: tuple[Tensor, Tensor]) -> Tensor:
        return both[0]


@pytest.mark.parametrize("loss", [_classes, _binary, _squares])
@pytest.mark.parametrize("default", [torch.float64, torch.bfloat16])
def test_the_default_changes_no_quantity(
    tmp_path: Path, loss: Callable[[nn.Module, Tensor], Tensor], default: torch.dtype
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    usual = _train(tmp_path / "a", loss, torch.float32, torch.float32)
    other = _train(tmp_path / "b", loss, default, torch.float32)
    assert other.quantities == usual.quantities
    assert {q: len(other.series(q).steps) for q in other.quantities} == {
        q: len(usual.series(q).steps) for q in usual.quantities
    }


@pytest.mark.parametrize("loss", [_classes, _binary, _squares])
def test_a_model_in_double_precision(tmp_path: Path, loss: Callable[[nn.Module, Tensor], Tensor]) -> None:
    trace = _train(tmp_path, loss, torch.float64, torch.float64)
    assert trace.steps == 8
