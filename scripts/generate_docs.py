"""Write the pages of the documentation that are read off the source: causes, detectors, errors, Python, command line.

    python scripts/generate_docs.py            the pages, into docs/
    python scripts/generate_docs.py --gallery  docs/gallery.md too: trains every demo, which takes a minute

Docstrings are parsed and nothing is imported, so that this runs without torch (the gallery needs it). mkdocs runs it
as a hook before it builds; what it writes, but for the gallery, is not kept in the repository.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "neuraldbg"
DOCS = ROOT / "docs"
NOTE = "<!-- written by scripts/generate_docs.py -->\n\n"

#: What the Python page shows: heading, file, names in it.
PYTHON = (
    ("The block", "session.py", ("NeuralDbg",)),
    ("What the block is asked for", "answers.py", ("Answers",)),
    ("From a trace to a diagnosis", "pipeline.py", ("diagnose",)),
    ("Reading a trace", "trace_store/reader.py", ("read_trace",)),
    ("The answer", "records/diagnosis.py", ("Diagnosis", "Symptom", "CausalLink", "CoupledFailure")),
    ("Hypotheses", "records/hypothesis.py", ("CausalHypothesis", "Explanations", "Finding")),
    ("Events", "records/event.py", ("SemanticEvent",)),
    ("What was recorded", "records/trace.py", ("Trace", "Series")),
    ("Observations", "records/observation.py", ("Place", "Observation", "Fact", "FlowEdge")),
)


def main() -> None:
    """Write all pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gallery", action="store_true", help="train the demos and write docs/gallery.md")
    arguments = parser.parse_args()
    pages()
    if arguments.gallery:
        write(DOCS / "gallery.md", gallery())


def pages() -> None:
    """Write all pages but the gallery."""
    rules("causes", CAUSES_INTRODUCTION)
    rules("detectors", DETECTORS_INTRODUCTION)
    write(DOCS / "errors.md", errors())
    write(DOCS / "api.md", python())
    write(DOCS / "command_line.md", command_line())


def on_config(config: Any) -> Any:
    """mkdocs calls this: the pages are written, and their folders in the navigation become lists of them."""
    pages()
    for entry in config["nav"]:
        for title, target in entry.items():
            if isinstance(target, str) and target.endswith("/"):
                found = sorted((DOCS / target).glob("*.md"), key=lambda path: (path.name != "index.md", path.name))
                entry[title] = [f"{target}{path.name}" for path in found]
    return config


CAUSES_INTRODUCTION = """# Causes

What training can fail of. Each page says how the cause works, what it looks like in a run, what speaks against it, and
what to do. The same text comes from `neuraldbg explain NAME`.
"""

DETECTORS_INTRODUCTION = """# Detectors

What is looked for in a trace. A detector turns numbers into events: a change of state, at one place, over a range of
steps. An event is no verdict; causes are judged from all events together.
"""


def write(path: Path, text: str) -> None:
    """Write a page where it differs from what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, encoding="utf-8")


def docstring(path: Path) -> str:
    """The docstring of a module, of which nothing is executed."""
    return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""


# rules ------------------------------------------------------------------------------------------------------------


def rules(folder: str, introduction: str) -> None:
    """A page per rule of a folder, and an index of them with a line each."""
    files = sorted(path for path in (PACKAGE / folder).glob("*.py") if not path.name.startswith("_"))
    kept = {"index.md", *(f"{path.stem}.md" for path in files)}
    (DOCS / folder).mkdir(parents=True, exist_ok=True)
    for old in (DOCS / folder).glob("*.md"):
        if old.name not in kept:
            old.unlink()
    groups = group_names() if folder == "causes" else {}
    lines: dict[str, list[str]] = {}
    for path in files:
        first, _, body = docstring(path).partition("\n")
        link = f"[`{path.stem}`]({path.stem}.md)"
        lines.setdefault(groups.get(path.stem, ""), []).append(f"| {link} | {first.rstrip('.')} |")
        page = f"{NOTE}# {first.rstrip('.')}\n\n`{path.stem}`\n\n{linked(body.strip(), path.stem, folder)}\n"
        if folder == "causes":
            page += intervention(path)
        write(DOCS / folder / f"{path.stem}.md", page)
    index = NOTE + introduction
    for group, rows in sorted(lines.items()):
        heading = f"\n## {group.replace('_', ' ').capitalize()}\n" if group else ""
        index += f"{heading}\n| name | in one line |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    write(DOCS / folder / "index.md", index)


def linked(text: str, own: str, folder: str) -> str:
    """Names of other causes in the text become links, but for those in code and in headings."""
    names = {path.stem for path in (PACKAGE / "causes").glob("*.py") if not path.name.startswith("_")} - {own}
    prefix = "" if folder == "causes" else "../causes/"

    def link(match: re.Match[str]) -> str:
        word = match[0]
        return f"[{word}]({prefix}{word}.md)" if word in names else word

    return re.sub(r"(?<![`\w.])[a-z]+(?:_[a-z0-9]+)+(?![`\w(.=]\w?)", link, text)


def intervention(path: Path) -> str:
    """The line that names the intervention of a cause, where it has one."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "INTERVENTION":
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            return f"\nThe intervention that tests it: `{value}`.\n" if value else ""
    return ""


