"""A run is over: ask what it teaches, save that, and let the memory know."""

from datetime import datetime

from learner.domain import DELETED, RunLessons, completed, learnt, reason_to_skip, revision, skipped
from learner.ports import Agents, Knowledge, Lessons, Robots
from learner.prompts import question
from rota_common.json_text import extract_json
from rota_contracts.messages.learning import LearningCompletedV1, LearningRequestedV1


class LearnFromRun:
    """The result is saved before it is used: a second request for the same run finds it and changes nothing."""

    def __init__(
        self, agents: Agents, lessons: Lessons, knowledge: Knowledge, robots: Robots, *, timeout: float
    ) -> None:
        self._agents, self._lessons, self._knowledge, self._robots = agents, lessons, knowledge, robots
        self._timeout = timeout

    async def __call__(self, request: LearningRequestedV1, at: datetime) -> LearningCompletedV1:
        """`at` is the instant of the request: asked twice, the lessons have the same age."""
        if reason := reason_to_skip(request):
            return skipped(request, reason)
        saved = await self._lessons.find(request.execution_id) or await self._learn(request, at)
        if saved is None:
            return skipped(request, DELETED)
        if not await self._kept(saved):
            await self._lessons.remove(request.execution_id)
            return skipped(request, DELETED)
        return completed(request, saved)

    async def _learn(self, request: LearningRequestedV1, at: datetime) -> RunLessons | None:
        """None when the robot is deleted: nobody needs its lessons."""
        rev = revision(await self._robots.find(request.team_id, request.member_id))
        if rev is None:
            return None
        answer = await self._agents.answer(question(request, timeout=self._timeout))
        found = answer.response if isinstance(answer.response, dict) else extract_json(answer.content)
        return await self._lessons.save(learnt(request, answer, found, rev=rev, at=at))

    async def _kept(self, saved: RunLessons) -> bool:
        """Let the memory keep the lessons. False if the robot was deleted while we learnt: nothing may remain then."""
        if saved.lessons and not await self._knowledge.remember(saved.team, saved.member, saved.lessons):
            return False
        return revision(await self._robots.find(saved.team, saved.member)) is not None
