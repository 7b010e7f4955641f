"""Stage 6: a Diagnosis becomes text, JSON or a drawing. ``view.py`` decides what is said, the others only draw it."""

from neuraldbg.report.json import SCHEMA_VERSION, schema, to_json
from neuraldbg.report.mermaid import causal_graph
from neuraldbg.report.terminal import print_verdict, render
from neuraldbg.report.view import View, build_view

__all__ = ["SCHEMA_VERSION", "View", "build_view", "causal_graph", "print_verdict", "render", "schema", "to_json"]
