"""Imports go downward only, and torch stays where it belongs: read off the source, and tried."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import neuraldbg

PACKAGE = Path(neuraldbg.__file__).parent

#: Every module or folder right under the package, with its layer; an import may only go to a lower one.
#: The stages share a layer, for none of them imports another.
LAYERS = {
    "__main__": 8,
    "cli": 7,
    "integrations": 7,
    "pytest_plugin": 7,
    "__init__": 6,
    "session": 5,
    "answers": 4,
    "pipeline": 4,
    "observe": 3,
    "trace_store": 3,
    "detectors": 3,
    "graph": 3,
    "causes": 3,
    "verify": 3,
    "report": 3,
    "remedies": 3,
    "testing": 3,
    "measures": 2,
    "records": 1,
    "registry": 1,
    "config": 1,
    "errors": 0,
}

MAY_IMPORT_TORCH = {"observe", "verify", "session", "remedies", "integrations", "pytest_plugin"}
#: The demos are training scripts that come with the command line; they import torch when they are run.
MAY_IMPORT_TORCH_WHEN_RUN = {"cli/demo.py", "cli/demos"}


class Import(NamedTuple):
    file: str
    line: int
    #: Dotted name of what is imported; for ``from a import b``, a.b.
    target: str
    #: Inside of a function: only imported when that is called.
    late: bool


def imports_of(file: Path) -> Iterator[Import]:
    """All imports that can happen at run time; those under ``if TYPE_CHECKING`` never do."""
    name = file.relative_to(PACKAGE).as_posix()
    package = ["neuraldbg", *file.relative_to(PACKAGE).parts[:-1]]

    def walk(node: ast.AST, late: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.orelse:
                yield from walk(child, late)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, node.lineno, alias.name, late)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *base.split(".")]).rstrip(".")
            for alias in node.names:
                yield Import(name, node.lineno, f"{base}.{alias.name}", late)
        inside = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(ast.parse(file.read_text("utf-8")), late=False)


FILES = sorted(PACKAGE.rglob("*.py"))
IMPORTS = [found for file in FILES for found in imports_of(file)]


def part_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def test_the_parser_sees_imports():
    assert any(found.target.startswith("neuraldbg.records.") for found in IMPORTS)
    assert any(found.target.split(".")[0] == "torch" for found in IMPORTS)


def test_every_part_has_a_layer():
    unknown = {part_of(file.relative_to(PACKAGE).as_posix()) for file in FILES} - set(LAYERS)
    assert not unknown, f"give these a layer in LAYERS: {unknown}"


def test_imports_go_downward_only():
    wrong = []
    for found in IMPORTS:
        names = found.target.split(".")
        if names[0] != "neuraldbg" or names[1:] == ["__version__"]:
            continue
        source = part_of(found.file)
        target = names[1] if len(names) > 1 and names[1] in LAYERS else "__init__"
        if source != target and LAYERS[target] >= LAYERS[source]:
            wrong.append(f"{found.file}:{found.line}: {source} must not import {found.target}")
    assert not wrong, "\n".join(wrong)


def test_torch_is_imported_only_where_training_is_watched():
    wrong = [
        f"{found.file}:{found.line}: {found.target}"
        for found in IMPORTS
        if found.target.split(".")[0] in ("torch", "torchvision")
        and part_of(found.file) not in MAY_IMPORT_TORCH
        and not (found.late and any(found.file.startswith(place) for place in MAY_IMPORT_TORCH_WHEN_RUN))
    ]
    assert not wrong, "\n".join(wrong)


def in_a_fresh_interpreter(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_neuraldbg_imports_nothing_else():
    loaded = in_a_fresh_interpreter(
        "import sys; before = set(sys.modules); import neuraldbg; print(*sorted(set(sys.modules) - before))"
    )
    heavy = {"torch", "numpy", "networkx", "rich", "typer", "sqlite3", "neuraldbg.records", "neuraldbg.session"}
    assert not heavy & set(loaded.split())


@pytest.mark.parametrize("part", sorted(set(LAYERS) - MAY_IMPORT_TORCH))
def test_everything_after_recording_works_without_torch(part):
    files = [file for file in FILES if part_of(file.relative_to(PACKAGE).as_posix()) == part]
    modules = [".".join(["neuraldbg", *file.relative_to(PACKAGE).with_suffix("").parts]) for file in files]
    names = [module.removesuffix(".__init__") for module in modules]
    in_a_fresh_interpreter(f"import sys; sys.modules['torch'] = None\nfor name in {names}: __import__(name)")


def test_public_names_are_all_there():
    listed = in_a_fresh_interpreter(
        "import neuraldbg as n; print(*(n.__all__)); [getattr(n, name) for name in n.__all__];"
        "assert set(n.__all__) <= set(dir(n)); assert n.NeuralDbg.__name__ == 'NeuralDbg'"
    ).split()
    assert listed == sorted(listed)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = neuraldbg.nothing
