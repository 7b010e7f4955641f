"""The vocabulary that the stages exchange: frozen, and free of torch."""

from neuraldbg.records.diagnosis import OUTCOMES, CausalLink, CoupledFailure, Diagnosis, Symptom
from neuraldbg.records.event import EVENT_TYPES, STATES, SemanticEvent
from neuraldbg.records.hypothesis import FAILURE_TYPES, CausalHypothesis, Explanations, Finding
from neuraldbg.records.observation import PLACE_KINDS, Fact, FlowEdge, Observation, Place
from neuraldbg.records.trace import Block, Series, Trace
from neuraldbg.records.verdict import VERDICTS, Verdict, Verification

__all__ = [
    "EVENT_TYPES",
    "FAILURE_TYPES",
    "OUTCOMES",
    "PLACE_KINDS",
    "STATES",
    "VERDICTS",
    "Block",
    "CausalHypothesis",
    "CausalLink",
    "CoupledFailure",
    "Diagnosis",
    "Explanations",
    "Fact",
    "Finding",
    "FlowEdge",
    "Observation",
    "Place",
    "SemanticEvent",
    "Series",
    "Symptom",
    "Trace",
    "Verdict",
    "Verification",
]