def group_names() -> dict[str, str]:
    """Cause → its group in the vocabulary."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    loaded = tomllib.loads((PACKAGE / "causes" / "vocabulary.toml").read_text("utf-8"))
    return {name: str(words.get("group", "")) for name, words in loaded.items()}


# errors -----------------------------------------------------------------------------------------------------------


def errors() -> str:
    """The tree of errors, and each with its sentence."""
    module = ast.parse((PACKAGE / "errors.py").read_text("utf-8"))
    text = ast.get_docstring(module) or ""
    tree = "\n".join(line for line in text.splitlines() if line.startswith("    "))
    parts = [f"{NOTE}# Errors\n", "Every message says what was expected, what was found, and what to do.\n"]
    parts.append("```text\n" + re.sub(r"(?m)^    ", "", tree) + "\n```\n")
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            parts.append(f"## {node.name}\n\n`{node.name}({bases})`\n\n{ast.get_docstring(node)}\n")
    parts.append(
        "## What is no error\n\nA fault of NeuralDBG while it watches never reaches your loop: it is noted in the "
        "trace and in the report.\n"
    )
    return "\n".join(parts)


# Python -----------------------------------------------------------------------------------------------------------


def python() -> str:
    """The public classes and functions with their docstrings."""
    parts = [f"{NOTE}# Python\n", "`from neuraldbg import NeuralDbg` is all that most programs need.\n"]
    for heading, file, names in PYTHON:
        parts.append(f"## {heading}\n\n`neuraldbg.{file.removesuffix('.py').replace('/', '.')}`\n")
        parts += [described(PACKAGE / file, name) for name in names]
    parts.append("## Integrations\n")
    for path in sorted((PACKAGE / "integrations").glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            public = isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
            if public and ast.get_docstring(node):
                parts.append(f"`neuraldbg.integrations.{path.stem}`\n")
                parts.append(described(path, node.name))
    return "\n".join(parts)


def described(path: Path, name: str) -> str:
    """A class with its fields and methods, or a function."""
    source = path.read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return f"### {name}\n\n{call(node, name)}\n{prose(node)}\n"
        if isinstance(node, ast.ClassDef) and node.name == name:
            parts = [f"### {name}\n\n{prose(node)}\n"]
            fields = list(documented_fields(source, node))
            if fields:
                parts.append("| field | type | meaning |\n| --- | --- | --- |")
                parts += [f"| `{field}` | `{kind}` | {meaning} |" for field, kind, meaning in fields]
                parts.append("")
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    kind = "" if not is_property(member) else " (attribute)"
                    if ast.get_docstring(member):
                        shown = f"`{member.name}`\n" if kind else call(member, member.name)
                        parts.append(f"#### {name}.{member.name}{kind}\n\n{shown}\n{prose(member)}\n")
            return "\n".join(parts)
    raise SystemExit(f"{path}: expected a class or function {name!r}, found none; mend PYTHON in {__file__}")


def is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(mark) in ("property", "cached_property") for mark in node.decorator_list)


def call(node: ast.FunctionDef, name: str) -> str:
    """The signature as a line of code."""
    given = ast.unparse(node.args)
    given = re.sub(r"^self(, )?", "", given)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"```python\n{name}({given}){result}\n```\n"


def prose(node: ast.ClassDef | ast.FunctionDef) -> str:
    """The docstring, its sections as lists."""
    lines = (ast.get_docstring(node) or "").splitlines()
    out: list[str] = []
    section = False
    for line in lines:
        if re.fullmatch(r"(Args|Raises|Returns|Yields):", line):
            out += [f"**{line[:-1]}**", ""]
            section = True
        elif section and (match := re.match(r"    (\w+): (.*)", line)):
            out.append(f"- `{match[1]}`: {match[2]}")
        elif section and line.startswith("    "):
            out.append(f"  {line.strip()}")
        else:
            section = section and not line
            out.append(line)
    return "\n".join(out).replace("``", "`")


def documented_fields(source: str, node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Fields of a record with the comment above each: (name, type, meaning)."""
    lines = source.splitlines()
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            above: list[str] = []
            at = member.lineno - 2
            while at >= 0 and lines[at].strip().startswith("#:"):
                above.insert(0, lines[at].strip()[2:].strip())
                at -= 1
            meaning = " ".join(above).replace("|", "\\|").replace("``", "`")
            meaning = re.sub(r"<(\w+)>", r"`<\1>`", meaning).replace('"`', '"').replace('`"', '"')
            yield member.target.id, ast.unparse(member.annotation).replace("|", "\\|"), meaning


