"""The parts of a page that are text: they read without the script, and everything in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraldbg.records import CausalHypothesis, Diagnosis, Finding, Trace
from neuraldbg.report.html import proof
from neuraldbg.report.html.curves import Chart
from neuraldbg.report.html.drawing import Drawing
from neuraldbg.report.html.layers import LayerMaps
from neuraldbg.report.html.markup import text
from neuraldbg.report.text import number, numbers
from neuraldbg.report.view import View

#: What an outcome is called on the page; the sign says it without colour.
OUTCOMES = {
    "failed": ("✗", "Failed, cause named"),
    "uncertain": ("?", "Failed, cause undecided"),
    "healthy": ("✓", "Nothing failed"),
    "unseen": ("–", "Nothing was seen"),
}


def section(identifier: str, title: str, body: str, lead: str = "") -> str:
    """A part of the page with its heading."""
    opening = f'<p class="lead">{lead}</p>' if lead else ""
    return (
        f'<section id="{identifier}" aria-labelledby="{identifier}-title"><h2 id="{identifier}-title">{title}</h2>'
        f"{opening}{body}</section>"
    )


def verdict(view: View, diagnosis: Diagnosis) -> str:
    """What failed, why, how we know, what to do, what else."""
    sign, words = OUTCOMES[diagnosis.outcome]
    out = [
        f'<p class="outcome {diagnosis.outcome}"><span aria-hidden="true">{sign}</span> {words}</p>',
        f'<p class="headline">{text(view.headline)}</p>',
    ]
    for position, reason in enumerate(view.reasons):
        place = " · ".join(part for part in (reason.cause, reason.place) if part)
        code = f"<pre><code>{text(reason.code)}</code></pre>" if reason.code else ""
        out.append(
            f"<h3>{'Why' if position == 0 else 'Also'}: {text(reason.title)}</h3>"
            f'<p class="quiet">{text(place)} · confidence {reason.confidence:.2f}</p>{code}'
            f"<p>{text(reason.sentences)}</p>"
        )
        if reason.proof:
            out.append(f"<p>{text(reason.proof)}</p>")
        if position and reason.remedy:
            out.append(f"<p><b>Do:</b> {text(reason.remedy)}</p>")
    if not view.reasons and view.outcome in ("failed", "uncertain"):
        out.append("<h3>Why: it cannot be told yet</h3>")
        rows = [f"<b>{text(rival.cause)}</b> {rival.confidence:.2f}: {text(rival.sentence)}" for rival in view.rivals]
        out.append(_list(rows) if rows else "<p>No cause in the vocabulary explains it.</p>")
    if view.chain:
        lines = []
        for line in view.chain:
            when = f' <span class="quiet">{text(line.when)}</span>' if line.when else ""
            note = f' <span class="quiet">{text(line.note)}</span>' if line.note else ""
            lines.append(f"{text(line.text)}{when}{note}")
        out.append(f"<h3>From cause to symptom</h3>{_list(lines, ordered=True)}")
    if view.actions:
        out.append(f"<h3>What to do</h3>{_list(text(action) for action in view.actions)}")
    if view.alternatives:
        out.append(
            f"<details><summary>What else it might have been</summary>{_list(map(text, view.alternatives))}</details>"
        )
    if view.harmless:
        out.append(f"<p>Seen on the way, harmless here: {text('; '.join(view.harmless))}.</p>")
    return section("verdict", "Verdict", "".join(out))


def chart(part: Chart, heading: str = "h3") -> str:
    """The place of a chart, what it shows in words, and its numbers behind a summary."""
    notes = "".join(f'<p class="quiet">{text(note)}.</p>' for note in part.notes)
    scale = " (logarithmic axis)" if part.logarithmic else ""
    title = f"<{heading}>{text(part.title)}</{heading}>" if heading else ""
    return (
        f'<div class="chart-box">{title}<div class="chart" data-chart="{part.identifier}" role="img" '
        f'aria-label="{text(part.title)}{scale}: {text(part.sentence())}"></div>'
        f'<p class="quiet">{text(part.sentence())}{scale}</p>{notes}{_numbers_of(part)}</div>'
    )


def _numbers_of(part: Chart) -> str:
    """At most twelve rows per chart: the curve for those who cannot see it."""
    steps = sorted({int(step) for curve in part.curves for step in curve.steps})
    chosen = steps if len(steps) <= 12 else [steps[round(i * (len(steps) - 1) / 11)] for i in range(12)]
    columns = [dict(zip(curve.steps.tolist(), curve.values.tolist())) for curve in part.curves]
    rows = [[f"{step:,}", *(_cell(column.get(step)) for column in columns)] for step in chosen]
    return details(
        f"Numbers: {text(part.title)}",
        table(f"{part.title}, by step", ["step", *(curve.label for curve in part.curves)], rows),
    )


def _cell(value: float | None) -> str:
    return "" if value is None else number(value)


def hypotheses(diagnosis: Diagnosis) -> str:
    """Every hypothesis with what speaks for it and against it, best first."""
    if not diagnosis.hypotheses:
        weak = [f"{text(h.title or h.cause)}: {h.confidence:.2f}" for h in diagnosis.candidates[:8]]
        more = f"<p>Weighed and found too weak:</p>{_list(weak)}" if weak else ""
        return section("hypotheses", "Hypotheses", f"<p>No cause reached a confidence worth showing.</p>{more}")
    body = "".join(_hypothesis(position + 1, h, diagnosis) for position, h in enumerate(diagnosis.hypotheses))
    lead = "Ranked by confidence, with what speaks for and against each."
    if diagnosis.verifications:
        failed, judged = diagnosis.verifications[0].placebo
        lead += (
            f" They were tested by training again without what each blames; without a change it failed in {failed} of "
            f"{judged} runs."
        )
    return section("hypotheses", "Hypotheses", body + proof.others(diagnosis), lead)


def _hypothesis(position: int, hypothesis: CausalHypothesis, diagnosis: Diagnosis) -> str:
    first, last = hypothesis.step_range
    places = [hypothesis.cause, hypothesis.where, f"steps {first:,} to {last:,}", hypothesis.source or ""]
    share = round(100 * min(max(hypothesis.confidence, 0.0), 1.0))
    parts = [
        f'<p class="quiet">{text(" · ".join(part for part in places if part))}</p>',
        f'<p>Confidence {hypothesis.confidence:.2f} <meter min="0" max="100" value="{share}" '
        f'aria-label="Confidence of {text(hypothesis.title or hypothesis.cause)}">{share} %</meter></p>',
    ]
    if hypothesis.explanation:
        parts.append(f"<p>{text(hypothesis.explanation)}</p>")
    parts += [
        _findings("Speaks for it", hypothesis.supporting),
        _findings("Speaks against it", hypothesis.contradicting),
    ]
    if hypothesis.remedy:
        parts.append(f"<p><b>Do:</b> {text(hypothesis.remedy)}</p>")
    tested = diagnosis.tested(hypothesis.cause)
    if tested is not None:
        parts.append(proof.drawn(*tested))
    return f"<article><h3>{position}. {text(hypothesis.title or hypothesis.cause)}</h3>{''.join(parts)}</article>"


def _findings(title: str, findings: Sequence[Finding]) -> str:
    if not findings:
        return f"<h4>{title}</h4><p>Nothing that was measured.</p>"
    return f"<h4>{title}</h4>{_list(_finding(finding) for finding in findings)}"


def _finding(finding: Finding) -> str:
    place = finding.parameter or finding.layer
    where = [f"'{place}'" if place else "", f"step {finding.step:,}" if finding.step is not None else ""]
    detail = " · ".join(part for part in (finding.name, *where, finding.source or "", numbers(finding.numbers)) if part)
    return f'{text(finding.sentence or finding.name)} <span class="quiet">{text(detail)}</span>'


def graph(drawing: Drawing | None, diagnosis: Diagnosis) -> str:
    """The causal graph with the evidence of each node below it."""
    if drawing is None:
        return section(
            "graph", "Causal graph", "<p>There is nothing to draw: no event was found and no cause named.</p>"
        )
    notes = [f"{drawing.left_out:,} more events are in the table below only."] if drawing.left_out else []
    if not diagnosis.events:
        notes.append("No events were found in this run: the graph holds the hypotheses and the symptom alone.")
    rows = [
        [f"{event.step_range[0]:,}–{event.step_range[1]:,}", event.place, f"{event.from_state} → {event.to_state}",
         str(event.metadata.get("sentence", "")), f"{event.confidence:.2f}"]
        for event in diagnosis.events[:500]
    ]  # fmt: skip
    events = (
        details("All events", table("Events, earliest first", ["steps", "place", "state", "what", "confidence"], rows))
        if rows
        else ""
    )
    body = (
        '<div class="sheet" tabindex="0" role="region" aria-label="Causal graph, can be scrolled">'
        f"{drawing.svg()}</div>"
        '<div id="evidence" class="panel" role="status">Choose a box of the graph: its evidence appears here, and its '
        "place is marked on the map of the layers.</div>"
        + "".join(f'<p class="quiet">{note}</p>' for note in notes)
        + events
    )
    lead = "Rounded boxes are causes, the dashed box is what you see. A solid arrow is a link with its reason."
    return section("graph", "Causal graph", body, lead)


def settings(view: View, trace: Trace | None) -> str:
    """Configuration and environment."""
    rows = [[name, value] for name, value in view.settings]
    for fact in trace.facts("optimizer.settings")[:4] if trace is not None else ():
        name = fact.place.name if fact.place is not None else "optimizer"
        rows.append([f"optimizer {name}", str(fact.data.get("class", ""))])
        for number_, group in enumerate(fact.data.get("groups", ())[:4]):
            rows.append([f"{name}, group {number_}", _pairs(group)])
    for fact in trace.facts("loss.structure")[:2] if trace is not None else ():
        terms = [str(term.get("kind", "")) for term in fact.data.get("terms", ())]
        rows.append(["loss", ", ".join(terms)])
    return section("settings", "Configuration and environment", table("Settings of the run", ["name", "value"], rows))


def _pairs(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={group[name]}" for name in sorted(group))


def not_measured(diagnosis: Diagnosis, maps: LayerMaps | None, notes: Iterable[str]) -> str:
    """What the verdict could not rest on."""
    lines = [text(note) for note in (*diagnosis.notes, *notes)]
    if maps is not None:
        lines += [text(f"{metric.title}: not measured in this run.") for metric in maps.missing]
    sampling = diagnosis.meta.get("sampling")
    if isinstance(sampling, Mapping) and isinstance(sampling.get("observed_steps"), int):
        seen, steps = sampling["observed_steps"], diagnosis.steps
        if seen < steps:
            lines.append(text(f"Observed in full at {seen:,} of {steps:,} steps, so as to keep the cost low."))
    unanswered = [finding for finding in diagnosis.findings if finding.present is None]
    asked = ""
    if unanswered:
        rows = [[finding.name, finding.sentence] for finding in unanswered]
        asked = details(
            f"{len(unanswered)} questions without an answer",
            table("Questions that what was measured cannot answer", ["question", "why"], rows),
        )
    body = _list(lines) if lines else "" if asked else "<p>Everything that was asked could be answered.</p>"
    return section("not-measured", "What was not measured", body + asked)


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; its text is escaped here. It scrolls by itself on a narrow page."""
    heads = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + "".join(f'<th scope="row">{text(c)}</th>' if i == 0 else f"<td>{text(c)}</td>" for i, c in enumerate(r))
        + "</tr>"
        for r in rows
    )
    return (
        f'<div class="sheet" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def details(summary: str, body: str) -> str:
    """Something that is folded away; ``summary`` is escaped by the caller."""
    return f"<details><summary>{summary}</summary>{body}</details>"


def _list(items: Iterable[str], ordered: bool = False) -> str:
    kind = "ol" if ordered else "ul"
    return f"<{kind}>{''.join(f'<li>{item}</li>' for item in items)}</{kind}>"
