"""Traces: the spans of an execution, from its start to its delivery."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.model import Instant, Name, Part


class SpanKind(StrEnum):
    RUN = "run"
    MODEL = "model"
    TOOL = "tool"
    DELIVERY = "delivery"


class TraceSpan(Part):
    """One span. The names of span and attributes are those of OpenTelemetry's conventions for generative AI; what they
    don't name begins with `rota.`. `parent_id` is empty where no span came before, `error` null where none occurred."""

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
    """`found` is false if the team has no such execution. The first span is the run's own; its attempts at delivery
    aren't among them. `left_out`: spans beyond what an answer takes."""

    found: bool = True
    trace_id: str = ""
    spans: list[TraceSpan] = []
    left_out: int = 0
