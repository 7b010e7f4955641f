"""How often the right cause, place and step were named; how often healthy runs were alarmed about; calibration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: Steps by which an onset may be missed.
TOLERANCE = 5
#: Confidence from which a hypothesis is an alarm.
ALARM = 0.5

Record = dict[str, Any]
Said = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Judged:
    """One sick run, judged."""

    cause: str
    first: bool
    third: bool
    #: None where no place applies.
    place: bool | None
    step: bool
    confidence: float | None


def accepted(label: dict[str, Any]) -> set[str]:
    return {label["cause"], *label["also"]}


def bare(path: str) -> str:
    """A path without the name of a parameter."""
    return path.removesuffix(".weight").removesuffix(".bias")


def judge(record: Record, said: Said) -> Judged:
    """Compare what was said, best first, with the label."""
    label = record["label"]
    good = accepted(label)
    first = bool(said) and said[0]["cause"] in good
    place: bool | None = None
    if label["places"] is not None:
        named = said[0]["layer"] if first else None
        place = named is not None and bare(named) in {bare(path) for path in label["places"]}
    low, high = label["onset"]
    slack = max(TOLERANCE, (high - low) // 4)
    step = first and low - TOLERANCE <= said[0]["step"] <= high + slack
    return Judged(
        cause=label["cause"],
        first=first,
        third=any(entry["cause"] in good for entry in said[:3]),
        place=place,
        step=step,
        confidence=said[0]["confidence"] if said else None,
    )


def mean(values: Iterable[float | bool]) -> float | None:
    """The mean, or None of nothing."""
    listed = [float(value) for value in values]
    return sum(listed) / len(listed) if listed else None


def calibration_error(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """Expected calibration error over ten bins of (confidence, right)."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in pairs:
        bins.setdefault(min(9, int(confidence * 10)), []).append((confidence, right))
    if not pairs:
        return None
    gaps = (
        len(entries) * abs(sum(c for c, _ in entries) - sum(r for _, r in entries)) / len(entries)
        for entries in bins.values()
    )
    return sum(gaps) / len(pairs)


def said_by(record: Record, tool: str) -> Said:
    """What a tool said of a run; "neuraldbg" or the name of a baseline."""
    if tool == "neuraldbg":
        return record.get("hypotheses", [])
    answer = record.get("baselines", {}).get(tool)
    return [answer] if answer else []


def summary(records: Sequence[Record], tool: str = "neuraldbg") -> dict[str, float | None]:
    """The overall numbers of a tool over the runs that count."""
    kept = [record for record in records if record["kept"]]
    sick = [judge(record, said_by(record, tool)) for record in kept if record["spec"]["cause"]]
    well = [said_by(record, tool) for record in kept if not record["spec"]["cause"]]
    pairs = [(one.confidence, one.first) for one in sick if one.confidence is not None]
    return {
        "sick": len(sick),
        "healthy": len(well),
        "top1": mean(one.first for one in sick),
        "top3": mean(one.third for one in sick),
        "place": mean(one.place for one in sick if one.place is not None),
        "step": mean(one.step for one in sick),
        "alarms": mean(any(entry["confidence"] >= ALARM for entry in said) for said in well),
        "said": mean(bool(said) for said in well),
        "ece": calibration_error(pairs),
    }


def by_cause(records: Sequence[Record]) -> dict[str, dict[str, float | None]]:
    """Per cause: runs, share kept, recall, precision, place, step."""
    kept = [record for record in records if record["kept"]]
    causes = sorted({record["spec"]["cause"] for record in records if record["spec"]["cause"]})
    out: dict[str, dict[str, float | None]] = {}
    for cause in causes:
        tried = [record for record in records if record["spec"]["cause"] == cause]
        mine = [judge(record, said_by(record, "neuraldbg")) for record in kept if record["spec"]["cause"] == cause]
        named = [record for record in kept if (said := said_by(record, "neuraldbg")) and said[0]["cause"] == cause]
        out[cause] = {
            "runs": len(mine),
            "kept": len(mine) / len(tried),
            "recall": mean(one.first for one in mine),
            "top3": mean(one.third for one in mine),
            "precision": mean(cause in accepted(record["label"]) for record in named),
            "place": mean(one.place for one in mine if one.place is not None),
            "step": mean(one.step for one in mine),
        }
    return out


def confusions(records: Sequence[Record], most: int = 20) -> list[tuple[str, str, int]]:
    """(cause, what was named instead, how often), most frequent first; "none" for silence and for health."""
    counted: dict[tuple[str, str], int] = {}
    for record in records:
        if not record["kept"]:
            continue
        said = said_by(record, "neuraldbg")
        right = record["spec"]["cause"] or "none"
        named = said[0]["cause"] if said else "none"
        if named not in accepted(record["label"]):
            counted[right, named] = counted.get((right, named), 0) + 1
    return sorted(((a, b, n) for (a, b), n in counted.items()), key=lambda entry: (-entry[2], entry))[:most]


def shown(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if isinstance(value, int) else f"{value:.2f}"


def markdown(records: Sequence[Record], tools: Sequence[str], title: str) -> str:
    """The tables as Markdown."""
    overall = {tool: summary(records, tool) for tool in tools}
    keys = list(overall["neuraldbg"])
    lines = [f"# {title}", "", "| | " + " | ".join(keys) + " |", "| --- " * (len(keys) + 1) + "|"]
    lines += [
        f"| {tool} | " + " | ".join(shown(numbers[key]) for key in keys) + " |" for tool, numbers in overall.items()
    ]
    causes = by_cause(records)
    if causes:
        columns = list(next(iter(causes.values())))
        lines += ["", "| cause | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
        lines += [
            f"| {cause} | " + " | ".join(shown(row[key]) for key in columns) + " |" for cause, row in causes.items()
        ]
    wrong = confusions(records)
    if wrong:
        lines += ["", "| was | named | runs |", "| --- | --- | --- |"]
        lines += [f"| {a} | {b} | {n} |" for a, b, n in wrong]
    return "\n".join(lines) + "\n"
