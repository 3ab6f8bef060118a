"""The trace of an execution: its spans, made of what is stored, for a reader and for the export."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from executor.domain.conversation.chat import ModelReply
from executor.domain.run import JournalEntry, Run
from executor.domain.spans.record import Content, Record
from executor.domain.spans.trace import spans_of
from executor.file_ports import Blobs
from executor.ports import RunQueries
from executor.reads.read_steps import asked_of
from rota_common.runtime.logs import logger
from rota_common.spans.export_spans import ExportSpans
from rota_contracts.messages.run_trace import ReadTrace, SpanKind, TraceReply, TraceSpan

MOST_SPANS = 400
"""Spans of one answer, which stays below a message's limit: the run's stages go before its calls."""

LOG = logger(service="executor")
RUNS = 1000
"""Runs that are over and wait for the export of their spans."""


@dataclass(frozen=True, kw_only=True)
class ReadSpans:
    """All spans of a stored run, as far as it has come."""

    runs: RunQueries
    blobs: Blobs

    async def __call__(self, run: Run, content: Content) -> list[TraceSpan]:
        entries = await self.runs.journal(run.id)
        asked = {number: asked_of(entry) for number, entry in enumerate(entries)}
        wrote = {} if content is Content.NONE else await self._words(entries)
        return spans_of(Record(run, entries, asked, wrote, content))

    async def _words(self, entries: Sequence[JournalEntry]) -> dict[int, str]:
        wrote = {}
        for number, entry in enumerate(entries):
            if entry.said is not None:
                wrote[number] = ModelReply.model_validate_json(await self.blobs.read(entry.said)).text[:1000]
        return wrote


@dataclass(frozen=True, kw_only=True)
class AnswerTrace:
    runs: RunQueries
    read: ReadSpans

    async def __call__(self, request: ReadTrace) -> TraceReply:
        run = await self.runs.find(request.execution_id)
        if run is None or run.execution.team_id != request.team_id:
            return TraceReply(found=False)
        spans = await self.read(run, Content.PREVIEW)
        by_weight = sorted(spans, key=lambda span: span.kind is not SpanKind.RUN)
        kept = {span.span_id for span in by_weight[:MOST_SPANS]}
        shown = [span for span in spans if span.span_id in kept]
        return TraceReply(trace_id=spans[0].trace_id, spans=shown, left_out=len(spans) - len(shown))


@dataclass(frozen=True, kw_only=True)
class ExportRuns:
    """Runs that are over, one after the other, away from their workers. It remembers the last ones, since an end may be
    published again."""

    runs: RunQueries
    read: ReadSpans
    export: ExportSpans
    content: Content
    _waiting: deque[str] = field(init=False, default_factory=deque)
    _exported: deque[str] = field(init=False, default_factory=lambda: deque(maxlen=RUNS))

    def finished(self, run: Run) -> None:
        """A run has ended. Returns at once; with too many in the queue its spans are lost and counted as one."""
        if not self.export.on or run.id in self._waiting or run.id in self._exported:
            return
        if len(self._waiting) >= RUNS:
            self.export.lost(1, "full")
            return
        self._waiting.append(run.id)

    async def __call__(self) -> bool:
        """Offer the spans of one run; True if there are more. While the queue of spans is crowded runs wait here."""
        if not self._waiting or self.export.crowded:
            return False
        run_id = self._waiting.popleft()
        self._exported.append(run_id)
        try:
            run = await self.runs.find(run_id)
            self.export.offer(await self.read(run, self.content) if run is not None else ())
        except Exception as error:  # a trace is less than the service, which would not be ready
            LOG.warning("the spans of a run are lost", execution_id=run_id, reason=repr(error))
            self.export.lost(1, "unread")
        return bool(self._waiting)
