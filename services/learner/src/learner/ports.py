"""The ports of the learner."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from learner.domain import AgedRobot, RunLessons
from learner.history import GoalsDecision, PastRun
from rota_common.page_cursor import PageCursor
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.learning import Lesson
from rota_contracts.robots.robot import Robot


class Agents(Protocol):
    """The agents, which live in the executor."""

    async def answer(self, call: CallAgent) -> AgentReply:
        """Raises Transient when the executor can't be reached, Permanent when it refuses the call."""
        ...


class Lessons(Protocol):
    """The lessons of each run, by the run's id."""

    async def find(self, execution_id: str) -> RunLessons | None: ...

    async def save(self, lessons: RunLessons) -> RunLessons:
        """Save it, unless there is one for this run: the first one wins, and is returned."""
        ...

    async def remove(self, execution_id: str) -> None: ...

    async def page(
        self, team: str, member: str, *, scope: str | None = None, limit: int, after: PageCursor | None = None
    ) -> Sequence[RunLessons]:
        """This robot's runs with lessons, of this scope or with None of any, newest first."""
        ...

    async def forget(
        self, team: str, member: str, *, ids: Sequence[str] | None = None, scope: str | None = None
    ) -> int:
        """Take these lessons out of this robot's runs, or all of them, or all of this scope; returns the count. The
        runs stay known, so that none is learnt from again."""
        ...

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        """Remove the lessons of this robot's runs up to this revision."""
        ...

    def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        """The robots with lessons from before that instant, each once."""
        ...

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        """Remove the lessons of this robot's runs before that instant; returns the count of these runs."""
        ...


class History(Protocol):
    """Finished runs and decisions over goals, by the run's id; each is kept for KEEP_DAYS."""

    async def add(self, run: PastRun) -> None:
        """Keep it, unless it is kept already."""
        ...

    async def completed(
        self, team: str, member: str, *, since: datetime, limit: int, without: str = ""
    ) -> Sequence[PastRun]:
        """This robot's completed runs from `since` on, newest first, but for the run `without`."""
        ...

    async def decision(self, execution_id: str) -> GoalsDecision | None: ...

    async def save_decision(self, decision: GoalsDecision) -> GoalsDecision:
        """Keep it, unless there is one for this run: the first one wins, and is returned."""
        ...

    async def confirm(self, decision: GoalsDecision) -> GoalsDecision:
        """Replace the decision for this run that isn't sure; the first one wins, and is returned."""
        ...

    async def remove(self, execution_id: str) -> None:
        """Remove the run and the decision over its goals."""
        ...

    async def remove_robot(self, team: str, member: str, *, up_to_rev: int) -> None:
        """Remove this robot's runs and decisions up to this revision."""
        ...

    def aged(self, before: datetime) -> AsyncIterator[AgedRobot]:
        """The robots with runs or decisions from before that instant; one may come twice."""
        ...

    async def remove_before(self, team: str, member: str, before: datetime) -> int:
        """Remove this robot's runs and decisions from before that instant; returns the count."""
        ...


class Knowledge(Protocol):
    """The memory service."""

    async def remember(self, team: str, member: str, lessons: Sequence[Lesson]) -> int:
        """Keep the lessons, each once; returns the count: 0 when the robot is deleted. Raises Transient."""
        ...

    async def forget(
        self,
        team: str,
        member: str,
        *,
        before: datetime | None = None,
        ids: Sequence[str] | None = None,
        scope: str | None = None,
    ) -> int:
        """Remove this robot's entries: from before that instant, these, of this scope, or all; returns the count.
        Raises Transient."""
        ...


class Robots(Protocol):
    """The robots' definitions as they are now."""

    async def find(self, team: str, member: str) -> Robot | None:
        """The robot, also a deleted one; None if there never was one."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    agents: Agents
    lessons: Lessons
    history: History
    knowledge: Knowledge
    robots: Robots
    team_documents: TeamDocuments
