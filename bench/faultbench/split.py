"""Which families may be fitted on, and which are only reported."""

from __future__ import annotations

from bench.faultbench import families

#: Never fitted: what is measured on them is what a stranger's program will see.
UNSEEN = frozenset({"vit", "gru", "vae", "gnn", "siamese", "resnet", "transformers_library"})


def fit_families() -> set[str]:
    return set(families.names()) - UNSEEN


def unseen_families() -> set[str]:
    return set(families.names()) & UNSEEN
