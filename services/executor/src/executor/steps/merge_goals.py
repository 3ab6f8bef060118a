"""The merge of goals: new goals are compared with earlier runs, and may be given to one that is under way."""

from collections.abc import Sequence
from dataclasses import dataclass

from executor.domain.calls.policy import role_of
from executor.domain.outcomes import GoalsCompared, GoalsGiven, Outcome
from executor.domain.run import Merge, Run, Signal
from executor.domain.situation.wording import about
from executor.ports import Runs
from executor.publish import EventPublisher
from rota_common.bus.rpc import Ask
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_contracts import catalog
from rota_contracts.ids import derived_id
from rota_contracts.messages.execution import Goals, excerpt
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto
from rota_contracts.messages.learning import CheckGoals, UnderWay
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, Message
from rota_contracts.robots.clock_config import duration

LIMIT = 10
"""Runs under way that the learner's question names, and as many that wait for their first slot."""

LIST_TIMEOUT_S = 2
GOALS_LIMIT = 20_000
QUEUED = "queued"


@dataclass(frozen=True, kw_only=True)
class MergeGoals:
    """Raises Transient when a question must be repeated, and Permanent for a refusal."""

    runs: Runs
    ask: Ask
    publisher: EventPublisher
    clock: Clock

    async def compare(self, run: Run, goals: Goals) -> Outcome:
        """Ask the learner. Only runs that began before this one are named: two runs can't give goals to each other."""
        execution, dedup = run.execution, run.robot.robot_config.dedup
        earlier: Sequence[UnderWay] = ()
        queued: Sequence[UnderWay] = ()
        if execution.executor_mode is ExecutorMode.STANDARD:  # others change nothing outside of themselves
            earlier, queued = await self.runs.merge_targets(run, limit=LIMIT), await self._queued(run)
        question = CheckGoals(
            team_id=execution.team_id,
            member_id=execution.member_id,
            execution_id=run.id,
            goals=goals.content,
            about=about(execution.trigger),
            window_s=duration(dedup.window).total_seconds(),
            agent=run.robot.phase_agent("dedup"),
            under_way=[*earlier, *queued],
            asked_at=self.clock(),
        )
        answer = await self.ask(catalog.CHECK_GOALS, question)
        return GoalsCompared(answer, queued=answer.into in [waiting.execution_id for waiting in queued])

    async def give_goals(self, run: Run, merge: Merge) -> Outcome:
        """Give the goals away; tried again it is the same merge, because its id derives from this run."""
        merge_id, goals = derived_id("merge", run.id), excerpt(merge.goals, GOALS_LIMIT)
        if merge.queued:
            owner = {"team_id": run.execution.team_id, "member_id": run.execution.member_id}
            request = MergeInto(**owner, execution_id=merge.into, merge_id=merge_id, goals=goals, role=role_of(run))
            return GoalsGiven(merge.into, (await self.ask(catalog.MERGE_INTO, request)).done)
        signal = Signal(
            id=merge_id,
            action=InterventionAction.GOAL_ADD,
            messages=[Message(content=goals)],
            merged=run.id,
            role=role_of(run),
            at=self.clock(),
        )
        if not await self.runs.merge(merge.into, signal, giver=run):
            return GoalsGiven(merge.into, done=False)
        if target := await self.runs.find(merge.into):
            await self.publisher.intervened(target, signal)
        return GoalsGiven(merge.into, done=True)

    async def _queued(self, run: Run) -> Sequence[UnderWay]:
        """Runs that wait for their first slot; none if the scheduler doesn't answer."""
        question = ListWaiting(team_id=run.execution.team_id, member_id=run.execution.member_id, limit=LIMIT)
        try:
            listed = await self.ask(catalog.LIST_WAITING, question, timeout=LIST_TIMEOUT_S)
        except (Transient, Permanent):
            return ()
        return [UnderWay(execution_id=each.execution_id, status=QUEUED, about=each.about) for each in listed.waiting]
