"""``python -m bench.faultbench.fit``: counts how often each finding is present under each cause, and weighs findings.

Only families that ``split`` allows are used. Counts give P(finding | cause). Findings repeat each other, so each
log-likelihood gets a weight; weights and the priors of "nothing failed" and "something else" maximize the log
probability of what was really wrong with runs whose family the counts had not seen (families are left out in turn),
with a Gaussian prior on the logarithm of each weight around its default.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from bench.faultbench import split
from neuraldbg.causes import _ranking as ranking
from neuraldbg.causes._findings import questions
from neuraldbg.causes._model import CONTEXT, NOTHING, UNKNOWN, Parameters, default_weight, parameters, row_of
from neuraldbg.records import Finding

Record = Mapping[str, Any]
TARGET = Path(__file__).parents[2] / "src" / "neuraldbg" / "causes" / "_likelihoods.json"
FOLDS = 5
#: Strength of the prior on the weights, in units of one run's log probability.
PRIOR_STRENGTH = 3.0
STEPS = 300
#: The bench has more healthy runs than runs that a debugger is called for: the learned prior of "nothing" is cut, as far
#: as no more of the healthy runs of the fitted families raise an alarm.
ASKED_ABOUT = 0.19


def answers_of(record: Record) -> dict[str, Finding]:
    return {name: Finding(name, present) for name, present in record["findings"].items()}


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


def numbers_from(counts: Mapping[str, Any]) -> Parameters:
    return parameters(ranking.rules(), list(questions()), counts)


def right_answers(record: Record) -> set[str]:
    if record["spec"]["cause"] is None:
        return {NOTHING}
    return {record["label"]["cause"], *record["label"].get("also", ())}


class Design:
    """Log-likelihoods of every finding under every hypothesis of every run that was left out, as padded tensors."""

    def __init__(self, parts: Sequence[tuple[Parameters, Sequence[Record]]], names: Sequence[str]) -> None:
        rows = [row for numbers, records in parts for record in records if (row := self._row(numbers, record, names))]
        width = max(len(row[0]) for row in rows)
        count = len(rows)
        self.likelihood = torch.zeros(count, width, len(names))
        self.prior = torch.full((count, width), -1e9)
        self.kind = torch.full((count, width), 2)
        self.right = torch.full((count, width), -1e9)
        for index, (hypotheses, likelihood, prior, right) in enumerate(rows):
            self.likelihood[index, : len(hypotheses)] = torch.tensor(likelihood)
            self.prior[index, : len(hypotheses)] = torch.tensor(prior)
            for position, name in enumerate(hypotheses):
                self.kind[index, position] = {NOTHING: 0, UNKNOWN: 1}.get(name, 2)
            self.right[index, right] = 0.0

    @staticmethod
    def _row(numbers: Parameters, record: Record, names: Sequence[str]) -> tuple[Any, ...] | None:
        answers = answers_of(record)
        seen = {name: bool(answer.present) for name, answer in answers.items() if answer.present is not None}
        hypotheses = [NOTHING, UNKNOWN, *ranking.candidates(answers)]
        good = right_answers(record)
        right = [position for position, name in enumerate(hypotheses) if name in good]
        if not right:
            return None
        likelihood, prior = [], []
        for name in hypotheses:
            row = row_of(numbers, name, seen)
            values = [(row[f] if seen[f] else 1 - row[f]) if f in seen else 1.0 for f in names]
            likelihood.append([math.log(value) for value in values])
            prior.append(0.0 if name in (NOTHING, UNKNOWN) else math.log(numbers.prior[name]))
        return hypotheses, likelihood, prior, right


def learn(design: Design, names: Sequence[str]) -> tuple[dict[str, float], float, float]:
    """Weights by finding, prior of nothing, prior of something else."""
    default = torch.tensor([math.log(default_weight(name)) for name in names])
    weight = default.clone().requires_grad_(True)
    bias = torch.tensor([math.log(15.0), math.log(0.5)], requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        scores = (design.likelihood * weight.exp()).sum(-1) + design.prior
        scores = scores + torch.cat([bias, torch.zeros(1)])[design.kind]
        log_probability = torch.logsumexp(scores + design.right, 1) - torch.logsumexp(scores, 1)
        # A run that is hopeless (its cause looks like another one) shall not bend everything else.
        loss = -log_probability.clamp(min=-8).sum() + 0.5 * PRIOR_STRENGTH * ((weight - default) ** 2).sum()
        loss.backward()
        optimizer.step()
    print(f"mean log probability of the truth on families left out: {float(log_probability.detach().mean()):.3f}")
    weights = {name: float(value) for name, value in zip(names, weight.detach().exp())}
    return weights, float(bias[0].detach().exp()), float(bias[1].detach().exp())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faultbench.fit", description=__doc__)
    parser.add_argument("results", nargs="?", default=str(Path(__file__).parent / "results" / "full.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = Path(options.results).read_text().splitlines()
    records = [record for record in map(json.loads, lines) if record.get("kept") and record.get("findings")]
    allowed = split.fit_families()
    records = [record for record in records if record["spec"]["family"] in allowed]
    if not records:
        print(f"expected kept runs of the fit families in {options.results}, found none; run the bench first")
        return 1
    families = sorted({record["spec"]["family"] for record in records})
    parts = []
    for fold in range(FOLDS):
        out = set(families[fold::FOLDS])
        seen = [record for record in records if record["spec"]["family"] not in out]
        parts.append((numbers_from(count(seen)), [r for r in records if r["spec"]["family"] in out]))
    names = [name for name in questions() if name not in CONTEXT]
    weights, nothing, unknown = learn(Design(parts, names), names)
    content = {
        **count(records),
        "weights": {name: round(value, 4) for name, value in weights.items()},
        "prior_nothing": round(ASKED_ABOUT * nothing, 3),
        "prior_unknown": round(unknown, 4),
        "runs": len(records),
    }
    TARGET.write_text(json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n")
    print(f"{len(records)} runs of {len(families)} families counted; written to {TARGET.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
