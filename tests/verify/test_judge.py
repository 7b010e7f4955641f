"""From losses to verdicts, without any training."""

from __future__ import annotations

import math

import pytest

from neuraldbg.records import CausalHypothesis
from neuraldbg.verify import _compare as compare
from neuraldbg.verify._effects import Arm
from neuraldbg.verify._experiment import default_steps
from neuraldbg.verify._judge import judge
from neuraldbg.verify._preview import preview
from neuraldbg.verify._replay import Replay


def run(*values: float, acted: int = 0, outcome: str = "stopped") -> Replay:
    return Replay(outcome=outcome, streams={"train.py:1": (list(range(len(values))), list(values))}, acted=acted)


def flat(level: float, acted: int = 0) -> Replay:
    return run(2.0, *[level] * 40, acted=acted)


def arm(cause: str, intervention: str | None, prior: float, *runs: Replay) -> Arm:
    guess = CausalHypothesis(cause, "", None, None, (0, 40), prior, remedy="Do it.")
    return Arm(guess, intervention, 0.1, dict(enumerate(runs)))


PLACEBO = {0: flat(1.9), 1: flat(2.0), 2: flat(1.95)}


def verdicts(*arms: Arm, placebo=PLACEBO, symptom="loss_plateau"):
    return judge(arms, placebo, symptom, 0)


def test_gone_in_all_pairs_is_confirmed_with_an_interval_above_zero():
    (verdict,) = verdicts(arm("missing_zero_grad", "clear_gradients", 0.6, *[flat(x, 1) for x in (0.2, 0.3, 0.25)]))
    assert verdict.verdict == "confirmed" and verdict.failed_with == (0, 3) and verdict.failed_without == (3, 3)
    assert 0.5 < verdict.interval[0] < verdict.effect < verdict.interval[1]
    assert verdict.posterior > 0.9


def test_nothing_to_change_is_refuted():
    (verdict,) = verdicts(arm("missing_zero_grad", "clear_gradients", 0.6, flat(1.9)))
    assert verdict.verdict == "refuted" and "nothing to change" in verdict.reason and verdict.posterior < 0.1


def test_no_effect_is_refuted_and_raises_the_others():
    wrong, open_ = verdicts(
        arm("frozen_parameters", "unfreeze_parameters", 0.6, *[flat(x, 1) for x in (1.9, 1.95, 2.0)]),
        arm("class_imbalance", None, 0.3),
    )
    assert wrong.verdict == "refuted" and wrong.posterior < wrong.prior
    assert open_.verdict == "inconclusive" and open_.posterior > open_.prior and open_.instead


def test_of_two_cures_the_specific_one_explains_the_other_away():
    broad, specific = verdicts(
        arm("learning_rate_too_high", "lower_learning_rate", 0.3, *[flat(x, 1) for x in (0.9, 1.0, 0.95)]),
        arm("unnormalized_input", "standardize_inputs", 0.3, *[flat(x, 1) for x in (0.1, 0.1, 0.12)]),
    )
    assert specific.verdict == "confirmed"
    assert broad.verdict == "inconclusive" and "unnormalized_input explains it better" in broad.reason


def test_one_pair_has_no_interval_and_confirms_nothing():
    (verdict,) = verdicts(arm("loss_sign", "reshape_target", 0.9, flat(0.01, 1)), placebo={0: flat(1.9)})
    assert verdict.verdict == "inconclusive" and "--seeds" in verdict.reason and verdict.effect > 0.9


def test_pairs_that_do_not_agree_decide_nothing():
    (verdict,) = verdicts(
        arm("frozen_parameters", "unfreeze_parameters", 0.6, flat(0.1, 1), flat(2.0, 1), flat(1.9, 1))
    )
    assert verdict.verdict == "inconclusive"


def test_a_failure_that_does_not_come_back_decides_nothing():
    placebo = {0: flat(0.1), 1: flat(0.1), 2: flat(0.1)}
    (verdict,) = verdicts(
        arm("nan_in_input", "skip_batch", 0.9, flat(0.1, 1)), placebo=placebo, symptom="loss_non_finite"
    )
    assert verdict.verdict == "inconclusive" and "does not come back" in verdict.reason


