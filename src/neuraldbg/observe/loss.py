"""The loss: its value at every backward, its structure, its terms, and the losses of evaluation."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Hashable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from neuraldbg.observe import autograd, forensics, kernels, source
from neuraldbg.observe.autograd import Node
from neuraldbg.observe.loss_structure import LIBRARY_LOSSES, Term, describe, read_structure
from neuraldbg.observe.losses_alone import LossesAlone
from neuraldbg.observe.quantities import data_flow
from neuraldbg.observe.quantities.losses import ClassHistogram, measure_term
from neuraldbg.observe.watched import Watched

if TYPE_CHECKING:
    from neuraldbg.observe.forward import ForwardObserver
    from neuraldbg.observe.recorder import Recorder
    from neuraldbg.observe.rounds import Rounds

#: A loss above this many times the running median looks like a spike and is worth a closer look.
_SPIKE = 3.0
#: Activation and domain sites measured per step.
_SITES = 400


class LossObserver:
    """One per session; keeps the loss scale, the streams of losses, and the class histogram."""

    def __init__(self, recorder: Recorder, watched: Watched, forward: ForwardObserver) -> None:
        self._recorder = recorder
        self._watched = watched
        self._forward = forward
        #: Line that calls backward → place of its losses.
        self.streams: dict[Hashable, int] = {}
        self._stream_names: dict[Hashable, str] = {}
        self.recent: deque[float] = deque(maxlen=25)
        self._structures: dict[str, str] = {}
        self._flows: set[str] = set()
        self._histograms: dict[str, ClassHistogram] = {}
        self._histogram_due = 1
        self._scaler: Any = None
        #: The factor by which the loss of this step is multiplied before its backward.
        self.scale = 1.0
        self._unscaled: set[int] = set()
        self._current = "loss"
        self._hazards: list[data_flow.Site] = []
        self._hazard_places: list[tuple[str, int]] = []
        self._evaluations = 0
        self.alone = LossesAlone(recorder)
        #: Losses above it are looked at: they jump.
        self.level = math.inf
        self._level_age = 0

    # scale -------------------------------------------------------------------------------------------------------

    def scaled_by(self, scaler: Any, step: int) -> None:
        self._scaler = scaler
        if scaler.is_enabled():
            scale = float(scaler.get_scale())
            if scale != self.scale:
                place = self._recorder.place("run", "scaler")
                self._recorder.observe("scaler.scale", step, place, scale)
            self.scale = scale
            self._unscaled.clear()

    def unscaled(self, optimizer: Any) -> None:
        self._unscaled.add(id(optimizer))

    def is_unscaled(self, optimizer: Any) -> bool:
        """Whether the user has called ``unscale_`` in this round."""
        return id(optimizer) in self._unscaled

    def unscales_in_step(self, optimizer: Any) -> None:
        """GradScaler.step unscales by itself where unscale_ was not called."""
        self._recorder.add(
            "scaler.unscaled_by_hand", self._recorder.place("run", "scaler"), float(id(optimizer) in self._unscaled)
        )

    def scale_at(self, optimizer: Any) -> float:
        """The factor that an optimizer's gradients carry now."""
        return 1.0 if id(optimizer) in self._unscaled else self.scale

    # value -------------------------------------------------------------------------------------------------------

    def value(self, root: Tensor, place: Hashable, frame: FrameType | None, step: int) -> float | None:
        """Record the loss of a backward; its value when reading it does not wait for a device."""
        if root.numel() != 1 or root.is_complex() or root.is_meta:
            return None
        stream = self.streams.get(place)
        if stream is None:
            name = "loss" if not self.streams else f"loss{len(self.streams) + 1}"
            details = {"source": source.location(frame), "function": frame.f_code.co_name if frame else None}
            stream = self.streams[place] = self._recorder.place("loss", name, details)
            self._stream_names[place] = name
        self._current = self._stream_names[place]
        if not root.is_cpu:
            self._recorder.add("loss.value", stream, kernels.local(root).detach().reshape(()).float() / self.scale)
            return None
        value: float = kernels.local(root).item() / self.scale
        stored = math.inf if value != value else value
        self._recorder.add("loss.value", stream, stored)
        if -math.inf < value < math.inf:
            self.recent.append(value)
        return value

    def comes_from(self, place: Hashable) -> None:
        """A backward from a known line begins, whose loss was recorded by somebody else."""
        self._current = self._stream_names[place]

    def look_up_level(self) -> None:
        """What counts as a jump, by the running median."""
        self._level_age = 0
        middle = statistics.median(self.recent) if len(self.recent) >= 10 else 0.0
        self.level = _SPIKE * middle if middle > 0 else math.inf

    def is_spike(self, value: float) -> bool:
        """Whether a loss is far above the running median; the median is looked up again every few steps."""
        self._level_age += 1
        if self._level_age >= 8 or value > self.level:
            self.look_up_level()
        return value > self.level

    # structure ---------------------------------------------------------------------------------------------------

    def structure(self, roots: list[Tensor], step: int, full: bool) -> None:
        """Read the graph of this step: terms of the loss; with module outputs known (``full``) also the data flow,
        activations and domains."""
        nodes = [root.grad_fn for root in roots if root.grad_fn is not None]
        if not nodes or self._forward.saved_tensors_hooked:
            self._terms_only(nodes, step) if nodes else None
            return
        if not full:
            self._light(nodes[0])
            return
        owners = self._forward.owners
        edges, sites, complete = data_flow.trace_flow(nodes, owners, self._watched.has_parameters)
        self._note_flow(edges, step, complete)
        terms = self._terms(nodes[0], step)
        self._measure_sites(sites, terms)

    def _terms_only(self, nodes: list[Node], step: int) -> None:
        self._terms(nodes[0], step, measure=False)

    def _light(self, root: Node) -> None:
        """Predictions and targets of the library's losses, whose saved tensors need no module hook."""
        known = set(self._structures)
        if self._current not in known:
            return
        for index, term in enumerate(read_structure(root, lambda node: False, limit=60)):
            name = self._current if index == 0 else f"{self._current}.{index}"
            if term.kind not in LIBRARY_LOSSES.values() or not self._recorder.knows("loss", name):
                continue
            histogram = self._histograms.setdefault(name, ClassHistogram())
            measure_term(self._recorder.pending, self._recorder.place("loss", name), term, lambda node: None, histogram)

    def _terms(self, root: Node, step: int, measure: bool = True) -> list[Term]:
        owners = self._forward.owners
        terms = read_structure(root, lambda node: node in owners)
        for term in terms:
            # A loss scaler multiplies the root; that factor is not the user's.
            term.factor /= self.scale
        described = []
        for index, term in enumerate(terms):
            name = self._current if index == 0 else f"{self._current}.{index}"
            place = self._recorder.place("loss", name)
            if term.prediction is not None:
                owner = owners.get(term.prediction)
                if owner is None:
                    below = autograd.skip_rearranging(term.prediction)
                    owner = owners.get(below)
                term.extra["producer"] = owner[0] if owner else self._producer_below(term.prediction)
                term.extra["producers"] = list(owner) if owner else []
                term.extra["chain_modules"] = self._chain_modules(term)
            if measure:
                histogram = self._histograms.setdefault(name, ClassHistogram())
                measure_term(self._recorder.pending, place, term, self._forward.value_of, histogram)
            described.append(describe(term))
        # Shapes change with the batch; what the structure is does not.
        signature = repr(
            [(d["kind"], d["sign"], d["reduction"], d["chain"], d["broadcasts"], d.get("producer")) for d in described]
        )
        if self._structures.get(self._current) != signature and len(self._structures) < 200:
            self._structures[self._current] = signature
            place = self._recorder.place("loss", self._current)
            self._recorder.fact("loss.structure", step, place, {"terms": described, "stream": self._current})
        if step >= self._histogram_due:
            self._histogram_due = step * 2 + 10
            self._write_histograms(step)
        return terms

    def _producer_below(self, node: Node) -> str | None:
        return forensics.owner_below(node, self._forward.owners)

    def _chain_modules(self, term: Term) -> list[str | None]:
        """For each output activation, the module that computes it, None for a functional one."""
        owners = self._forward.owners
        found: list[str | None] = []
        below = autograd.children(term.node)
        node = below[0] if below else None
        wanted = list(term.chain)
        while node is not None and wanted:
            if autograd.operation(node) == wanted[0]:
                wanted.pop(0)
                paths = owners.get(node)
                found.append(paths[0] if paths else None)
            below = autograd.children(node)
            node = below[0] if len(below) == 1 else None
        return found

    def _note_flow(self, edges: list[tuple[str, str, list[str]]], step: int, complete: bool) -> None:
        signature = repr(sorted((source_, target) for source_, target, _ in edges))
        if signature in self._flows or len(self._flows) >= 8:
            return
        self._flows.add(signature)
        data = {"edges": [list(edge) for edge in edges], "complete": complete, "stream": self._current}
        self._recorder.fact("model.flow", step, None, data)

    def _measure_sites(self, sites: list[data_flow.Site], terms: list[Term]) -> None:
        counts: dict[tuple[str, str], int] = {}
        self._hazards, self._hazard_places = [], []
        for site in sites[:_SITES]:
            producer = site.producer or ""
            key = (producer, site.operation)
            counts[key] = counts.get(key, 0) + 1
            if counts[key] > 2:
                continue
            name = f"{producer}:{site.operation}" + (f"#{counts[key]}" if counts[key] > 1 else "")
            details = {"operation": site.operation, "module": site.module, "producer": site.producer}
            place = self._recorder.place("activation", name, details)
            data_flow.measure_site(self._recorder.pending, place, site)
            if site.operation in data_flow.DOMAINS:
                self._hazard_places.append((name, place))

    def hazards(self) -> list[str]:
        """Names of the domain operations of the last observed graph."""
        return [name for name, _ in self._hazard_places]

    # evaluation --------------------------------------------------------------------------------------------------

    def evaluation(self, name: str, result: Any, frame: FrameType | None, step: int) -> None:
        if not isinstance(result, Tensor) or result.numel() != 1 or not result.is_floating_point():
            return
        where = source.location(frame) or name
        place = self._recorder.place("evaluation", f"{name} at {where}", {"source": where})
        value = result.detach().reshape(()).float()
        self._recorder.add("evaluation.loss", place, value)
        self._evaluations += 1

    def recorded(self, loss: Any, frame: FrameType | None, rounds: Rounds) -> None:
        """A loss that the user hands over; one that can be differentiated is known already, once backwards are seen."""
        value = kernels.local(loss).detach() if isinstance(loss, Tensor) else torch.tensor(float(loss))
        if value.numel() != 1:
            raise ValueError(f"record_loss expects one number, found shape {tuple(value.shape)}; reduce it first")
        differentiable = isinstance(loss, Tensor) and loss.requires_grad
        where = source.location(frame) or "recorded"
        without_gradients = not torch.is_grad_enabled()
        if not rounds.seen_anything:
            self.alone.keep(where, float(value), without_gradients, differentiable, rounds)
            return
        self.alone.settle(rounds)
        if differentiable and rounds.backwards:
            return
        kind = "evaluation" if without_gradients else "loss"
        place = self._recorder.place(kind, f"recorded at {where}", {"source": where, "recorded": True})
        self._recorder.add(
            "evaluation.loss" if kind == "evaluation" else "loss.value", place, value.reshape(()).float()
        )

    def _write_histograms(self, step: int) -> None:
        for name, histogram in self._histograms.items():
            if histogram.targets:
                self._recorder.fact("target.histogram", step, self._recorder.place("loss", name), histogram.data())

    def finish(self, step: int) -> None:
        self._write_histograms(step)
