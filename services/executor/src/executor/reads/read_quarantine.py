"""Questions about the quarantine: a page of it, and one result with its output."""

from dataclasses import dataclass

from executor.domain import quarantine
from executor.domain.tasks.tasks import result_of
from executor.file_ports import Blobs
from executor.ports import RunQueries
from rota_common.page_cursor import parse_cursor
from rota_common.redaction import without_credentials
from rota_contracts.messages.quarantine import ListQuarantine, QuarantinePage, QuarantineReply, ReadQuarantined

OUTPUT_LIMIT = 100_000
"""Characters: a reply stays below a message's limit."""


@dataclass(frozen=True, kw_only=True)
class ReadQuarantine:
    runs: RunQueries
    blobs: Blobs

    async def page(self, request: ListQuarantine) -> QuarantinePage:
        """Raises Permanent if `after` is no cursor."""
        return await self.runs.quarantine(request, after=parse_cursor(request.after))

    async def one(self, request: ReadQuarantined) -> QuarantineReply:
        found = await self.runs.by_quarantined(request.quarantine_id)
        if found is None or found[0].execution.team_id != request.team_id:
            return QuarantineReply()
        run, _ = found
        result = quarantine.find(run, request.quarantine_id)
        kept = result_of(run, result.task_id) if result is not None else None
        output = await self.blobs.read(kept.output) if kept is not None and kept.output is not None else ""
        shown = without_credentials(output)
        return QuarantineReply(result=result, output=shown[:OUTPUT_LIMIT], cut=len(shown) > OUTPUT_LIMIT)
