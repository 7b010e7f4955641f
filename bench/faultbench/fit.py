"""``python -m bench.faultbench.fit``: counts how often each finding is present under each cause, and writes the counts.

Only families that ``split`` allows are counted. The two numbers that are not counts, the temper of the loss-curve
findings and the prior weight of "nothing failed", are chosen by leaving families out in turn and comparing the mean log
probability that the runs left out give to what was really wrong with them.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.faultbench import split
from neuraldbg.causes import _ranking as ranking
from neuraldbg.causes._findings import questions
from neuraldbg.causes._model import NOTHING, Parameters, parameters
from neuraldbg.records import Finding

Record = Mapping[str, Any]
TARGET = Path(__file__).parents[2] / "src" / "neuraldbg" / "causes" / "_likelihoods.json"
TEMPERS = (0.2, 0.3, 0.45, 0.6)
PRIORS = (8.0, 15.0, 30.0, 60.0)
FOLDS = 4
PRIOR_UNKNOWN = 0.5


def count(records: Sequence[Record]) -> dict[str, Any]:
    """{"causes": {cause: {finding: [present, measured]}}, "healthy": {finding: [present, measured]}}."""
    causes: dict[str, dict[str, list[int]]] = {}
    healthy: dict[str, list[int]] = {}
    for record in records:
        cause = record["label"]["cause"] if record["spec"]["cause"] else None
        table = healthy if cause is None else causes.setdefault(cause, {})
        for name, present in record["findings"].items():
            if present is not None:
                entry = table.setdefault(name, [0, 0])
                entry[0] += bool(present)
                entry[1] += 1
    return {"causes": causes, "healthy": healthy}


def log_probability(record: Record, numbers: Parameters) -> float:
    """Log of the probability that the network gives to the truth about a run."""
    answers = {name: Finding(name, present) for name, present in record["findings"].items()}
    marginals = ranking.rank(answers, numbers).marginals
    if record["spec"]["cause"] is None:
        p = marginals[NOTHING]
    else:
        p = max(marginals.get(name, 0.0) for name in (record["label"]["cause"], *record["label"].get("also", ())))
    return math.log(max(p, 1e-6))


def numbers_from(counts: Mapping[str, Any], temper: float, prior: float) -> Parameters:
    fitted = {**counts, "temper": temper, "prior_nothing": prior, "prior_unknown": PRIOR_UNKNOWN}
    return parameters(ranking.rules(), list(questions()), fitted)


def choose(records: Sequence[Record]) -> tuple[float, float]:
    """Temper and prior with the best mean log probability on families left out."""
    names = sorted({record["spec"]["family"] for record in records})
    parts = []
    for fold in range(FOLDS):
        out = set(names[fold::FOLDS])
        kept = count([record for record in records if record["spec"]["family"] not in out])
        parts.append((kept, [record for record in records if record["spec"]["family"] in out]))
    best: tuple[float, float, float] | None = None
    for temper in TEMPERS:
        for prior in PRIORS:
            total = sum(log_probability(r, numbers_from(kept, temper, prior)) for kept, left in parts for r in left)
            mean = total / max(1, len(records))
            print(f"temper {temper:g}  prior of nothing {prior:g}  mean log probability {mean:.3f}")
            if best is None or mean > best[0]:
                best = (mean, temper, prior)
    assert best is not None
    return best[1], best[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faultbench.fit", description=__doc__)
    parser.add_argument("results", nargs="?", default=str(Path(__file__).parent / "results" / "full.jsonl"))
    options = parser.parse_args()
    lines = Path(options.results).read_text().splitlines()
    records = [record for record in map(json.loads, lines) if record.get("kept") and record.get("findings")]
    allowed = split.fit_families()
    records = [record for record in records if record["spec"]["family"] in allowed]
    if not records:
        print(
            f"expected kept runs of {', '.join(sorted(allowed))} in {options.results}, found none; run the bench first"
        )
        return 1
    temper, prior = choose(records)
    counts = count(records)
    content = {**counts, "temper": temper, "prior_nothing": prior, "prior_unknown": PRIOR_UNKNOWN, "runs": len(records)}
    TARGET.write_text(json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n")
    print(f"{len(records)} runs counted; temper {temper:g}, prior of nothing {prior:g}; written to {TARGET.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
