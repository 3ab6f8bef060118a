"""The learner's use cases over adapters in memory."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from learner.adapters.in_memory import (
    InMemoryHistory,
    InMemoryKnowledge,
    InMemoryLessons,
    InMemoryRobots,
    ScriptedAgents,
)
from learner.decide_on_goals import DecideOnGoals
from learner.forget_old import ForgetOld
from learner.forget_robot import ForgetRobot
from learner.learn_from_run import LearnFromRun
from learner.ports import Agents, History, Knowledge
from learner.record_run import RecordRun
from rota_contracts.catalog import LEARNING_REQUESTED, ROBOT_DELETED
from rota_contracts.envelope import Event
from rota_contracts.messages.learning import CheckGoals, GoalsReply, LearningCompletedV1, LearningRequestedV1
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
GOALS = "## Goals\n1. Report the week's leads"
WELL = {
    "role": "Lead processor",
    "trigger": "event lead.created",
    "status": "completed",
    "goals": "Score the lead",
    "tasks": [{"description": "score it", "status": "completed", "output": "91/100"}],
    "delivered": "HOT: Acme",
}


class Learner:
    """All use cases over one set of adapters; `answer` is every agent's, `now` the clock of `forget_old`."""

    def __init__(
        self,
        answer: Any = "",
        *,
        error: str = "",
        lessons: InMemoryLessons | None = None,
        history: InMemoryHistory | None = None,
    ) -> None:
        self.agents = ScriptedAgents(answer if isinstance(answer, str) else json.dumps(answer), error=error)
        self.lessons, self.history = lessons or InMemoryLessons(), history or InMemoryHistory()
        self.knowledge, self.robots = InMemoryKnowledge(), InMemoryRobots()
        self.now = NOON
        self.robot(1)

    def robot(self, rev: int = 1, member: str = "leads", *, deleted: bool = False, keep: int = 0) -> None:
        """Save the robot's definition."""
        config = {"identity": {"role": "x"}, "learn": {"keep": keep}}
        names = {"team_id": "acme", "member_id": member}
        definition = {**names, "rev": rev, "deleted": deleted, "robot_config": config}
        self.robots.robots["acme", member] = Robot.model_validate(definition)

    async def learn(
        self, *, knowledge: Knowledge | None = None, at: datetime = NOON, **fields: Any
    ) -> LearningCompletedV1:
        """The fact about a run."""
        published: list[LearningCompletedV1] = []

        async def publish(channel: Any, fact: LearningCompletedV1, **_: Any) -> None:
            published.append(fact)

        use = LearnFromRun(
            record=RecordRun(history=self.history, robots=self.robots),
            agents=self.agents,
            lessons=self.lessons,
            knowledge=knowledge or self.knowledge,
            robots=self.robots,
            publish=publish,  # type: ignore[arg-type]  # a stand-in
            timeout=60,
        )
        given = {"team_id": "acme", "member_id": "leads", "execution_id": "e1", "summary": WELL} | fields
        request = LearningRequestedV1.model_validate(given)
        await use(Event(id="1", type=LEARNING_REQUESTED.type, source="executor", time=NOON, data=request))
        (fact,) = published
        return fact

    async def ran(self, execution_id: str = "e1", *, at: datetime = NOON - HOUR, **summary: Any) -> None:
        """Record a finished run."""
        run = {"role": "seller", "trigger": "clock", "status": "completed", "goals": GOALS, "delivered": "7 leads"}
        given = {"team_id": "acme", "member_id": "leads", "execution_id": execution_id, "summary": run | summary}
        await RecordRun(history=self.history, robots=self.robots)(LearningRequestedV1.model_validate(given), at)

    async def check(
        self,
        execution_id: str = "e2",
        *,
        agents: Agents | None = None,
        history: History | None = None,
        **fields: Any,
    ) -> GoalsReply:
        """The decision over new goals."""
        use = DecideOnGoals(
            agents=agents or self.agents, history=history or self.history, robots=self.robots, timeout=45
        )
        given = {"team_id": "acme", "member_id": "leads", "execution_id": execution_id, "goals": GOALS}
        return await use(CheckGoals.model_validate({"window_s": 86400, "asked_at": NOON} | given | fields))

    async def forget_robot(self, rev: int) -> None:
        fact = RobotDeletedV1(team_id="acme", member_id="leads", rev=rev)
        event = Event(id="2", type=ROBOT_DELETED.type, source="trigger-gateway", time=NOON, data=fact)
        await ForgetRobot(lessons=self.lessons, history=self.history)(event)

    async def forget_old(self, *, knowledge: Knowledge | None = None) -> None:
        await ForgetOld(
            lessons=self.lessons,
            history=self.history,
            knowledge=knowledge or self.knowledge,
            robots=self.robots,
            clock=lambda: self.now,
        )()
