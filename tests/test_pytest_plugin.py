"""The pytest plugin, in a pytest of its own: which tests fail, and what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command_line import environment

TESTS = """
import pytest, torch
from torch import nn

def train(rate, steps=40):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        inputs = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        optimizer.zero_grad(); loss.backward(); optimizer.step()

@pytest.mark.trains
def test_learns():
    train(0.05)

@pytest.mark.trains
def test_explodes():
    train(5.0)

@pytest.mark.trains(cause="dying_relu")
def test_another_expected():
    train(5.0)

@pytest.mark.trains
def test_idle():
    pass

def test_block_explodes(neuraldbg):
    with neuraldbg():
        train(5.0)

def test_block_is_asked(neuraldbg):
    with neuraldbg(fail_on=None) as dbg:
        train(5.0)
    assert dbg.explain_failure()

@pytest.mark.trains(fail_on="sometimes")
def test_mistake():
    pass

def test_ordinary():
    pass
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "test_training.py").write_text(TESTS, encoding="utf-8")
    # The entry point may or may not be installed: it is switched off, and the plugin named.
    command = ["-m", "pytest", "-p", "no:neuraldbg", "-p", "neuraldbg.pytest_plugin", "--strict-markers", "-rA", "-q"]
    result = subprocess.run(
        [sys.executable, *command, "-p", "no:cacheprovider", f"--basetemp={folder / 'base'}", str(folder)],
        env=environment(), capture_output=True, text=True, cwd=folder, timeout=900,
    )  # fmt: skip
    lines = [line.split(" - ")[0].split() for line in result.stdout.splitlines() if "test_training.py::" in line]
    return {words[1].split("::")[1]: words[0] for words in lines if len(words) == 2}, result.stdout, folder


def test_tests_fail_for_what_their_training_did(outcome):
    results, output, _ = outcome
    assert (
        results
        == {
            "test_learns": "PASSED",
            "test_explodes": "FAILED",
            "test_another_expected": "FAILED",
            "test_idle": "FAILED",
            "test_block_explodes": "ERROR",
            "test_block_is_asked": "PASSED",
            "test_mistake": "FAILED",
            "test_ordinary": "PASSED",
        }
        or output
    )


def test_their_reports_say_why(outcome):
    _, output, folder = outcome
    assert "training failed:" in output and "The loss became infinite" in output
    assert "expected training to fail for dying_relu, found " in output
    assert "expected the test to train, found no step" in output
    assert "fail_on expects named or suspected, found 'sometimes'" in output
    kept = [Path(line.split("Trace: ")[1]) for line in output.splitlines() if ".ndbg" in line and "Trace: " in line]
    assert kept and all(path.exists() and folder in path.parents for path in kept)


def test_the_entry_point_is_declared():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points.pytest11]\nneuraldbg = "neuraldbg.pytest_plugin"' in text
