"""Which runs there are, and how one is carried out; everything is a function of the spec."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import nn

from bench.faultbench import families, healthy, injectors, labels
from bench.faultbench.loop import Outcome, run, unwatched
from bench.faultbench.recipe import Recipe, random_for

#: Rounds through all (cause, family) pairs in the full bench.
FULL_SEEDS = 2
QUICK_PER_CAUSE = 2


@dataclass(frozen=True)
class Spec:
    """One run, by name."""

    family: str
    seed: int
    #: Cause that is injected, or None.
    cause: str | None
    #: Name of a tricky healthy variant, or None.
    trick: str | None = None
    #: 0 mild, 1 strong.
    strength: float = 0.0

    @property
    def key(self) -> str:
        return f"{self.family}/{self.seed}/{self.cause or self.trick or 'plain'}"


def _seed(*parts: object) -> int:
    return random_for("seed", *parts).randrange(1, 1_000_000)


def spec_of(family: str, cause: str, repeat: int) -> Spec | None:
    """A run of a cause in a family; None where no seed near this one makes it applicable."""
    injector = injectors.load()[cause]
    for attempt in range(8):
        seed = _seed(family, cause, repeat, attempt)
        if injector.applies(families.make(family, seed)):
            return Spec(family, seed, cause, None, random_for("strength", family, cause, repeat).random())
    return None


def specs(quick: bool, chosen: set[str] | None = None) -> list[Spec]:
    """All runs, sick and healthy, in a fixed order that mixes causes and families.

    ``chosen`` keeps only some families. There are at least as many healthy runs as sick ones.
    """
    names = [name for name in families.names() if chosen is None or name in chosen]
    sick: list[Spec] = []
    for cause in injectors.load():
        order = random_for("order", cause).sample(names, len(names))
        found = 0
        for repeat in range(1 if quick else FULL_SEEDS):
            for family in order:
                if quick and found >= QUICK_PER_CAUSE:
                    break
                spec = spec_of(family, cause, repeat)
                if spec is not None:
                    sick.append(spec)
                    found += 1
    well: list[Spec] = []
    repeat = 0
    while len(well) < len(sick):
        well += [Spec(family, _seed("plain", family, repeat), None) for family in names]
        well += healthy_specs(names, repeat)
        repeat += 1
    if quick:
        well = random_for("quick healthy").sample(well, len(sick))
    mixed = sick + well
    random_for("mix").shuffle(mixed)
    return mixed


def healthy_specs(names: list[str], repeat: int) -> list[Spec]:
    """One run of each tricky healthy variant, in a family that it fits."""
    out: list[Spec] = []
    for trick, entry in healthy.load().items():
        for family in random_for("family of", trick, repeat).sample(names, len(names)):
            seed = _seed("trick", trick, family, repeat)
            if entry.applies(families.make(family, seed)):
                out.append(Spec(family, seed, None, trick))
                break
    return out


def recipe_of(spec: Spec) -> tuple[Recipe, Recipe | None]:
    """The recipe of a spec, and that of its healthy twin (None for a healthy spec)."""
    recipe = families.make(spec.family, spec.seed)
    if spec.cause is None:
        if spec.trick:
            healthy.load()[spec.trick].change(recipe, random_for("trick", spec.key))
        return recipe, None
    injector = injectors.load()[spec.cause]
    twin = families.make(spec.family, spec.seed)
    if injector.prepare is not None:
        for one in (recipe, twin):
            injector.prepare(one, random_for("prepare", spec.key))
    injector.inject(recipe, random_for("inject", spec.key), spec.strength)
    return recipe, twin


@lru_cache(maxsize=64)
def _twin_outcome(spec: Spec) -> Outcome:
    twin = recipe_of(spec)[1]
    assert twin is not None
    return run(twin)


def keep_why(spec: Spec, recipe: Recipe, outcome: Outcome) -> str:
    """Why a run is left out of the count; empty when it counts."""
    if spec.cause is None:
        return "" if labels.trained_well(recipe, outcome) else "did not train well"
    twin_recipe = recipe_of(spec)[1]
    assert twin_recipe is not None
    twin = _twin_outcome(spec)
    injector = injectors.load()[spec.cause]
    if injector.judge != "overfit" and spec.cause != "class_imbalance" and not labels.trained_well(twin_recipe, twin):
        return "its healthy twin did not train well"
    if not labels.really_failed(injector.judge, recipe, outcome, twin):
        return "it did not fail"
    return ""


Session = Callable[[nn.Module], AbstractContextManager[Any]]


def execute(
    spec: Spec, session: Session = unwatched, read: Callable[[], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Carry out one run; ``read`` gives what the tool says afterwards.

    Returns a JSON-like record: spec, label, whether it counts, how it went, what the tool said.
    """
    recipe, _ = recipe_of(spec)
    outcome = run(recipe, session)
    said = read() if read is not None else {}
    labels.settle_onset(recipe, outcome)
    why = keep_why(spec, recipe, outcome)
    return {
        "key": spec.key,
        "spec": asdict(spec),
        "label": asdict(recipe.label),
        "kept": not why,
        "dropped_because": why,
        "outcome": {
            "final": _number(outcome.final),
            "clean": _number(outcome.clean),
            "first_loss": _number(outcome.losses[0]) if outcome.losses else None,
            "last_loss": _number(outcome.losses[-1]) if outcome.losses else None,
            "first_non_finite": outcome.first_non_finite,
            "error": outcome.error,
            "rounds": len(outcome.losses),
        },
        **said,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


class Results:
    """Records in a JSON-lines file, one run a line; a run that is in it is not carried out again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.records: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue  # the line that was being written when the process ended
                self.records[record["key"]] = record

    def add(self, record: dict[str, Any]) -> None:
        self.records[record["key"]] = record
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
