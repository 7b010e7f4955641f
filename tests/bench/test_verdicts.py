"""The figures of bench/verify.py, from verdicts that it kept."""

from __future__ import annotations

import json
import math

import pytest
from bench.verdicts import figures, main, of_file, open_ones, table


def row(cause: str, verdict: str, right: bool = False, put_in: bool = False, able: bool = True) -> dict:
    return {
        "cause": cause, "verdict": verdict, "right": right, "put_in": put_in, "able": able, "effect": math.nan,
        "reason": "because",
    }  # fmt: skip


def case(name: str, *rows: dict, before: bool | None = True, after: bool = True) -> dict:
    return {"case": name, "cause": rows[0]["cause"], "before": before, "after": after, "verdicts": list(rows)}


RESULTS = [
    case("a", row("loss_sign", "confirmed", right=True), row("dying_relu", "refuted", put_in=True), before=False),
    # Two names of one fault: one of them confirmed is enough.
    case(
        "b",
        row("loss_scale", "inconclusive", right=True),
        row("learning_rate_too_high", "confirmed", right=True),
        row("dying_relu", "confirmed"),
    ),
    case("c", row("unshuffled_data", "inconclusive", right=True), after=False),
    # What nothing can remove is not put to the test.
    case("d", row("overfitting", "inconclusive", right=True, able=False)),
]


def test_each_fault_counts_once_and_only_where_something_can_remove_it():
    assert figures(RESULTS) == {
        "runs": "4",
        "right confirmed": "2 of 3 (67%)",
        "right refuted": "0",
        "wrong put in, confirmed": "0 of 1 (0%)",
        "wrong of the diagnosis, confirmed": "1 of 1 (100%)",
        "first cause right before": "3 of 4",
        "first cause right after": "3 of 4",
    }
    assert open_ones(RESULTS) == [("c", "unshuffled_data", "inconclusive: because")]


def test_what_is_handed_in_has_no_first_cause():
    assert (
        figures([case("a", row("loss_sign", "confirmed", right=True), before=None)])["first cause right after"] == "–"
    )


def test_the_table_is_of_the_last_verdicts_of_a_case(tmp_path, monkeypatch, capsys):
    file = tmp_path / "verdicts.jsonl"
    earlier = case("a", row("loss_sign", "inconclusive", right=True))
    file.write_text("\n".join(json.dumps(one) for one in (earlier, *RESULTS)) + "\n")
    assert len(of_file(file)) == 4
    monkeypatch.setattr("sys.argv", ["verdicts", f"all={file}"])
    assert main() == 0
    printed = capsys.readouterr().out
    assert printed == table({"all": of_file(file)}) and "| right confirmed | 2 of 3 (67%) |" in printed


@pytest.mark.parametrize("given", ["all=nowhere.jsonl", "all"])
def test_a_file_that_is_not_there_is_one_line(given, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["verdicts", given])
    assert main() == 1
    assert capsys.readouterr().err.count("\n") == 1
