"""How often does verification confirm the right cause, and how often a wrong one?

    python -m bench.verify [--field 20] [--folder CASES] [--fault 20] [--seeds 3] [--minutes 10] [--only CAUSE]
                           [--handed [--acting]] [--keep FOLDER] [--out FILE]

Each run is recorded and diagnosed as it is. Then its top three hypotheses are verified, and with them a wrong one that
is put in on purpose: the first cause, in a fixed shuffled order, that is neither the right one nor accepted, that has
an intervention, and that is not among the three. It gets the probability that the diagnosis gives it, or 0.05 where the
diagnosis gives none.

With ``--handed`` nothing is diagnosed: the right hypothesis and a wrong one are handed in with a probability of 0.4
each, without a place, so that the figures speak of the experiment alone. Cases whose cause no intervention removes are
left out. Most changes find nothing to change in a program that has another fault; with ``--acting`` the wrong hypothesis
is one of those whose change acts on every program, which is the harder test.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bench.kept_runs import kept
from bench.verdicts import figures
from neuraldbg import NeuralDbg
from neuraldbg.records import CausalHypothesis, Diagnosis, Symptom
from neuraldbg.records.verdict import Verification
from neuraldbg.verify._experiment import experiment
from neuraldbg.verify.interventions import against, all_interventions

#: Probability of a cause that the diagnosis does not even consider.
PUT_IN = 0.05
#: What the labels of the field cases call a symptom, in the words of the records; the others are what a whole run shows.
SYMPTOMS = {"loss_nan": "loss_non_finite"}
#: Causes whose intervention changes every program, so that it may make a failure go away that is not theirs.
ACT_ANYWHERE = (
    "exploding_depth", "learning_rate_too_high", "learning_rate_too_low", "missing_gradient_clipping", "vanishing_depth",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A program with a known fault."""

    name: str
    cause: str
    also: tuple[str, ...]
    #: Trains inside of ``with session(model):``.
    train: Callable[[Callable[..., Any]], Any]
    #: First step at which the fault acts, and kind of symptom where it is known.
    onset: int = 0
    symptom: str = ""
    #: Why it is left out, or "": a fault that did no harm proves nothing.
    left_out: Callable[[], str] = lambda: ""


def field_cases(folder: Path) -> Iterator[Case]:
    """The faulty programs of a folder, each with ``META`` and ``run(seed, healthy, session)``."""
    for path in sorted(folder.glob("*.py")):
        specification = importlib.util.spec_from_file_location(path.stem, path)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        if module.META.get("cause") in (None, "none"):
            continue
        yield Case(
            path.stem,
            module.META["cause"],
            tuple(module.META.get("also", ())),
            lambda session, module=module: module.run(0, False, session),
            max(0, (module.META.get("onset") or (0, 0))[0]),
            SYMPTOMS.get(module.META["symptom"], module.META["symptom"]),
        )


def fault_cases() -> Iterator[Case]:
    """Sick runs of FaultBench, in its own mixed order."""
    from bench.faultbench import injectors, labels, runs
    from bench.faultbench.loop import run

    def why_left_out(spec: runs.Spec) -> str:
        why = str(runs.execute(spec)["dropped_because"])
        assert spec.cause is not None
        if why or injectors.load()[spec.cause].judge != "structure":
            return why
        # FaultBench counts these whatever the curve says; where nothing failed, nothing can be seen to go away.
        recipe, twin = runs.recipe_of(spec)
        assert twin is not None
        outcomes = run(recipe), run(twin)
        harmed = any(labels.really_failed(way, recipe, *outcomes) for way in ("slower", "clean", "validation"))
        return "" if harmed else "it did no harm"

    for spec in runs.specs(quick=True):
        if spec.cause is None:
            continue
        recipe = runs.recipe_of(spec)[0]
        yield Case(
            spec.key,
            spec.cause,
            recipe.label.also,
            lambda session, spec=spec: run(runs.recipe_of(spec)[0], session),
            max(0, recipe.label.onset[0]),
            left_out=lambda spec=spec: why_left_out(spec),
        )


def diagnose_case(case: Case, folder: Path) -> Diagnosis:
    """Record one run and explain it."""
    sessions: list[NeuralDbg] = []

    def session(model: Any = None) -> NeuralDbg:
        sessions.append(NeuralDbg(model, path=folder / f"{len(sessions)}.ndbg"))
        return sessions[-1]

    with contextlib.suppress(RuntimeError, ValueError, IndexError):
        case.train(session)
    return sessions[0].diagnosis()


def try_out(case: Case, diagnosis: Diagnosis, options: argparse.Namespace) -> Verification:
    """All hypotheses of a diagnosis, verified together."""
    symptom = diagnosis.symptom
    return experiment(
        kept(
            case.name,
            lambda: case.train(lambda model=None: contextlib.nullcontext()),
            Path(options.keep) if options.keep else None,
        ),
        diagnosis.hypotheses,
        symptom=symptom.kind if symptom else "",
        onset=symptom.step if symptom else 0,
        seen=diagnosis.steps,
        top=max(1, len(diagnosis.hypotheses)),
        seeds=options.seeds,
        jobs=options.jobs,
        limit=60 * options.minutes,
    )


