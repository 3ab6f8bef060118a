"""The learner's ports without servers, held to the same tests as the real ones."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from learner.domain import Learnt
from learner.history import Decided, Past
from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.learning import Lesson
from rota_contracts.robot import Robot

Kept = TypeVar("Kept", Learnt, Past, Decided)


class SayingAgents:
    """Every agent says the same; `calls` is what was asked."""

    def __init__(self, content: str = "", *, error: str = "") -> None:
        self.content, self.error = content, error
        self.calls: list[CallAgent] = []

    async def answer(self, call: CallAgent) -> AgentAnswered:
        self.calls.append(call)
        return AgentAnswered(agent_id=call.assistant_id, content=self.content, error=self.error)


class DictLessons:
    def __init__(self) -> None:
        self._learnt: dict[str, Learnt] = {}

    async def find(self, execution_id: str) -> Learnt | None:
        return self._learnt.get(execution_id)

    async def save(self, learnt: Learnt) -> Learnt:
        return self._learnt.setdefault(learnt.execution_id, learnt)

    async def remove(self, execution_id: str) -> None:
        self._learnt.pop(execution_id, None)

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        self._learnt = _others(self._learnt, team, member, up_to_rev)


class DictHistory:
    def __init__(self) -> None:
        self._runs: dict[str, Past] = {}
        self._decided: dict[str, Decided] = {}

    async def add(self, run: Past) -> None:
        self._runs.setdefault(run.execution_id, run)

    async def completed(
        self, team: str, member: str, *, since: datetime, limit: int, without: str = ""
    ) -> Sequence[Past]:
        runs = [
            run
            for run in self._runs.values()
            if (run.team, run.member, run.status) == (team, member, "completed")
            and run.at >= since
            and run.execution_id != without
        ]
        return sorted(runs, key=lambda run: run.at, reverse=True)[:limit]

    async def decided(self, execution_id: str) -> Decided | None:
        return self._decided.get(execution_id)

    async def decide(self, decided: Decided) -> Decided:
        return self._decided.setdefault(decided.execution_id, decided)

    async def remove(self, execution_id: str) -> None:
        self._runs.pop(execution_id, None)
        self._decided.pop(execution_id, None)

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        self._runs = _others(self._runs, team, member, up_to_rev)
        self._decided = _others(self._decided, team, member, up_to_rev)


def _others(kept: dict[str, Kept], team: str, member: str, rev: int) -> dict[str, Kept]:
    """What isn't this robot's at this revision or before."""
    return {key: one for key, one in kept.items() if (one.team, one.member) != (team, member) or one.rev > rev}


class DictKnowledge:
    """Keeps lessons by id; a robot in `gone` keeps none."""

    def __init__(self) -> None:
        self.kept: dict[str, Lesson] = {}
        self.gone: set[tuple[str, str]] = set()

    async def remember(self, team: str, member: str, lessons: Sequence[Lesson]) -> int:
        if (team, member) in self.gone:
            return 0
        self.kept |= {lesson.id: lesson for lesson in lessons}
        return len(lessons)


class DictRobots:
    def __init__(self) -> None:
        self.robots: dict[tuple[str, str], Robot] = {}

    async def find(self, team: str, member: str) -> Robot | None:
        return self.robots.get((team, member))