def test_runs_without_losses_are_judged_by_what_happened_to_them():
    crashed = Replay(outcome="crashed", error="ValueError: x")
    (verdict,) = verdicts(arm("loss_sign", "flip_loss_sign", 0.5, crashed))
    assert verdict.verdict == "inconclusive" and verdict.trouble == ("seed 0: crashed (ValueError: x)",)
    (verdict,) = judge([arm("loss_sign", "flip_loss_sign", 0.5)], {}, "", 0)
    assert verdict.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("without", "treated", "changes_loss", "expected"),
    [
        ([2.0] * 9, [2.0] * 9, False, 0.0),
        ([2.0] * 9, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0], False, 0.5),
        ([2.0, 2.0, 2.0, math.inf], [2.0, 2.0, 2.0, 1.0, 1.0, 1.0], False, 0.5),
        ([2.0] * 9, [2.0, 2.0, 2.0, math.inf], False, -1.0),
        ([2.0, 2.0, 2.0, math.inf], [2.0, 2.0, 2.0, math.inf], False, 0.0),
        ([200.0] * 9, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0], True, 0.5),
        ([math.inf] * 3, [math.inf] * 3, False, 0.0),
        ([0.0] * 9, [0.0] * 9, False, 0.0),
        ([-1.0] * 9, [-1.0, -1.0, -1.0, -3.0, -3.0, -3.0], False, 1.0),
    ],
)
def test_the_effect_is_the_share_of_the_remaining_loss(without, treated, changes_loss, expected):
    levels = [compare.level(run(*values), "train.py:1", "", 0) for values in (without, treated)]
    assert compare.effect(*levels, changes_loss) == pytest.approx(expected)


def test_posteriors_are_a_distribution():
    after = compare.posteriors([0.5, 0.4], [10.0, 0.1])
    assert sum(after) < 1 and after[0] > 0.9 and after[1] < 0.01
    assert compare.posteriors([0.9, 0.9], [1.0, 1.0]) == pytest.approx([0.49, 0.49])
    assert compare.posteriors([], []) == []


def test_the_interval_is_students():
    low, high = compare.interval([0.1, 0.2, 0.3])
    assert (low, high) == pytest.approx((0.2 - 4.303 * 0.1 / 3**0.5, 0.2 + 4.303 * 0.1 / 3**0.5))
    assert compare.interval([0.5]) == (-math.inf, math.inf)


def test_a_run_ends_a_little_past_the_onset_and_never_later_than_it_did():
    assert default_steps("loss_non_finite", 400, 10_000) == 500
    assert default_steps("loss_non_finite", 12, 40) == 40
    assert default_steps("loss_spike", 1_000, 10_000) == 1_500
    assert default_steps("loss_plateau", 0, 10_000) == 400


def test_the_fix_shows_the_line_before_and_after(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("optimizer = SGD(\n    model.parameters(), lr=0.5, momentum=0.9,\n)\nloss.backward()\n")
    (verdict,) = verdicts(arm("learning_rate_too_high", "lower_learning_rate", 0.9, flat(0.1, 1)))
    guess = CausalHypothesis("learning_rate_too_high", "", None, None, (0, 0), 0.9, remedy="Lower it.")
    assert preview(verdict, guess, {"optimizer": f"{file}:1"}) == (
        "Lower it.",
        f"{file}:2",
        "- model.parameters(), lr=0.5, momentum=0.9,",
        "+ model.parameters(), lr=0.05, momentum=0.9,",
    )
    assert preview(verdict, guess, {}) == ("Lower it.",)


def test_a_loss_that_ran_away_and_came_back_is_read_as_a_spike():
    away = [1.0] * 20 + [9.0] * 10 + [0.6] * 30
    placebo = {seed: run(*away) for seed in range(3)}
    assert compare.reading(list(placebo.values()), "train.py:1", "loss_diverged", 15) == "loss_spike"
    assert compare.reading([run(*[1.0] * 20, *[9.0] * 40)], "train.py:1", "loss_diverged", 15) == "loss_diverged"
    calm = [run(*[1.0] * 20, *[0.2] * 40, acted=1) for _ in range(3)]
    (verdict,) = judge([arm("missing_gradient_clipping", "clip_gradients", 0.6, *calm)], placebo, "loss_diverged", 15)
    assert verdict.verdict == "confirmed"


def test_low_between_two_spikes_is_not_cured():
    spiky = run(*[2.0, 0.1, 0.1] * 20)
    level = compare.level(spiky, "train.py:1", "loss_plateau", 0)
    assert level is not None and level.end > 0.6


def test_three_runs_all_below_the_others_are_enough_and_an_overlap_is_not():
    placebo = {0: flat(1.0), 1: flat(1.9), 2: flat(1.4)}
    apart = arm("missing_zero_grad", "clear_gradients", 0.6, flat(0.7, 1), flat(0.9, 1), flat(0.2, 1))
    overlap = arm("missing_zero_grad", "clear_gradients", 0.6, flat(0.7, 1), flat(1.5, 1), flat(0.2, 1))
    assert verdicts(apart, placebo=placebo)[0].verdict == "confirmed"
    assert verdicts(overlap, placebo=placebo)[0].verdict == "inconclusive"
