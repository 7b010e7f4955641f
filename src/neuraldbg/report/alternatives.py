"""What else it might have been, and why it is not: the last line of a report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuraldbg.records import CausalHypothesis, Diagnosis
from neuraldbg.report.text import clean, sentence_part

#: Entries that are shown unless everything is asked for.
ALTERNATIVES = 4
#: Characters of a reason.
SHORT = 90

_RULED_OUT = re.compile(r"^(?P<cause>[a-z0-9_]+)\s*[:—–-]\s+(?P<reason>.+?)\.?$")


def alternatives(others: Sequence[CausalHypothesis], diagnosis: Diagnosis, verbose: bool) -> tuple[str, ...]:
    """The entries of the last line: what else it might have been, and what it was not."""
    entries = []
    for hypothesis in others:
        reason = _why_not_first(hypothesis, diagnosis)
        name = f"{clean(hypothesis.cause)} {hypothesis.confidence:.2f}"
        entries.append(f"{name} ({reason})" if reason else name)
    for line in diagnosis.ruled_out:
        text = clean(line).strip()
        match = _RULED_OUT.match(text)
        entries.append(f"{match['cause']} ruled out ({match['reason']})" if match else text.rstrip("."))
    if not verbose and len(entries) > ALTERNATIVES:
        left_out = len(entries) - ALTERNATIVES
        kind = " ruled out" if len(others) <= ALTERNATIVES else ""
        entries = [*entries[:ALTERNATIVES], f"{left_out} more{kind}"]
    return tuple(entries)


def _why_not_first(hypothesis: CausalHypothesis, diagnosis: Diagnosis) -> str:
    """In a few words, why one that is close to the first is not it, or what would decide; "" for a distant one."""
    tested = diagnosis.tested(hypothesis.cause)
    if tested is not None:
        return f"tested: {tested[0].verdict}"
    first = diagnosis.hypotheses[0]
    if not hypothesis.is_close_to(first):
        return ""
    against = next((finding.sentence for finding in hypothesis.contradicting if finding.sentence), "")
    if against:
        return f"against it: {_short(against)}"
    explained = {finding.name for finding in hypothesis.supporting}
    open_ = next((f.sentence for f in first.supporting if f.sentence and f.name not in explained), "")
    if open_:
        return f"it leaves unexplained: {_short(open_)}"
    decides = sentence_part(diagnosis.decides)
    return decides[:1].lower() + decides[1:]


def _short(sentence: str) -> str:
    """Its first clause, of at most SHORT characters, cut between words."""
    text = re.split(r"; |: |\. ", sentence_part(sentence))[0]
    if len(text) <= SHORT:
        return text
    return f"{text[:SHORT].rsplit(' ', 1)[0].rstrip(',')} …"
