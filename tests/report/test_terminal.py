"""The verdict's form, held by golden files; to write them anew: UPDATE_GOLDEN=1 pytest tests/report."""

from __future__ import annotations

import dataclasses
import io
import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from neuraldbg.records import Diagnosis
from neuraldbg.report import print_verdict, render, to_json

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = "\x1b[2J\x1b]0;owned\x07[red]layer[/red]\u202e:smile:\r\nend\x9b31m\ud800"


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_form_is_the_golden_one(named: tuple[str, Diagnosis]) -> None:
    name, diagnosis = named
    check(f"{name}.txt", render(diagnosis, width=98))


@pytest.mark.parametrize("width", [80, 40])
def test_narrow_form_is_the_golden_one(diagnoses: dict[str, Diagnosis], width: int) -> None:
    text = render(
        diagnoses["log_of_zero"],
        width=width,
        verbose=True,
        series={"loss": [2.3, 1.0, 0.5, float("nan")]},
        prove_with="do it",
    )
    check(f"log_of_zero_verbose_{width}.txt", text)


def test_json_is_the_golden_one(named: tuple[str, Diagnosis]) -> None:
    name, diagnosis = named
    check(f"{name}.json", to_json(diagnosis, trace="a.ndbg") + "\n")


@pytest.mark.parametrize("width", [40, 57, 80, 98])
def test_no_line_is_wider_than_asked(named: tuple[str, Diagnosis], width: int) -> None:
    text = render(named[1], width=width, verbose=True, series={"loss": [float(i) for i in range(500)]})
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_the_order_is_what_why_chain_do_else(diagnoses: dict[str, Diagnosis]) -> None:
    lines = render(diagnoses["log_of_zero"]).splitlines()
    labels = [line.split()[0] for line in lines if line[:1].isupper() and line.split()[0].isupper()]
    assert labels == ["FAILED", "WHY", "CHAIN", "DO", "ELSE"]


def test_piped_output_carries_no_escape_codes(diagnoses: dict[str, Diagnosis]) -> None:
    piped = io.StringIO()
    print_verdict(diagnoses["log_of_zero"], file=piped, width=80)
    assert "\x1b" not in piped.getvalue()
    assert piped.getvalue() == render(diagnoses["log_of_zero"], width=80)


def test_an_ascii_stream_gets_ascii(named: tuple[str, Diagnosis]) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    print_verdict(named[1], file=stream, width=80, verbose=True)
    stream.flush()
    assert raw.getvalue().decode("ascii").strip()


def test_names_of_the_user_cannot_act_on_the_terminal(diagnoses: dict[str, Diagnosis]) -> None:
    first = diagnoses["log_of_zero"]
    root = dataclasses.replace(
        first.hypotheses[0],
        layer=HOSTILE,
        title=HOSTILE,
        explanation=HOSTILE,
        causal_chain=(HOSTILE, f"→ {HOSTILE} step 3 ({HOSTILE})"),
        source=f"{HOSTILE}:3",
        remedy=HOSTILE,
    )
    hostile = dataclasses.replace(
        first,
        hypotheses=(root, dataclasses.replace(root, confidence=0.6)),
        findings=(dataclasses.replace(first.findings[0], name=HOSTILE, sentence=HOSTILE, layer=HOSTILE),),
        ruled_out=(HOSTILE,),
        harmless=(HOSTILE,),
        notes=(HOSTILE,),
        summary=HOSTILE,
        decides=HOSTILE,
        meta={"script": HOSTILE, HOSTILE: HOSTILE},
    )
    for outcome in ("failed", "uncertain", "healthy", "unseen"):
        text = render(dataclasses.replace(hostile, outcome=outcome), verbose=True, series={HOSTILE: [1.0, 2.0]})
        assert not [character for character in text if ord(character) < 32 and character != "\n"]
        assert not set("\x9b\x7f\u202e\ud800") & set(text)
        # Folded lines apart, the markup is there as text: it was not interpreted.
        assert "[red]layer[/red]" in text.replace("\n", "").replace(" ", "")
        assert ":smile:" in text.replace("\n", "").replace(" ", "")
        text.encode("utf-8")


def test_a_close_alternative_says_why_it_is_not_the_first(diagnoses: dict[str, Diagnosis]) -> None:
    close = diagnoses["close"]
    text = " ".join(render(close).split())
    assert "uninformative_labels 0.41 (against it: gradients of two halves of a batch agree to 0.91)" in text
    assert "vanishing_by_depth 0.30 (tested: refuted)" in text
    assert "dead_input 0.29 (one run decides: neuraldbg verify --only raise_learning_rate)" in text
    assert "distant_cause 0.05" in text and "distant_cause 0.05 (" not in text
    # Nothing against it, and something that it does not account for.
    second = dataclasses.replace(close.hypotheses[1], contradicting=())
    open_ = dataclasses.replace(close, hypotheses=(close.hypotheses[0], second))
    assert "(it leaves unexplained: a step moves the weights by 2e-6 of their size)" in " ".join(render(open_).split())


def test_a_long_chain_is_shortened_and_shown_in_full_when_asked(diagnoses: dict[str, Diagnosis]) -> None:
    chain = tuple(f"thing {i}, step {i}" for i in range(40))
    first = diagnoses["log_of_zero"]
    long = dataclasses.replace(first, hypotheses=(dataclasses.replace(first.hypotheses[0], causal_chain=chain),))
    short = render(long)
    assert "thing 0 " in short and "thing 39 " in short and "thing 20 " not in short and "… 29 more" in short
    assert "thing 20 " in render(long, verbose=True)


def test_the_command_that_proves_it_is_shown_when_there_is_one(diagnoses: dict[str, Diagnosis]) -> None:
    assert "Prove it" not in render(diagnoses["log_of_zero"])
    assert "Prove it:  neuraldbg verify train.py" in render(
        diagnoses["log_of_zero"], prove_with="neuraldbg verify train.py"
    )