# command line -----------------------------------------------------------------------------------------------------


def command_line() -> str:
    """Each verb with its help text, as the docstring of its file's function has it."""
    parts = [f"{NOTE}# Command line\n", "`neuraldbg VERB --help` lists the options of each.\n"]
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        if path.name.startswith("_"):
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == "command":
                text, _, examples = (ast.get_docstring(node) or "").replace("\b", "").partition("Examples:")
                parts.append(f"## neuraldbg {path.stem}\n\n{text.strip()}\n")
                options = list(option_rows(node))
                if options:
                    parts += ["| option | meaning |\n| --- | --- |", *options, ""]
                if examples.strip():
                    code = "\n".join(line.strip() for line in examples.splitlines() if line.strip())
                    parts.append(f"```sh\n{code}\n```\n")
    return "\n".join(parts)


def option_rows(node: ast.FunctionDef) -> Iterator[str]:
    """A table row per option of a verb."""
    for argument in node.args.args:
        for inner in ast.walk(argument.annotation) if argument.annotation else ():
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) in ("typer.Option", "typer.Argument"):
                words = [part.value for part in inner.args if isinstance(part, ast.Constant)]
                named = {part.arg: part.value for part in inner.keywords}
                helped = named.get("help")
                shown = named.get("metavar")
                name = ", ".join(str(word) for word in words) or (
                    str(shown.value) if isinstance(shown, ast.Constant) else argument.arg.upper()
                )
                meaning = helped.value if isinstance(helped, ast.Constant) else ""
                yield f"| `{name.replace('|', chr(92) + '|')}` | {str(meaning).replace('|', chr(92) + '|')} |"


# gallery ----------------------------------------------------------------------------------------------------------


def gallery() -> str:
    """Every demo trained, with the verdict on it."""
    import importlib
    import os
    import tempfile

    sys.path.insert(0, str(ROOT / "src"))
    from neuraldbg.cli.demo import names
    from neuraldbg.report import print_verdict

    parts = [
        NOTE + "# Gallery\n",
        "A failure of each kind, as `neuraldbg demo NAME` trains it, and the verdict on it. *Planted* is what was done "
        "to the run; the verdict was found without knowing it. The pages are written by a script from real runs, so "
        "that a wrong verdict would stand here too.\n",
    ]
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in names():
            demo = importlib.import_module(f"neuraldbg.cli.demos.{name}")
            text = io.StringIO()
            print_verdict(demo.train(range(demo.STEPS)).diagnosis(), file=text)
            parts.append(f"## {name.replace('_', ' ').capitalize()}\n\n{(demo.__doc__ or '').strip()}\n")
            parts.append(f"Planted: {demo.PLANTED}\n\n```text\n{text.getvalue().strip()}\n```\n")
        os.chdir(home)
    return "\n".join(parts)


if __name__ == "__main__":
    main()
