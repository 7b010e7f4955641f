"""What is shown, and in what order."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from neuraldbg.records import Diagnosis
from neuraldbg.report import build_view
from neuraldbg.report.text import clean, number, sparkline


def test_a_second_fault_is_no_alternative(diagnoses: dict[str, Diagnosis]) -> None:
    view = build_view(diagnoses["two_faults"])
    assert [reason.cause for reason in view.reasons] == ["parameters_not_in_optimizer", "eval_mode_in_training"]
    assert view.alternatives == ()


def test_a_weak_second_hypothesis_is_an_alternative(diagnoses: dict[str, Diagnosis]) -> None:
    view = build_view(diagnoses["log_of_zero"])
    assert len(view.reasons) == 1
    assert view.alternatives == (
        "learning_rate_too_high 0.04",
        "nan_in_input ruled out (all 612 batches were finite)",
        "half_precision_overflow ruled out (float32)",
    )


def test_a_failure_without_a_hypothesis_says_that_it_cannot_tell(diagnoses: dict[str, Diagnosis]) -> None:
    view = build_view(dataclasses.replace(diagnoses["log_of_zero"], hypotheses=()))
    assert view.reasons == () and view.rivals == ()
    assert view.headline == "The loss became NaN at step 418."


@pytest.mark.parametrize(
    ("line", "text", "when", "note"),
    [
        ("→ softmax gives exact zeros, step 417", "softmax gives exact zeros", "step 417", ""),
        ("lr 0.5 → update/weight 1.4 at 'conv1'    step 1", "lr 0.5 → update/weight 1.4 at 'conv1'", "step 1", ""),
        ("the loss rises from step 300", "the loss rises", "step 300", ""),
        ("dead units at step 3 (dying_relu is the effect)", "dead units", "step 3", "(dying_relu is the effect)"),
        ("gradients shrink, steps 3 to 1,200", "gradients shrink", "steps 3 to 1,200", ""),
        ("the loss stays at ln 5", "the loss stays at ln 5", "", ""),
        ("gradient of 'step 3'", "gradient of 'step 3'", "", ""),
        ("a ratio (seen at step 3)", "a ratio (seen at step 3)", "", ""),
        ("step 3", "step 3", "", ""),
    ],
)
def test_the_step_of_a_chain_line_gets_its_own_column(
    diagnoses: dict[str, Diagnosis], line: str, text: str, when: str, note: str
) -> None:
    first = diagnoses["log_of_zero"]
    view = build_view(
        dataclasses.replace(first, hypotheses=(dataclasses.replace(first.hypotheses[0], causal_chain=(line,)),))
    )
    assert (view.chain[0].text, view.chain[0].when, view.chain[0].note) == (text, when, note)


def test_the_line_of_source_is_read_where_the_file_is(diagnoses: dict[str, Diagnosis]) -> None:
    first = diagnoses["log_of_zero"]
    root = dataclasses.replace(first.hypotheses[0], source="/home/someone/project/pkg/loss.py:7")
    asked: list[tuple[str, int]] = []

    def read(path: str, line: int) -> str:
        asked.append((path, line))
        return "    return x.log()\n"

    known = dataclasses.replace(first, hypotheses=(root,), meta={"folder": "/home/someone/project"})
    reason = build_view(known, read_source=read).reasons[0]
    assert asked == [("/home/someone/project/pkg/loss.py", 7)]
    assert (reason.place, reason.code) == ("pkg/loss.py:7", "return x.log()")
    unknown = dataclasses.replace(first, hypotheses=(root,), meta={})
    assert build_view(unknown).reasons[0].place == "loss.py:7"
    assert build_view(unknown).reasons[0].code == ""


def test_a_line_that_was_edited_after_the_run_is_not_shown(diagnoses: dict[str, Diagnosis], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("first\n    loss = f(x)\n", encoding="utf-8")
    first = diagnoses["log_of_zero"]
    root = dataclasses.replace(first.hypotheses[0], source="train.py:2")

    def code(started: str) -> str:
        meta = {"folder": str(tmp_path), "started": started}
        return build_view(dataclasses.replace(first, hypotheses=(root,), meta=meta)).reasons[0].code

    assert code("2999-01-01T00:00:00+00:00") == "loss = f(x)"
    assert code("2001-01-01T00:00:00+00:00") == ""


def test_clean_spells_out_what_a_terminal_obeys() -> None:
    assert clean("a\x1b[31mb\u202ec\nd\x9b") == "a\\x1b[31mb\\u202ec d\\x9b"
    assert clean("größe · 層 → ×") == "größe · 層 → ×"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (418, "418"),
        (2000, "2,000"),
        (1.61, "1.61"),
        (3.2e-6, "3.2e-06"),
        (math.nan, "NaN"),
        (-math.inf, "-Inf"),
        (2.0, "2"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_sparkline_keeps_what_is_not_finite_and_survives_extremes() -> None:
    assert sparkline([1, 2, 3, math.nan]) == "▁▄█×" or sparkline([1, 2, 3, math.nan]) == "▁▅█×"
    assert sparkline([0.0] * 999 + [math.inf], 10).endswith("×")
    assert sparkline([-1.7e308, 1.7e308]) == "▁█"
    assert sparkline([1.0, 10.0, 100.0, 1000.0])[1] > sparkline([1.0, 10.0, 100.0, 101.0, 0.0])[1]
    assert sparkline([5.0, 5.0]) == "▁▁"
    assert sparkline([]) == ""
    assert sparkline([math.nan]) == "×"
