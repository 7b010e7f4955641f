"""A tested hypothesis on the page: its verdict, and its effect with the interval, drawn and in words."""

from __future__ import annotations

import math

from neuraldbg.records import Diagnosis, Verdict, Verification
from neuraldbg.report.html.markup import text
from neuraldbg.report.proof import outcome, runs

#: The sign says the verdict without colour.
SIGNS = {"confirmed": "✓", "refuted": "✗", "inconclusive": "?"}
#: Size of the drawing and of its axis, in its own units; the axis goes from -1 to 1 on every page, so that drawings of
#: several hypotheses can be compared.
WIDTH, HEIGHT, MARGIN, LINE = 340.0, 62.0, 20.0, 18.0


def drawn(verdict: Verdict, verification: Verification) -> str:
    """The block of one hypothesis."""
    sign = SIGNS[verdict.verdict]
    parts = [
        "<h4>Tested by training again</h4>",
        f'<p class="tested {verdict.verdict}"><span aria-hidden="true">{sign}</span> '
        f"<b>{text(verdict.verdict)}</b></p>",
        f"<p>{_sentence(outcome(verdict))} {_sentence(runs(verdict, verification))}</p>",
    ]
    if not math.isnan(verdict.effect):
        parts.append(
            f'{picture(verdict)}<p class="quiet">Share of the remaining loss that goes when the cause is taken away: '
            "1 is all of it, 0 none, below 0 it gets worse. The bar is the 95 % interval over pairs of runs.</p>"
        )
        parts.append(f"<p>Probability before {verdict.prior:.2f}, after {verdict.posterior:.2f}.</p>")
    lines = [*(f"Changed: {change}" for change in verdict.changes), *verdict.trouble]
    if verdict.instead:
        lines.append(f"What you can do instead: {verdict.instead}")
    if lines:
        parts.append("<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines[:12]) + "</ul>")
    if verdict.fix and verdict.verdict == "confirmed":
        parts.append(
            "<p>The smallest change:</p><pre><code>" + "\n".join(text(line) for line in verdict.fix) + "</code></pre>"
        )
    return "".join(parts)


def _sentence(words: str) -> str:
    return text(words[:1].upper() + words[1:])


def others(diagnosis: Diagnosis) -> str:
    """Causes that were tested and are not among the hypotheses that are shown."""
    shown = {hypothesis.cause for hypothesis in diagnosis.hypotheses}
    causes = dict.fromkeys(v.cause for verification in diagnosis.verifications for v in verification.verdicts)
    out = ""
    for cause in causes:
        tested = diagnosis.tested(cause)
        if cause not in shown and tested is not None:
            out += f"<article><h3>Also tested: {text(cause)}</h3>{drawn(*tested)}</article>"
    return out


def picture(verdict: Verdict) -> str:
    """The effect as a dot on its interval; an end that lies beyond the axis, or is not known, has an arrow head."""
    low, high = verdict.interval
    low, high = (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
    left, right, dot = _at(low), _at(high), _at(verdict.effect)
    ends = "".join(
        f'<path class="end" d="M{x + 7 * inwards:.1f} {LINE - 6} L{x:.1f} {LINE} L{x + 7 * inwards:.1f} {LINE + 6}"/>'
        if beyond
        else f'<path class="end" d="M{x:.1f} {LINE - 6} V{LINE + 6}"/>'
        for x, beyond, inwards in ((left, low < -1, 1), (right, high > 1, -1))
    )
    ticks = "".join(
        f'<path class="axis" d="M{_at(value):.1f} 34 V40"/>'
        f'<text x="{_at(value):.1f}" y="55" text-anchor="middle">{label}</text>'
        for value, label in ((-1.0, "−1"), (0.0, "0"), (1.0, "1"))
    )
    return (
        f'<svg class="effect {verdict.verdict}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-label="{text(outcome(verdict))}"><path class="none" d="M{_at(0):.1f} 4 V37"/>'
        f'<path class="axis" d="M{_at(-1):.1f} 37 H{_at(1):.1f}"/>{ticks}'
        f'<path class="bar" d="M{left:.1f} {LINE} H{right:.1f}"/>{ends}'
        f'<circle cx="{dot:.1f}" cy="{LINE}" r="5"/></svg>'
    )


def _at(value: float) -> float:
    """Position of an effect on the axis; beyond its ends, the end."""
    return MARGIN + (min(max(value, -1.0), 1.0) + 1) / 2 * (WIDTH - 2 * MARGIN)
