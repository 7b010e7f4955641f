"""Each demo fails for the reason that was planted in it, and is told so."""

from __future__ import annotations

import pytest

from helpers.command_line import Box
from neuraldbg.cli.demo import DEFAULT, names
from neuraldbg.records import FAILURE_TYPES

#: The causes that name what was planted; more than one where the vocabulary has two words for it.
CAUSES = {
    "data_anomaly": {"nan_in_input"},
    "dead_neurons": {"learning_rate_too_high"},
    "exploding_gradients": {"init_too_large", "exploding_depth"},
    "optimizer_instability": {"learning_rate_jump"},
    "saturated_activations": {"init_too_large", "saturating_activation"},
    "vanishing_gradients": {"vanishing_depth"},
}


def test_there_is_one_demo_per_kind_of_failure() -> None:
    assert set(names()) == set(FAILURE_TYPES) == set(CAUSES)
    assert DEFAULT in names()


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_the_planted_cause_is_named(box: Box, name: str) -> None:
    done = box.neuraldbg("demo", name)
    assert done.returncode == 0, done.stderr
    why = done.stdout.split("WHY", 1)[1].splitlines()
    assert any(cause in " ".join(why[:4]) for cause in CAUSES[name]), done.stdout
    assert "Planted: " in done.stdout and "neuraldbg explain .neuraldbg" in done.stdout
    assert "\x1b" not in done.stdout
