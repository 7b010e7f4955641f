"""What became of a hypothesis when its cause was taken away and the training was run again."""

from __future__ import annotations

from dataclasses import dataclass

#: What a verification can conclude.
VERDICTS = ("confirmed", "refuted", "inconclusive")


@dataclass(frozen=True)
class Verdict:
    """One hypothesis after its experiment."""

    #: A code of the vocabulary.
    cause: str
    #: Where the hypothesis sits, in words; may be empty.
    where: str
    #: A file of verify/interventions, or None where nothing can remove the cause from outside.
    intervention: str | None
    #: One of VERDICTS.
    verdict: str
    #: Why, in one sentence.
    reason: str
    #: Probability of the hypothesis before and after, 0..1.
    prior: float
    posterior: float
    #: (runs that failed, runs that could be judged) without and with the intervention.
    failed_without: tuple[int, int] = (0, 0)
    failed_with: tuple[int, int] = (0, 0)
    #: Share of the remaining loss that the intervention removes, mean over seeds: 1 all of it, 0 none; NaN if unknown.
    effect: float = float("nan")
    #: 95 % interval of the effect over seeds.
    interval: tuple[float, float] = (float("nan"), float("nan"))
    #: How strongly the intervention acted (a factor), or None where it has no strength.
    strength: float | None = None
    #: What the intervention changed, one line each.
    changes: tuple[str, ...] = ()
    #: Runs that crashed, hung or ran out of memory, one line each.
    trouble: tuple[str, ...] = ()
    #: The smallest change of the user's code, in words, with file:line and lines before and after where known.
    fix: tuple[str, ...] = ()
    #: What the user can do where nothing can be decided from outside.
    instead: str = ""


@dataclass(frozen=True)
class Verification:
    """All verdicts of one experiment, and how it was carried out."""

    #: In the order in which they were tried.
    verdicts: tuple[Verdict, ...]
    #: Runs without a change: (failed, judged).
    placebo: tuple[int, int]
    #: Rounds per run.
    steps: int
    #: Seeds per hypothesis.
    seeds: int
    #: Runs that were carried out.
    runs: int = 0
    #: Whether it was stopped before all runs were done.
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Verdict | None:
        """The hypothesis that is the most probable after the evidence."""
        return max(self.verdicts, key=lambda verdict: verdict.posterior, default=None)

    @property
    def confirmed(self) -> tuple[Verdict, ...]:
        """The verdicts that read "confirmed", most probable first."""
        chosen = [verdict for verdict in self.verdicts if verdict.verdict == "confirmed"]
        return tuple(sorted(chosen, key=lambda verdict: -verdict.posterior))
