"""The decision about a result in quarantine: released or dropped, once."""

from dataclasses import dataclass
from datetime import timedelta

from executor.domain import journal, quarantine
from executor.domain.quarantine import STATUS_AFTER, Decided
from executor.domain.run import Run
from executor.ports import Fenced, Runs
from executor.runs.announce_decisions import AnnounceDecisions
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_contracts.messages.quarantine import DecideQuarantined, Quarantined, QuarantineReply, QuarantineStatus

TRIES = 10
"""Each is lost to another decision about the same run."""

LOG = logger(service="executor")


@dataclass(frozen=True, kw_only=True)
class DecideQuarantinedResult:
    """The decision is stored before it is published. What a crash leaves unpublished, the sweeper publishes after
    `patience`."""

    runs: Runs
    announce: AnnounceDecisions
    clock: Clock
    patience: timedelta

    async def __call__(self, request: DecideQuarantined) -> QuarantineReply:
        """The first decision counts; a repeat publishes nothing."""
        for _ in range(TRIES):
            found = await self.runs.by_quarantined(request.quarantine_id)
            if found is None or found[0].execution.team_id != request.team_id:
                return QuarantineReply()
            run, epoch = found
            before = quarantine.find(run, request.quarantine_id)
            if before is None:
                return QuarantineReply()
            if before.status is not QuarantineStatus.HELD:
                return _decided_before(before, request)
            decided = Decided(**request.model_dump(include=set(Decided.model_fields)))
            try:
                after = await self.runs.release(
                    journal.record_decided(run, decided, now=self.clock()), epoch, check_in=self.patience
                )
            except Fenced:
                continue
            await self._announced(after)
            return QuarantineReply(result=quarantine.find(after, request.quarantine_id))
        raise Transient("other results of this run are being decided about")

    async def _announced(self, run: Run) -> None:
        """The decision counts whether or not it can be published now."""
        LOG.info("quarantine decided", execution_id=run.id, results=[_shown(each) for each in quarantine.decided(run)])
        try:
            await self.announce(run)
        except Exception as error:  # the sweeper tries again
            LOG.exception(
                "a decision about the quarantine isn't published yet", execution_id=run.id, reason=repr(error)
            )
            return
        await self.runs.mark_announced(run.id, decided=len(quarantine.decided(run)))


def _decided_before(before: Quarantined, request: DecideQuarantined) -> QuarantineReply:
    if before.status is STATUS_AFTER[request.decision]:
        return QuarantineReply(result=before, repeated=True)
    text = f"this result was {before.status} before, by {before.decided_by}: the first decision counts"
    return QuarantineReply(result=before, refused=text)


def _shown(result: Quarantined) -> str:
    return f"{result.quarantine_id} {result.status} by {result.decided_by}, score {result.score:g}"
