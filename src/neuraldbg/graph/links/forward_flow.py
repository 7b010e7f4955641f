"""Data flows forward: what a module gives, the modules behind it read.

An activation event accounts for one at a module that its output reaches, in the same step or soon after, when the
one state can make the other: NaN makes NaN, large values saturate and overflow, units that are off or at their
bounds pass on no differences between samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import is_activation, layers_of, link, reach, still_acts
from neuraldbg.measures.flow import flow_of
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

#: State at the source → states that it can make at what reads it, with how surely it does.
MAKES: Mapping[str, Mapping[str, float]] = {
    "non_finite": {"non_finite": 1.0},
    "exploding": {"exploding": 0.9, "saturated": 0.9, "non_finite": 0.9, "dead": 0.6, "collapsed": 0.4},
    "vanishing": {"vanishing": 0.9, "collapsed": 0.9, "dead": 0.4},
    "dead": {"dead": 0.7, "vanishing": 0.9, "collapsed": 0.9},
    "saturated": {"saturated": 0.6, "vanishing": 0.7, "collapsed": 0.7},
    "collapsed": {"collapsed": 0.95, "vanishing": 0.7, "dead": 0.4},
}


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    flow, window = flow_of(run), reach(run.trace.steps)
    places = [(index, event) for index, event in enumerate(events) if is_activation(event) and event.layer is not None]
    for source, one in places:
        makes, covered = MAKES.get(one.to_state, {}), layers_of(one)
        for target, other in places:
            if source == target or other.to_state not in makes or not still_acts(one, other, window):
                continue
            # The same layer: a state that turns into another, dead units into a prediction without differences.
            same = one.layer == other.layer and one.to_state != other.to_state
            if same or flow.reached_from(covered, other.layer):
                yield link(source, target, events, "forward_flow", window, makes[other.to_state])
