"""A run is over: keep what the next one's goals are held against (SC-13)."""

from datetime import datetime

from learner.domain import revision
from learner.history import ends, past_run
from learner.ports import History, Robots
from rota_contracts.messages.learning import LearningRequestedV1


class RecordRun:
    def __init__(self, history: History, robots: Robots) -> None:
        self._history, self._robots = history, robots

    async def __call__(self, request: LearningRequestedV1, at: datetime) -> None:
        """`at` is the instant of the request: told twice, it is kept once, with the same age."""
        rev = revision(await self._robots.find(request.team_id, request.member_id))
        if rev is None or await self._did_nothing(request):
            return
        await self._history.add(past_run(request, rev=rev, at=at))
        if revision(await self._robots.find(request.team_id, request.member_id)) is None:
            await self._history.remove(request.execution_id)  # deleted meanwhile: nothing may remain

    async def _did_nothing(self, request: LearningRequestedV1) -> bool:
        """A run that was skipped, or gave its goals to another, has reached none itself: otherwise one skip would be
        the reason for the next, for ever. One with tasks went on after all."""
        decided = await self._history.decided(request.execution_id)
        return decided is not None and ends(decided.checked) and not request.summary.tasks
