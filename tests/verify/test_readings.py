"""What a run is read by where the end of its first loss does not show the failure."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from neuraldbg.records import CausalHypothesis
from neuraldbg.verify._effects import Arm
from neuraldbg.verify._judge import judge
from neuraldbg.verify._lever import Target
from neuraldbg.verify._replay import Plan, Replay, carry_out
from neuraldbg.verify.interventions import intervene

FIRST, SECOND, OTHER_DATA = "train.py:train:1", "train.py:train:2", "held out, train.py:train:3"


def run(acted: int = 0, held_out: list[float] | None = None, **streams: list[float]) -> Replay:
    named = {FIRST: streams["first"]} | ({SECOND: streams["second"]} if "second" in streams else {})
    return Replay(
        outcome="stopped",
        acted=acted,
        streams={name: (list(range(len(values))), values) for name, values in named.items()},
        held_out={OTHER_DATA: (list(range(len(held_out))), held_out)} if held_out else {},
    )


def verdict_of(cause: str, intervention: str, without: list[Replay], treated: list[Replay], symptom: str = "slow"):
    guess = CausalHypothesis(cause, "it fails", None, None, (0, 0), 0.6)
    arm = Arm(guess, intervention, 1.0, dict(enumerate(treated)))
    (verdict,) = judge([arm], dict(enumerate(without)), symptom, 0)
    return verdict


def flat(level: float, first: float = 2.0) -> list[float]:
    return [first] * 3 + [level] * 37


def test_of_two_losses_the_second_shows_what_the_first_hides():
    without = [run(first=flat(1.4), second=flat(level)) for level in (1.9, 1.8, 1.85)]
    treated = [run(acted=1, first=flat(1.4), second=flat(level)) for level in (0.2, 0.3, 0.25)]
    verdict = verdict_of("learning_rate_collapsed", "hold_learning_rate", without, treated)
    assert verdict.verdict == "confirmed" and SECOND in verdict.reason


def test_a_second_loss_that_is_bought_with_the_first_confirms_nothing():
    without = [run(first=flat(0.5), second=flat(level)) for level in (1.9, 1.8, 1.85)]
    treated = [run(acted=1, first=flat(1.4), second=flat(level)) for level in (0.2, 0.3, 0.25)]
    verdict = verdict_of("learning_rate_collapsed", "hold_learning_rate", without, treated)
    assert verdict.verdict != "confirmed"


def test_a_run_that_gets_there_in_the_end_is_read_by_its_course():
    late = [[2.0] * 30 + [level] * 10 for level in (0.1, 0.11, 0.12)]
    soon = [[2.0] * 5 + [level] * 35 for level in (0.1, 0.11, 0.12)]
    without, treated = [run(first=values) for values in late], [run(acted=1, first=values) for values in soon]
    verdict = verdict_of("excessive_dropout", "lower_dropout", without, treated)
    assert verdict.verdict == "confirmed" and "over the run" in verdict.reason
    # And a change that does nothing is no cure by that reading either.
    verdict = verdict_of("excessive_dropout", "lower_dropout", without, [run(acted=1, first=values) for values in late])
    assert verdict.verdict == "refuted"


@pytest.mark.parametrize(
    ("cause", "intervention", "expected"),
    [
        ("eval_mode_in_training", "train_mode", "confirmed"),
        # What shows in the training loss has to be gone from there.
        ("missing_zero_grad", "clear_gradients", "refuted"),
    ],
)
def test_a_loss_on_other_data_counts_where_the_training_loss_does_not_show_the_cost(cause, intervention, expected):
    without = [run(first=flat(1.0), held_out=[2.0] * 10) for _ in range(3)]
    treated = [run(acted=1, first=flat(1.02), held_out=[2.0] * 5 + [0.5] * 5) for _ in range(3)]
    assert verdict_of(cause, intervention, without, treated).verdict == expected


def test_a_loss_on_other_data_is_read_by_its_end_whatever_the_training_loss_is_read_by():
    without = [run(first=flat(1.0), held_out=[1.6] * 3 + [2.0] * 37) for _ in range(3)]
    treated = [run(acted=1, first=flat(1.0), held_out=[1.6] * 3 + [1.9] * 20 + [0.5] * 17) for _ in range(3)]
    verdict = verdict_of("unshuffled_data", "shuffle_window", without, treated, "loss_spike")
    assert verdict.verdict == "confirmed" and "not trained on" in verdict.reason


def by_list(order: list[int], steps: int = 60):
    """A program that cuts its batches from a Python list, and validates on other samples every ten steps."""

    def train() -> None:
        torch.manual_seed(0)
        points = torch.randn(320, 4)
        rows = [(points[i].tolist(), int(points[i].argmax())) for i in range(320)]
        rows.sort(key=lambda row: order[row[1]])
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
        others = torch.randn(64, 4)
        for step in range(steps):
            at = step * 8 % 320
            chosen = rows[at : at + 8]
            loss = F.cross_entropy(model(torch.tensor([x for x, _ in chosen])), torch.tensor([y for _, y in chosen]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 9:
                with torch.no_grad():
                    F.cross_entropy(model(others), others.argmax(1))

    return train


def test_a_validation_is_written_down_apart_from_the_training_loss():
    replay = carry_out(Plan(None, steps=60), by_list([0, 1, 2, 3]))
    ((place, (steps, values)),) = replay.held_out.items()
    assert place.startswith("held out") and len(values) == 6 and steps == sorted(steps)
    assert all(len(values) == 60 for _, values in replay.streams.values())


def test_a_validation_counts_once_where_torchs_functions_are_replaced():
    plan = Plan("standardize_targets", Target("unscaled_target"), steps=60, seed=1)
    ((_, (_, values)),) = carry_out(plan, by_list([0, 1, 2, 3])).held_out.items()
    assert len(values) == 6


def test_the_meter_changes_nothing_that_an_intervention_does_to_a_loss():
    def train() -> None:
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(20):
            x = torch.randn(32, 4)
            F.mse_loss(model(x), x.sum(1, keepdim=True) * 1000).backward()
            optimizer.step()
            optimizer.zero_grad()

    calls = []
    with intervene("standardize_targets", Target("unscaled_target")) as lever:
        train()
        calls.append(lever.acted)
    replay = carry_out(Plan("standardize_targets", Target("unscaled_target"), steps=60), train)
    assert calls == [replay.acted] and replay.acted > 0


def test_rows_of_a_python_list_are_shuffled_through_the_model_and_the_loss():
    train = by_list([0, 1, 2, 3])
    without = carry_out(Plan(None, steps=60), train)
    treated = carry_out(Plan("shuffle_window", Target("unshuffled_data"), 64.0, steps=60), train)
    assert treated.usable and treated.acted, treated.error
    ends = [next(iter(replay.held_out.values()))[1][-1] for replay in (without, treated)]
    assert ends[1] < 0.8 * ends[0]


def test_rows_that_are_drawn_keep_their_targets():
    class Same(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.weight * x

    model, seen = Same(), []
    with intervene("shuffle_window"):
        for step in range(20):
            x = torch.full((4,), float(step)) + torch.arange(4) / 4
            output = model(x)
            seen.append(output.detach().clone())
            assert F.mse_loss(output, x.clone()).item() == 0.0
    assert any(len(values.floor().unique()) > 1 for values in seen)


def test_batch_norm_over_the_last_batches_has_the_statistics_of_all_of_them():
    torch.manual_seed(0)
    norm, rows = nn.BatchNorm1d(3, affine=False), torch.randn(32, 3) * 5 + 2
    with intervene("replace_batch_norm", strength=2.0) as lever:
        outputs = [norm(rows[at : at + 2]) for at in range(0, 32, 2)]
        large = norm(rows)
    whole = (rows - rows.mean(0)) / rows.var(0, unbiased=False).sqrt()
    assert lever.acted == 16
    assert torch.allclose(outputs[-1], whole[-2:], atol=1e-3)
    # A batch that is large enough is left to torch, and so is a forward in eval mode.
    assert torch.allclose(large, whole, atol=1e-3)
    assert norm.running_mean.abs().min() > 0.1
    norm.eval()
    with intervene("replace_batch_norm", strength=2.0) as lever:
        inside = norm(rows[:2])
    assert not lever.acted and torch.equal(inside, norm(rows[:2]))
