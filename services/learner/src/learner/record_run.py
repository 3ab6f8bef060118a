"""The history of runs: each finished run is kept for the deduplication of later goals."""

from dataclasses import dataclass
from datetime import datetime

from learner.domain import revision
from learner.history import ends_run, past_run
from learner.ports import History, Robots
from rota_contracts.messages.learning import LearningRequestedV1


@dataclass(frozen=True, kw_only=True)
class RecordRun:
    history: History
    robots: Robots

    async def __call__(self, request: LearningRequestedV1, at: datetime) -> None:
        """`at` is the instant of the request: a redelivered one changes nothing."""
        rev = revision(await self.robots.find(request.team_id, request.member_id))
        if rev is None or await self._did_nothing(request):
            return
        await self.history.add(past_run(request, rev=rev, at=at))
        if revision(await self.robots.find(request.team_id, request.member_id)) is None:
            await self.history.remove(request.execution_id)  # deleted meanwhile: nothing may remain

    async def _did_nothing(self, request: LearningRequestedV1) -> bool:
        """A run that was skipped, or gave its goals to another, has reached none itself: otherwise one skip would be
        the reason for the next, for ever. One with tasks went on after all."""
        decision = await self.history.decision(request.execution_id)
        return decision is not None and ends_run(decision.reply) and not request.summary.tasks
