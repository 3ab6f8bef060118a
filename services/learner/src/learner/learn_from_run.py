"""Lessons from a finished run: taken from an agent's answer, saved, and given to the memory."""

from dataclasses import dataclass
from datetime import datetime

from learner.domain import DELETED, RunLessons, completed, failed, lessons_of, reason_to_skip, revision, skipped
from learner.ports import Agents, Knowledge, Lessons, Robots
from learner.prompts import learning_call
from learner.record_run import RecordRun
from rota_common.bus.publishing import Publish
from rota_common.json_text import extract_json
from rota_contracts.catalog import LEARNING_COMPLETED
from rota_contracts.envelope import Event
from rota_contracts.messages.learning import LearningCompletedV1, LearningRequestedV1


@dataclass(frozen=True, kw_only=True)
class LearnFromRun:
    """The result is saved before it is used: a second request for the same run finds it and changes nothing."""

    record: RecordRun
    agents: Agents
    lessons: Lessons
    knowledge: Knowledge
    robots: Robots
    publish: Publish
    timeout: float

    async def __call__(self, event: Event[LearningRequestedV1]) -> None:
        """The lessons' age is the event's, however often it is delivered."""
        await self.record(event.data, event.time)
        await self._publish(event, await self._result(event.data, event.time))

    async def give_up(self, event: Event[LearningRequestedV1], reason: str) -> None:
        """Publish that there are no lessons."""
        await self._publish(event, failed(event.data, reason))

    async def _publish(self, event: Event[LearningRequestedV1], fact: LearningCompletedV1) -> None:
        cause = fact.execution_id
        await self.publish(LEARNING_COMPLETED, fact, caused_by=cause, step="learning", trace=event.traceparent)

    async def _result(self, request: LearningRequestedV1, at: datetime) -> LearningCompletedV1:
        if reason := reason_to_skip(request):
            return skipped(request, reason)
        saved = await self.lessons.find(request.execution_id) or await self._learn(request, at)
        if saved is None:
            return skipped(request, DELETED)
        if not await self._remember(saved):
            await self.lessons.remove(request.execution_id)
            return skipped(request, DELETED)
        return completed(request, saved)

    async def _learn(self, request: LearningRequestedV1, at: datetime) -> RunLessons | None:
        """None when the robot is deleted."""
        rev = revision(await self.robots.find(request.team_id, request.member_id))
        if rev is None:
            return None
        answer = await self.agents.answer(learning_call(request, timeout=self.timeout))
        found = answer.response if isinstance(answer.response, dict) else extract_json(answer.content)
        return await self.lessons.save(lessons_of(request, answer, found, rev=rev, at=at))

    async def _remember(self, saved: RunLessons) -> bool:
        """Give the lessons to the memory. False if the robot was deleted meanwhile: nothing may remain then."""
        if saved.lessons and not await self.knowledge.remember(saved.team, saved.member, saved.lessons):
            return False
        await self._unlearn_forgotten(saved)
        return revision(await self.robots.find(saved.team, saved.member)) is not None

    async def _unlearn_forgotten(self, saved: RunLessons) -> None:
        """Lessons that a person had forgotten here before the memory got them must not remain there."""
        left = await self.lessons.find(saved.execution_id)
        gone = [lesson.id for lesson in saved.lessons if left is not None and lesson not in left.lessons]
        if gone:
            await self.knowledge.forget(saved.team, saved.member, ids=gone)