def judge_case(case: Case, options: argparse.Namespace) -> dict[str, Any] | None:
    """Verify the top hypotheses of a case and a wrong one; None where nothing was found to have failed."""
    with tempfile.TemporaryDirectory() as folder:
        diagnosis = diagnose_case(case, Path(folder))
        if not diagnosis.hypotheses:
            return None
        right = {case.cause, *case.also}
        named = {hypothesis.cause: hypothesis for hypothesis in diagnosis.candidates}
        possible = sorted({cause for rule in all_interventions().values() for cause in rule.CAUSES})
        random.Random(case.name).shuffle(possible)
        top = diagnosis.hypotheses[:3]
        shown = {hypothesis.cause for hypothesis in top}
        put_in = next(cause for cause in possible if cause not in right | shown)
        onset = diagnosis.symptom.step if diagnosis.symptom else 0
        wrong = named.get(put_in) or CausalHypothesis(put_in, "", None, None, (onset, onset), PUT_IN)
        tried = Diagnosis(
            diagnosis.outcome, diagnosis.summary, diagnosis.steps, diagnosis.symptom, hypotheses=(*top, wrong)
        )
        result = try_out(case, tried, options)
    best = result.best
    return {
        "case": case.name,
        "cause": case.cause,
        "before": top[0].cause in right,
        "after": best is not None and best.cause in right,
        "runs": result.runs,
        "steps": result.steps,
        "verdicts": as_rows(result, right, put_in),
    }


def judge_handed(case: Case, options: argparse.Namespace) -> dict[str, Any] | None:
    """Verify the right hypothesis and a wrong one, handed in; None where nothing removes the right cause."""
    if against(case.cause) is None:
        return None
    right = {case.cause, *case.also}
    every = ACT_ANYWHERE if options.acting else (c for rule in all_interventions().values() for c in rule.CAUSES)
    possible = sorted(set(every) - right)
    put_in = random.Random(case.name).choice(possible)
    handed = [CausalHypothesis(cause, "", None, None, (case.onset, case.onset), 0.4) for cause in (case.cause, put_in)]
    symptom = Symptom(case.symptom, "It fails.", case.onset)
    result = try_out(case, Diagnosis("failed", "It fails.", 0, symptom=symptom, hypotheses=tuple(handed)), options)
    best = result.best
    return {
        "case": case.name,
        "cause": case.cause,
        "before": None,  # a draw
        "after": best is not None and best.cause in right,
        "runs": result.runs,
        "steps": result.steps,
        "verdicts": as_rows(result, right, put_in),
    }


def as_rows(result: Verification, right: set[str], put_in: str) -> list[dict[str, Any]]:
    """What the figures are made of."""
    return [
        {
            "cause": verdict.cause,
            "right": verdict.cause in right,
            "able": against(verdict.cause) is not None,
            "put_in": verdict.cause == put_in,
            "verdict": verdict.verdict,
            "prior": verdict.prior,
            "posterior": verdict.posterior,
            "effect": verdict.effect,
            "interval": verdict.interval,
            "failed_without": verdict.failed_without,
            "failed_with": verdict.failed_with,
            "intervention": verdict.intervention,
            "strength": verdict.strength,
            "changes": verdict.changes,
            "reason": verdict.reason,
        }
        for verdict in result.verdicts
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--field", type=int, default=20, help="field cases")
    parser.add_argument("--folder", default="", help="field cases of another folder")
    parser.add_argument("--fault", type=int, default=20, help="runs of FaultBench")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0, help="no run is begun after this time")
    parser.add_argument("--only", default="", help="one cause")
    parser.add_argument("--skip", type=int, default=0, help="runs to leave out at the beginning")
    parser.add_argument("--handed", action="store_true", help="hand the hypotheses in; diagnose nothing")
    parser.add_argument("--acting", action="store_true", help="with --handed: a wrong one whose change always acts")
    parser.add_argument(
        "--keep", default="", help="folder in which replays are kept, and from which they are used again"
    )
    parser.add_argument("--out", default="", help="file for all verdicts, one run a line")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    out = Path(chosen.out).resolve() if chosen.out else None
    chosen.keep = str(Path(chosen.keep).resolve()) if chosen.keep else ""
    folder = Path(chosen.folder).resolve() if chosen.folder else Path(__file__).parent / "field_cases"
    # Each replay works in a copy of the working folder; these programs need none.
    os.chdir(tempfile.mkdtemp(prefix="neuraldbg-bench-"))
    end = time.monotonic() + 60 * chosen.minutes
    for name, cases, count in (
        ("field cases", lambda: field_cases(folder), chosen.field),
        ("FaultBench", fault_cases, chosen.fault),
    ):
        if count <= 0:
            continue
        wanted = [case for case in cases() if not chosen.only or case.cause == chosen.only]
        random.Random(0).shuffle(wanted)
        del wanted[: chosen.skip]
        results: list[dict[str, Any]] = []
        for case in wanted:
            if len(results) >= count or time.monotonic() > end:
                break
            begin = time.monotonic()
            if why := case.left_out():
                print(f"{case.name} [{case.cause}]: left out, {why}", flush=True)
                continue
            result = (judge_handed if chosen.handed else judge_case)(case, chosen)
            if result is None:
                why = "no intervention" if chosen.handed else "nothing was found to have failed"
                print(f"{case.name} [{case.cause}]: {why}", flush=True)
                continue
            results.append(result)
            told = ", ".join(
                f"{row['cause']}{' (right)' if row['right'] else ''} {row['verdict']}" for row in result["verdicts"]
            )
            print(f"{case.name} [{case.cause}] {time.monotonic() - begin:.0f} s: {told}", flush=True)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(result) + "\n")
        print(f"\n{name}")
        for what, figure in figures(results).items():
            print(f"  {what}: {figure}")


if __name__ == "__main__":
    main()
