"""The forecaster's failures get the verdict that the example promises, and the runs after the fix get none."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "quant_search"
LOCAL = ("data", "model", "evaluate", "failures")


@pytest.fixture(scope="module")
def example():
    """The example as its own script sees it; its plain module names are taken back afterwards."""
    kept = {name: sys.modules.pop(name) for name in LOCAL if name in sys.modules}
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("failures", FOLDER / "failures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["failures"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    for name in LOCAL:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)


@pytest.mark.parametrize("name", ["variance", "scale", "warm-up"])
def test_the_failure_is_explained_and_the_fix_is_well(example, name, capsys):
    before, after = example.tell(name)
    assert before.outcome == "failed"
    assert before.hypotheses[0].cause == example.FAILURES[name].cause
    assert after.outcome == "healthy"
    assert "calibration error" in capsys.readouterr().out


def test_the_density_of_a_mixture_is_that_of_torch(example):
    model = sys.modules["model"].Forecaster(features=1, components=3)
    windows = sys.modules["data"].windows_of_sines(count=80)
    log_weights, means, deviations = forecast = model(windows.inputs, windows.times)
    mixture = torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(logits=log_weights), torch.distributions.Normal(means, deviations)
    )
    expected = -mixture.log_prob(windows.targets).mean()
    torch.testing.assert_close(sys.modules["model"].negative_log_likelihood(forecast, windows.targets), expected)
    probabilities = sys.modules["evaluate"].distribution_function(forecast, windows.targets)
    torch.testing.assert_close(probabilities, mixture.cdf(windows.targets))


def test_calibration_error_is_zero_for_uniform_and_half_for_certain_misses(example):
    error = sys.modules["evaluate"].calibration_error
    assert error(torch.linspace(0, 1, 10_001)) < 1e-3
    assert abs(error(torch.zeros(100)) - 0.5) < 1e-6


def test_a_window_holds_nothing_of_its_future(example):
    data = sys.modules["data"]
    windows = data.windows_of_sines(length=8, count=60)
    series = data.sines(60)
    assert torch.equal(windows.inputs[5, :, 0], series[5:13])
    assert torch.equal(windows.targets[5], series[[12 + h for h in data.HORIZONS]])


def test_the_notebook_is_valid_and_its_code_is_the_script_s(example):
    notebook = json.loads((FOLDER / "failures.ipynb").read_text("utf-8"))
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    compile(code, "failures.ipynb", "exec")
    for name in example.FAILURES:
        assert f'tell("{name}")' in code
