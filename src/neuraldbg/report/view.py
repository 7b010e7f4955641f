"""What is said about a run, and in which order: the one model that every report draws.

The order never changes: what failed, why, how we know (the chain), what to do, what else it might have been. All text
in a ``View`` is clean: control characters of the user's names are spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from neuraldbg.records import CausalHypothesis, Diagnosis, Finding
from neuraldbg.report.alternatives import alternatives
from neuraldbg.report.proof import outcome
from neuraldbg.report.source import SourceReader, disk_reader, place_and_code
from neuraldbg.report.text import clean, count, number, numbers, sentence_part, sparkline

#: A second hypothesis this likely is a second fault, not an alternative: it gets its own block.
SECOND_FAULT = 0.5
#: Probability from which another candidate is named on the card.
WORTH_A_LINE = 0.04
#: Lines of a chain that are shown unless everything is asked for.
CHAIN_LINES = 12

_STEP_AT_END = re.compile(
    r"^(?P<text>.*?\S)[\s·,;:]+(?:at |from |since )?(?P<when>steps? \d[\d,]*(?:(?: to |\s*[-–]\s*)\d[\d,]*)?)"
    r"\s*(?P<note>\(.*\))?\s*\.?$"
)


@dataclass(frozen=True)
class ChainLine:
    """One step from the root to the symptom."""

    text: str
    #: "step 417", or "" where the line names none.
    when: str = ""
    #: A remark in parentheses, or "".
    note: str = ""


@dataclass(frozen=True)
class Reason:
    """One cause, in full."""

    title: str
    confidence: float
    #: The code of the vocabulary.
    cause: str
    #: Module, parameter, file:line or steps; what stands beside the code.
    place: str
    #: The user's line of source, or "".
    code: str
    sentences: str
    remedy: str
    #: What came of testing it by training again, or "".
    proof: str = ""


@dataclass(frozen=True)
class Rival:
    """A cause that explains it equally well."""

    cause: str
    confidence: float
    sentence: str


@dataclass(frozen=True)
class Answer:
    """A question asked of the run."""

    #: "yes", "no" or "not measured".
    answer: str
    name: str
    sentence: str
    #: Place, step and numbers, ready to show.
    detail: str


@dataclass(frozen=True)
class Curve:
    """A small picture of a series."""

    name: str
    blocks: str
    #: "2.3 → 0.11".
    ends: str


@dataclass(frozen=True)
class View:
    """Everything that a report shows, in its order."""

    outcome: str
    #: "NeuralDBG · train.py · 612 steps".
    header: str
    #: What failed, in one sentence; for a healthy or unseen run the sentence that stands alone.
    headline: str
    #: The causes shown in full: the first is why, others are second faults.
    reasons: tuple[Reason, ...] = ()
    #: When uncertain: the causes between which it cannot decide.
    rivals: tuple[Rival, ...] = ()
    chain: tuple[ChainLine, ...] = ()
    #: What to do, one order each.
    actions: tuple[str, ...] = ()
    #: Other candidates and what was ruled out.
    alternatives: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: Only when everything is asked for.
    answers: tuple[Answer, ...] = ()
    curves: tuple[Curve, ...] = ()
    #: (name, value) of the run's settings; only when everything is asked for.
    settings: tuple[tuple[str, str], ...] = ()


def build_view(
    diagnosis: Diagnosis,
    *,
    verbose: bool = False,
    series: Mapping[str, Sequence[float]] | None = None,
    prove_with: str = "",
    read_source: SourceReader | None = None,
) -> View:
    """Chooses and orders what is said about one run.

    ``verbose`` adds every finding with its numbers, the curves of ``series`` (name → values over time) and the run's
    settings. ``prove_with`` is a command that would test the verdict. ``read_source`` reads a line of the user's
    source; by default from disk.
    """
    reader = read_source or disk_reader(diagnosis.meta)
    header = " · ".join(("NeuralDBG", *_script(diagnosis.meta), count(diagnosis.steps, "step")))
    extra: dict[str, Any] = {}
    if verbose:
        extra = {
            "answers": tuple(_answer(finding) for finding in diagnosis.findings),
            "curves": tuple(_curve(name, values) for name, values in (series or {}).items() if len(values)),
            "settings": tuple((clean(name), clean(diagnosis.meta[name])) for name in sorted(diagnosis.meta)),
        }
    common = {
        "outcome": diagnosis.outcome,
        "header": header,
        "harmless": tuple(sentence_part(line) for line in diagnosis.harmless),
        "notes": tuple(clean(line) for line in diagnosis.notes),
        **extra,
    }
    if diagnosis.outcome in ("healthy", "unseen"):
        return View(headline=_standalone(diagnosis), actions=_orders(diagnosis.decides), **common)
    headline = clean(diagnosis.symptom.sentence if diagnosis.symptom else diagnosis.summary)
    ranked = diagnosis.hypotheses
    if diagnosis.outcome == "uncertain" or not ranked:
        return View(
            headline=headline,
            rivals=tuple(_rival(hypothesis) for hypothesis in ranked),
            actions=_orders(diagnosis.decides),
            alternatives=alternatives((), diagnosis, verbose),
            **common,
        )
    shown = [ranked[0], *(hypothesis for hypothesis in ranked[1:] if hypothesis.confidence >= SECOND_FAULT)]
    others = [
        one for one in ranked[1:] if one.confidence < SECOND_FAULT and (verbose or one.confidence >= WORTH_A_LINE)
    ]
    reasons = tuple(_reason(hypothesis, diagnosis, reader) for hypothesis in shown)
    actions = _orders(reasons[0].remedy)
    if prove_with:
        actions += (f"Prove it:  {clean(prove_with)}",)
    return View(
        headline=headline,
        reasons=reasons,
        chain=_chain(ranked[0].causal_chain, verbose),
        actions=actions,
        alternatives=alternatives(others, diagnosis, verbose),
        **common,
    )


def _script(meta: Mapping[str, Any]) -> tuple[str, ...]:
    script = clean(meta.get("script") or "").strip()
    return (PurePath(script).name or script,) if script else ()


def _standalone(diagnosis: Diagnosis) -> str:
    summary = clean(diagnosis.summary).strip()
    if diagnosis.outcome == "unseen":
        return summary or "Nothing could be judged: no step was seen."
    if summary.lower().startswith("nothing failed"):
        return summary
    return f"Nothing failed in {count(diagnosis.steps, 'step')}. {summary}".rstrip()


def _orders(text: str) -> tuple[str, ...]:
    return (clean(text),) if text else ()


def _rival(hypothesis: CausalHypothesis) -> Rival:
    return Rival(clean(hypothesis.cause), hypothesis.confidence, clean(hypothesis.explanation or hypothesis.title))


def _reason(hypothesis: CausalHypothesis, diagnosis: Diagnosis, reader: SourceReader) -> Reason:
    position, code = place_and_code(hypothesis.source, diagnosis.meta, reader)
    places = [hypothesis.where, position]
    if not position:
        places[-1] = _when(hypothesis.step_range, diagnosis.steps)
    return Reason(
        title=clean(hypothesis.title or hypothesis.cause),
        confidence=hypothesis.confidence,
        cause=clean(hypothesis.cause),
        place=clean(" · ".join(place for place in places if place)),
        code=clean(code),
        sentences=_full_stop(clean(hypothesis.explanation)),
        remedy=clean(hypothesis.remedy),
        proof=_proof(hypothesis, diagnosis),
    )


def _proof(hypothesis: CausalHypothesis, diagnosis: Diagnosis) -> str:
    tested = diagnosis.tested(hypothesis.cause)
    return f"Tested: {clean(outcome(tested[0]))}" if tested is not None else ""


def _when(step_range: tuple[int, int], steps: int) -> str:
    first, last = step_range
    if last >= steps - 1 and last > first:
        return f"since step {first}"
    return f"step {first}" if first >= last else f"steps {first} to {last}"


def _chain(lines: Sequence[str], verbose: bool) -> tuple[ChainLine, ...]:
    shown = [_chain_line(line) for line in lines]
    if not verbose and len(shown) > CHAIN_LINES:
        left_out = len(shown) - CHAIN_LINES + 1
        shown = [*shown[: CHAIN_LINES - 2], ChainLine(f"… {left_out} more"), shown[-1]]
    return tuple(shown)


def _chain_line(line: str) -> ChainLine:
    text = clean(line).strip().lstrip("→").strip()
    match = _STEP_AT_END.match(text)
    if match is None:
        return ChainLine(text.rstrip("."))
    body = match["text"]
    # "(at step 3)" inside an unfinished parenthesis belongs to the text.
    if body.count("(") != body.count(")"):
        return ChainLine(text)
    return ChainLine(body, match["when"], match["note"] or "")


def _full_stop(text: str) -> str:
    stripped = text.rstrip()
    return f"{stripped}." if stripped and not stripped.endswith((".", ":", "!", "?", ".)")) else stripped


def _answer(finding: Finding) -> Answer:
    answer = {True: "yes", False: "no", None: "not measured"}[finding.present]
    place = finding.parameter or finding.layer
    parts = [
        f"'{place}'" if place else ("the model" if place == "" else ""),
        f"step {finding.step}" if finding.step is not None else "",
        finding.source or "",
        numbers(finding.numbers),
    ]
    return Answer(
        answer, clean(finding.name), clean(finding.sentence), clean(" · ".join(part for part in parts if part))
    )


def _curve(name: str, values: Sequence[float]) -> Curve:
    return Curve(clean(name), sparkline(values), f"{number(float(values[0]))} → {number(float(values[-1]))}")
