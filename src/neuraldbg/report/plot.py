"""Any panel of the report as a matplotlib figure, for a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuraldbg.errors import UsageError
from neuraldbg.records import Diagnosis, Trace
from neuraldbg.report.html.curves import charts
from neuraldbg.report.html.layers import METRICS, layer_maps
from neuraldbg.report.text import clean

#: Panels that are curves.
CURVES = {"loss": "loss", "learning_rate": "rate", "inputs": "inputs", "targets": "targets", "norms": "norms"}
#: Panels that are maps of the layers over time, and the gradient over depth.
PANELS = (*CURVES, *(metric.name for metric in METRICS), "depth")


def plot(diagnosis: Diagnosis, trace: Trace, panel: str = "loss") -> Any:
    """A ``matplotlib.figure.Figure`` of one of PANELS; it belongs to nobody's pyplot state.

    Raises:
        UsageError: an unknown panel, one of which nothing was measured, or matplotlib is not installed.
    """
    if panel not in PANELS:
        raise UsageError(f"panel expects one of {', '.join(PANELS)}; found {panel!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("figures need matplotlib, which is not installed: pip install 'neuraldbg[plot]'") from error
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    if panel in CURVES:
        _curves(axes, trace, panel, diagnosis)
    else:
        _layers(figure, axes, trace, panel)
    return figure


def _curves(axes: Any, trace: Trace, panel: str, diagnosis: Diagnosis) -> None:
    chart = charts(trace).get(CURVES[panel])
    if chart is None:
        raise UsageError(f"nothing of the panel {panel!r} was measured in this run")
    for curve, dash in zip(chart.curves, ("-", "--", ":", "-.")):
        finite = np.where(np.isfinite(curve.values), curve.values, np.nan)
        axes.plot(curve.steps, finite, dash, label=_words(curve.label))
    if chart.logarithmic:
        axes.set_yscale("log")
    if panel == "loss" and diagnosis.symptom is not None:
        axes.axvline(diagnosis.symptom.step, color="0.4", linestyle="--", label="onset")
    axes.set(title=_words(chart.title), xlabel="step")
    axes.legend()


def _layers(figure: Any, axes: Any, trace: Trace, panel: str) -> None:
    maps = layer_maps(trace)
    name = "gradient" if panel == "depth" else panel
    found = next((part for part in maps.maps if part.metric.name == name), None)
    if found is None:
        raise UsageError(f"nothing of the panel {panel!r} was measured in this run")
    finite = np.where(np.isfinite(found.cells), found.cells, np.nan)
    labels = [_words(label) for label in maps.labels]
    if panel == "depth":
        seen = np.flatnonzero(found.measured)
        for column, label, dash in ((seen[0], "first", "-"), (seen[-1], "last", "--")):
            axes.plot(finite[:, column], dash, marker=".", label=label)
        axes.set(title="Gradient over depth", ylabel="log10 of the gradient norm")
        axes.legend()
        shown = np.linspace(0, len(labels) - 1, min(len(labels), 12)).astype(int)
        axes.set_xticks(shown, [labels[row] for row in shown], rotation=45, ha="right")
        return
    edges = np.arange(finite.shape[0] + 1)
    mesh = axes.pcolormesh(maps.edges, edges, finite, cmap="RdBu" if panel == "gain" else "magma")
    figure.colorbar(mesh, ax=axes, label=_words(found.metric.title))
    shown = np.linspace(0, len(labels) - 1, min(len(labels), 20)).astype(int)
    axes.set_yticks(shown + 0.5, [labels[row] for row in shown])
    axes.invert_yaxis()
    axes.set(title=_words(found.metric.title), xlabel="step")


def _words(text: str) -> str:
    """A name of the user's model: a dollar sign in it would start a formula."""
    return clean(text).replace("$", r"\$")
