"""What the learner needs of the outside world."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from learner.domain import AgedRobot, RunLessons
from learner.history import GoalsDecision, PastRun
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.learning import Lesson
from rota_contracts.robots.robot import Robot


class Agents(Protocol):
    """The agents, which live in the executor."""

    async def answer(self, call: CallAgent) -> AgentReply:
        """Raises Transient when the executor can't be reached, Permanent when it refuses the call."""
        ...


class Lessons(Protocol):
    """What each run taught, by the run's id."""

    async def find(self, execution_id: str) -> RunLessons | None: ...

    async def save(self, learnt: RunLessons) -> RunLessons:
        """Save it, unless there is one for this run: the first one wins, and is returned."""
        ...

    async def remove(self, execution_id: str) -> None: ...

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        """Remove all that was learnt from this robot's runs at this revision and before."""
        ...

    def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        """The robots with something from before that instant, each once."""
        ...

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        """Remove what was learnt from this robot's runs before that instant; of how many runs there was something."""
        ...


class History(Protocol):
    """The runs that are over and the decisions over goals, by the run's id; each is kept for KEEP_DAYS."""

    async def add(self, run: PastRun) -> None:
        """Keep it, unless it is kept already."""
        ...

    async def completed(
        self, team: str, member: str, *, since: datetime, limit: int, without: str = ""
    ) -> Sequence[PastRun]:
        """This robot's completed runs from `since` on, newest first, without that one."""
        ...

    async def decided(self, execution_id: str) -> GoalsDecision | None: ...

    async def decide(self, decided: GoalsDecision) -> GoalsDecision:
        """Keep it, unless there is one for this run: the first one wins, and is returned."""
        ...

    async def settle(self, decided: GoalsDecision) -> GoalsDecision:
        """Put it in place of one for this run that isn't sure; if that was done already, the first wins. Returns what
        holds."""
        ...

    async def remove(self, execution_id: str) -> None:
        """The run and what was decided over its goals."""
        ...

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        """Remove all of this robot's runs and decisions at this revision and before."""
        ...

    def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        """The robots with something from before that instant; one may come twice."""
        ...

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        """Remove this robot's runs and decisions from before that instant; how many there were."""
        ...


class Knowledge(Protocol):
    """The memory service."""

    async def remember(self, team: str, member: str, lessons: Sequence[Lesson]) -> int:
        """Keep the lessons, each once; how many are kept: none when the robot is deleted. Raises Transient."""
        ...

    async def forget(self, team: str, member: str, *, before: datetime) -> int:
        """Forget what this robot learnt before that instant; how many entries there were. Raises Transient."""
        ...


class Robots(Protocol):
    """The robots' definitions as they are now."""

    async def find(self, team: str, member: str) -> Robot | None:
        """Also one that was deleted; None if nobody knows it."""
        ...
