"""Decisions about quarantined results, published: the fact of each, and the request to deliver a released one."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from executor.domain import quarantine
from executor.domain.conversation.made_files import attachments_of
from executor.domain.delivery_request import request_of
from executor.domain.run import Run
from executor.domain.tasks.tasks import result_of
from executor.domain.texts import owner_of
from executor.file_ports import Blobs
from rota_common.bus.publishing import Publish
from rota_common.redaction import without_credentials
from rota_contracts import catalog
from rota_contracts.messages.delivery import DeliveryContent, DeliveryRequestedV1
from rota_contracts.messages.quarantine import Quarantined, QuarantineDecidedV1, QuarantineStatus
from rota_contracts.messages.text import Text
from rota_contracts.model import Payload


@dataclass(frozen=True, kw_only=True)
class AnnounceDecisions:
    """Safe to repeat: the ids derive from the result, and the delivery-center delivers each request once.

    `known_secrets`: the values of a team's secrets that were read here.
    """

    publish: Publish
    blobs: Blobs
    known_secrets: Callable[[str], Collection[str]]

    async def __call__(self, run: Run) -> None:
        """Publish all decisions of this run."""
        execution = run.execution
        for result in quarantine.decided(run):
            fact = QuarantineDecidedV1(team_id=execution.team_id, member_id=execution.member_id, result=result)
            await self._publish(catalog.QUARANTINE_DECIDED, fact, run, result)
            if result.status is QuarantineStatus.RELEASED:
                await self._publish(catalog.DELIVERY_REQUESTED, await self._delivery(run, result), run, result)

    async def _publish(self, channel: catalog.Channel[Any], fact: Payload, run: Run, result: Quarantined) -> None:
        await self.publish(channel, fact, caused_by=run.id, step=result.quarantine_id, trace=run.traceparent)

    async def _delivery(self, run: Run, result: Quarantined) -> DeliveryRequestedV1:
        """The task's output is the whole report: no agent writes about a result that it wasn't to see."""
        found = result_of(run, result.task_id)
        if found is None or found.output is None:
            raise AssertionError("a result in quarantine has an output")
        content = DeliveryContent(
            summary=result.task or f"task {result.task_id}",
            body=await self._body(run, found.output),
            attachments=attachments_of(found),
        )
        by = result.decided_by
        return request_of(run, quarantine.delivery_id(result), content, score=result.score, released_by=by)

    async def _body(self, run: Run, output: Text) -> Text:
        whole = await self.blobs.read(output)
        shown = without_credentials(whole, self.known_secrets(run.execution.team_id))
        return output if shown == whole else await self.blobs.keep(shown, owner=owner_of(run))
