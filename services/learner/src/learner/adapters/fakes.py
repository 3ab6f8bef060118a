"""The learner's ports without servers, held to the same tests as the real ones."""

from collections.abc import Sequence

from learner.domain import Learnt
from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.learning import Lesson
from rota_contracts.robot import Robot


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
        self._learnt = {
            key: one
            for key, one in self._learnt.items()
            if (one.team, one.member) != (team, member) or one.rev > up_to_rev
        }


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
