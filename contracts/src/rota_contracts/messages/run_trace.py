"""Traces: the spans of an execution, from its trigger to its delivery."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.model import Instant, Name, Part


class SpanKind(StrEnum):
    RUN = "run"
    MODEL = "model"
    TOOL = "tool"
    DELIVERY = "delivery"


STAGE = "rota.stage"
"""The attribute of spans of kind `run` other than the run's own: a `Stage`."""


class Stage(StrEnum):
    """A stage of a run. A reader may meet one that it doesn't know, as it is an attribute's value: `SpanKind` doesn't
    grow, so that gateways and clients of before still read a trace."""

    TRIGGER = "trigger"
    QUEUE = "queue"
    PHASE = "phase"
    RECALL = "recall"
    TASK = "task"
    VALIDATION = "validation"
    PARKED = "parked"


class TraceSpan(Part):
    """One span. The names of span and attributes are those of OpenTelemetry's conventions for generative AI; what they
    don't name begins with `rota.`. `parent_id` is empty where no span came before, `error` null where none occurred.
    A stage of the run has the kind `run`, and the attribute `rota.stage`."""

    trace_id: str = Field(pattern="^[0-9a-f]{32}$")
    span_id: str = Field(pattern="^[0-9a-f]{16}$")
    parent_id: str = Field(default="", pattern="^([0-9a-f]{16})?$")
    name: str
    kind: SpanKind
    started_at: Instant
    ended_at: Instant
    error: str | None = None
    attributes: dict[str, bool | int | float | str] = {}


class ReadTrace(Part):
    """Request to the executor: the spans of an execution as it is stored, also of one that isn't over yet."""

    team_id: Name
    execution_id: str


class TraceReply(Part):
    """`found` is false if the team has no such execution. The first span is the run's own, which its trigger's is
    above; its attempts at delivery aren't among them. `left_out`: spans beyond what an answer takes."""

    found: bool = True
    trace_id: str = ""
    spans: list[TraceSpan] = []
    left_out: int = 0
