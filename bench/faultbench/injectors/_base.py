"""What an injector is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.faultbench.recipe import Label, Recipe

Inject = Callable[[Recipe, random.Random, float], None]
Prepare = Callable[[Recipe, random.Random], None]


@dataclass(frozen=True)
class Injector:
    """One cause, put into a healthy recipe in one of several ways."""

    cause: str
    #: Changes the recipe and sets its label; strength 0 is mild, 1 is strong.
    inject: Inject
    #: Whether the fault makes sense in this recipe (looks at it, never changes it).
    applies: Callable[[Recipe], bool]
    #: Changes that the healthy twin shares (a longer sequence, mixed precision), or None.
    prepare: Prepare | None
    #: How failure is decided; see labels.py.
    judge: str


REGISTRY: dict[str, Injector] = {}


def injector(
    cause: str,
    applies: Callable[[Recipe], bool] = lambda recipe: True,
    prepare: Prepare | None = None,
    judge: str = "failure",
) -> Callable[[Inject], Inject]:
    """Register a function as the injector of a cause.

    Errors: ValueError for a second injector of the same cause.
    """

    def register(function: Inject) -> Inject:
        if cause in REGISTRY and REGISTRY[cause].inject.__module__ != function.__module__:
            raise ValueError(f"{cause} has two injectors: {REGISTRY[cause].inject.__module__}, {function.__module__}")
        REGISTRY[cause] = Injector(cause, function, applies, prepare, judge)
        return function

    return register


def has(*tags: str) -> Callable[[Recipe], bool]:
    """Applies where the recipe has all the tags."""
    return lambda recipe: recipe.tags.issuperset(tags)


def honours(*knobs: str) -> Callable[[Recipe], bool]:
    """Applies where the family's model honours all the knobs."""
    return lambda recipe: recipe.knobs.issuperset(knobs)


def single(recipe: Recipe) -> bool:
    """Applies to programs with one model and one optimizer."""
    return recipe.phases is None


def label(
    recipe: Recipe,
    cause: str,
    variant: str,
    places: tuple[str, ...] | None = None,
    onset: tuple[int, int] = (0, 0),
    also: tuple[str, ...] = (),
) -> Label:
    """Set the recipe's label and return it, for what is only known during the run."""
    recipe.label = Label(cause, places, onset, also, variant)
    return recipe.label
