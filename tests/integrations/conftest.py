"""Shared by the tests of the frameworks: traces of each test lie in its own folder, nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _quiet(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path / "traces"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def hooks_left():
    """A check that nothing of ours is left in torch."""
    from torch.nn.modules import module
    from torch.optim import optimizer

    def count() -> int:
        left = len(module._global_forward_hooks) + len(module._global_forward_pre_hooks)
        return left + len(optimizer._global_optimizer_pre_hooks) + len(optimizer._global_optimizer_post_hooks)

    before = count()
    return lambda: count() - before


@pytest.fixture(scope="session")
def norms() -> list[float]:
    """Gradient norms of one process on the whole batch, in the training that the programs of many processes share."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(1)
    norms = []
    for _ in range(12):
        inputs = torch.randn(16, 6, generator=generator)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        norms.append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
        optimizer.step()
    return norms
