"""The diagnosis and its trace as one offline HTML file; docs/design/reports.md says how and why."""

from neuraldbg.report.html.page import render_html

__all__ = ["render_html"]
