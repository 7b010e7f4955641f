"""Finds rules by scanning a folder: a detector, a cause, a link or an intervention is there because its file is.

There is no list to keep: the name of a rule is the name of its file. Files whose name starts with ``_`` are helpers of
the rules beside them. A rule that cannot be loaded is an error, never left out: a cause that silently is not looked for
would read as a cause that was ruled out.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from neuraldbg.errors import RuleError


def find_rules(package: str, attributes: Mapping[str, type[Any] | tuple[type[Any], ...]]) -> dict[str, ModuleType]:
    """All rules of a package, name → module, sorted by name.

    Args:
        package: dotted name of the folder, ``neuraldbg.detectors`` for instance.
        attributes: what each rule must define, with the type that it must have; ``collections.abc.Callable`` for a
            function. A docstring is always needed, for it is the rule's documentation.

    Raises:
        RuleError: a file that cannot be imported, or lacks an attribute; it names both and says what to do.
    """
    folder = import_module(package)
    rules: dict[str, ModuleType] = {}
    for found in sorted(pkgutil.iter_modules(folder.__path__), key=lambda module: module.name):
        if found.name.startswith("_"):
            continue
        where = f"{package.replace('.', '/')}/{found.name}.py"
        if found.ispkg:
            raise RuleError(
                f"{where.removesuffix('.py')}/: expected one file per rule, found a folder; "
                "put the rule into one file, or start the folder's name with '_'."
            )
        try:
            module = import_module(f"{package}.{found.name}")
        except Exception as error:
            raise RuleError(
                f"{where}: expected a rule that can be imported, found {type(error).__name__}: {error}; "
                "mend the file, or start its name with '_'."
            ) from error
        check_rule(module, attributes, where)
        rules[found.name] = module
    return rules


def check_rule(
    module: ModuleType, attributes: Mapping[str, type[Any] | tuple[type[Any], ...]], where: str = ""
) -> None:
    """Check one rule against what ``find_rules`` asks of all.

    Raises:
        RuleError: an attribute, or the docstring, is missing or of another type.
    """
    where = where or Path(module.__file__ or module.__name__).name
    if not (module.__doc__ or "").strip():
        raise RuleError(f"{where}: expected a docstring that documents the rule, found none; write one at its top.")
    for name, kind in attributes.items():
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(each.__name__ for each in kinds)
        if not hasattr(module, name):
            raise RuleError(f"{where}: expected an attribute {name} ({wanted}), found none; define it in this file.")
        value = getattr(module, name)
        if not isinstance(value, kinds):
            raise RuleError(
                f"{where}: expected {name} to be a {wanted}, found a {type(value).__name__} ({value!r:.80}); mend it."
            )
