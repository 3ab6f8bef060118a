"""The record that spans are made of, and the form that they have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from executor.domain.run import JournalEntry, Run
from executor.domain.spans.texts import preview
from rota_common.runtime import traces
from rota_contracts.messages.run_trace import SpanKind, TraceSpan
from rota_contracts.messages.usage import ModelCall

Values = dict[str, bool | int | float | str]
Times = tuple[datetime, datetime]


class Content(StrEnum):
    """The texts that spans show: none, the beginning of outputs, inputs too."""

    NONE = "none"
    PREVIEW = "preview"
    VERBOSE = "verbose"


@dataclass(frozen=True)
class Record:
    """A run with all of its journal. By an entry's place: what other agents' calls took (`asked`), and the text that
    its model wrote (`wrote`), as far as content is shown."""

    run: Run
    entries: Sequence[JournalEntry]
    asked: Mapping[int, Sequence[ModelCall]] = field(default_factory=dict)
    wrote: Mapping[int, str] = field(default_factory=dict)
    content: Content = Content.NONE

    @property
    def trace_id(self) -> str:
        return traces.trace_id(traces.continued(self.run.traceparent, cause=self.run.id))

    @property
    def began(self) -> datetime:
        return self.run.execution.started_at or self.run.execution.created_at

    @property
    def ended(self) -> datetime:
        """Its end, or how far it has come."""
        latest = max([entry.at for entry in self.entries], default=self.run.execution.created_at)
        return self.run.execution.finished_at or latest

    def span(
        self,
        kind: SpanKind,
        name: str,
        *place: str | int,
        times: Times,
        error: str | None = None,
        more: Values | None = None,
    ) -> TraceSpan:
        """A span below the run's own. Its id is made of its `place`, which no other span of the run has."""
        execution = self.run.execution
        owner: Values = {"rota.team_id": execution.team_id, "rota.member_id": execution.member_id}
        owner["rota.execution_id"] = self.run.id
        if error is not None:
            owner["error.type"] = "_OTHER"
        return TraceSpan(
            trace_id=self.trace_id,
            span_id=traces.span_id(self.run.id, *place),
            parent_id=traces.run_span(self.run.id),
            name=name,
            kind=kind,
            started_at=times[0],
            ended_at=max(times),
            error=None if error is None else preview(error),
            attributes=owner | (more or {}),
        )
