"""The learner's ports in dictionaries, held to the same tests as the real ones."""

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from learner.domain import AgedRobot, RunLessons, without
from learner.history import GoalsDecision, PastRun
from learner.ports import Adapters, Agents
from rota_common.page_cursor import PageCursor
from rota_common.testing.in_memory_stores import InMemoryTeamDocuments
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.usage import ModelCall
from rota_contracts.robots.robot import Robot

Kept = TypeVar("Kept", RunLessons, PastRun, GoalsDecision)


class ScriptedAgents:
    """Every agent returns the same answer, which took `call`; `calls` are all calls."""

    def __init__(self, content: str = "", *, error: str = "") -> None:
        self.content, self.error = content, error
        self.calls: list[CallAgent] = []
        self.call: ModelCall | None = None

    async def answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        return AgentReply(agent_id=call.assistant_id, content=self.content, error=self.error, call=self.call)


class InMemoryLessons:
    def __init__(self) -> None:
        self._lessons: dict[str, RunLessons] = {}

    async def find(self, execution_id: str) -> RunLessons | None:
        return self._lessons.get(execution_id)

    async def save(self, lessons: RunLessons) -> RunLessons:
        return self._lessons.setdefault(lessons.execution_id, lessons)

    async def remove(self, execution_id: str) -> None:
        self._lessons.pop(execution_id, None)

    async def page(
        self, team: str, member: str, *, scope: str | None = None, limit: int, after: PageCursor | None = None
    ) -> Sequence[RunLessons]:
        found = [one for one in self._with_lessons(team, member, scope) if after is None or _place(one) < after]
        return sorted(found, key=_place, reverse=True)[:limit]

    async def forget(
        self, team: str, member: str, *, ids: Sequence[str] | None = None, scope: str | None = None
    ) -> int:
        before = self._with_lessons(team, member, scope)
        after = [without(one, ids) for one in before]
        self._lessons |= {one.execution_id: one for one in after}
        return sum(len(one.lessons) for one in before) - sum(len(one.lessons) for one in after)

    def _with_lessons(self, team: str, member: str, scope: str | None) -> list[RunLessons]:
        theirs = [one for one in self._lessons.values() if (one.team, one.member) == (team, member) and one.lessons]
        return [one for one in theirs if scope in (None, one.lessons[0].scope)]

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        self._lessons = _others(self._lessons, team, member, up_to_rev)

    async def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        for found in _aged(self._lessons.values(), before):
            yield found

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        return _remove_before(self._lessons, team, member, before)


class InMemoryHistory:
    def __init__(self) -> None:
        self._runs: dict[str, PastRun] = {}
        self._decisions: dict[str, GoalsDecision] = {}

    async def add(self, run: PastRun) -> None:
        self._runs.setdefault(run.execution_id, run)

    async def completed(
        self, team: str, member: str, *, since: datetime, limit: int, without: str = ""
    ) -> Sequence[PastRun]:
        runs = [
            run
            for run in self._runs.values()
            if (run.team, run.member, run.status) == (team, member, "completed")
            and run.at >= since
            and run.execution_id != without
        ]
        return sorted(runs, key=lambda run: run.at, reverse=True)[:limit]

    async def decision(self, execution_id: str) -> GoalsDecision | None:
        return self._decisions.get(execution_id)

    async def save_decision(self, decision: GoalsDecision) -> GoalsDecision:
        return self._decisions.setdefault(decision.execution_id, decision)

    async def confirm(self, decision: GoalsDecision) -> GoalsDecision:
        known = self._decisions.get(decision.execution_id)
        if known is None or known.sure:
            return known or decision
        self._decisions[decision.execution_id] = decision
        return decision

    async def remove(self, execution_id: str) -> None:
        self._runs.pop(execution_id, None)
        self._decisions.pop(execution_id, None)

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        self._runs = _others(self._runs, team, member, up_to_rev)
        self._decisions = _others(self._decisions, team, member, up_to_rev)

    async def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        for found in _aged([*self._runs.values(), *self._decisions.values()], before):
            yield found

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        return _remove_before(self._runs, team, member, before) + _remove_before(self._decisions, team, member, before)


def _place(one: RunLessons) -> PageCursor:
    return PageCursor(one.at, one.execution_id)


def _others(kept: dict[str, Kept], team: str, member: str, rev: int) -> dict[str, Kept]:
    """All but the documents of this robot up to this revision."""
    return {key: one for key, one in kept.items() if (one.team, one.member) != (team, member) or one.rev > rev}


def _aged(kept: Iterable[RunLessons | PastRun | GoalsDecision], before: datetime) -> list[AgedRobot]:
    oldest: dict[tuple[str, str], datetime] = {}
    for one in kept:
        if one.at < before:
            owner = (one.team, one.member)
            oldest[owner] = min(one.at, oldest.get(owner, one.at))
    return [AgedRobot(*owner, at) for owner, at in oldest.items()]


def _remove_before(kept: dict[str, Kept], team: str, member: str, before: datetime) -> int:
    old = [key for key, one in kept.items() if (one.team, one.member) == (team, member) and one.at < before]
    return len([kept.pop(key) for key in old])


class InMemoryKnowledge:
    """Keeps lessons by id; a robot in `gone` keeps none."""

    def __init__(self) -> None:
        self.kept: dict[str, Lesson] = {}
        self._of: dict[str, tuple[str, str]] = {}
        self.gone: set[tuple[str, str]] = set()

    async def remember(self, team: str, member: str, lessons: Sequence[Lesson]) -> int:
        if (team, member) in self.gone:
            return 0
        self.kept |= {lesson.id: lesson for lesson in lessons}
        self._of |= {lesson.id: (team, member) for lesson in lessons}
        return len(lessons)

    async def forget(
        self,
        team: str,
        member: str,
        *,
        before: datetime | None = None,
        ids: Sequence[str] | None = None,
        scope: str | None = None,
    ) -> int:
        theirs = [
            key
            for key, lesson in self.kept.items()
            if self._of[key] == (team, member)
            and (before is None or lesson.learnt_at < before)
            and (ids is None or key in ids)
            and scope in (None, lesson.scope)
        ]
        return len([self.kept.pop(key) for key in theirs])


class InMemoryRobots:
    def __init__(self) -> None:
        self.robots: dict[tuple[str, str], Robot] = {}

    async def find(self, team: str, member: str) -> Robot | None:
        return self.robots.get((team, member))


def in_memory(
    *,
    agents: Agents | None = None,
    lessons: InMemoryLessons | None = None,
    history: InMemoryHistory | None = None,
    knowledge: InMemoryKnowledge | None = None,
    robots: InMemoryRobots | None = None,
) -> Adapters:
    return Adapters(
        agents=agents or ScriptedAgents(),
        lessons=lessons or InMemoryLessons(),
        history=history or InMemoryHistory(),
        knowledge=knowledge or InMemoryKnowledge(),
        robots=robots or InMemoryRobots(),
        team_documents=InMemoryTeamDocuments(),
    )
