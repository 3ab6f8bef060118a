"""A run has its goals: hold them against what its robot has done lately and is doing now (SC-13)."""

from collections.abc import Sequence
from datetime import timedelta

from learner.domain import DELETED, revision
from learner.history import (
    NEWEST,
    GoalsDecision,
    PastRun,
    by_rule,
    decided,
    made_sure,
    others_under_way,
    proceed,
    understood,
)
from learner.ports import Agents, History, Robots
from learner.prompts import dedup_question
from rota_common.errors import Permanent, Transient
from rota_common.json_text import extract_json
from rota_contracts.messages.learning import CheckGoals, GoalsReply


class DecideOnGoals:
    """The decision is saved before it is given: asked twice for one execution, the answer is the same."""

    def __init__(self, agents: Agents, history: History, robots: Robots, *, timeout: float) -> None:
        self._agents, self._history, self._robots = agents, history, robots
        self._timeout = timeout

    async def __call__(self, asked: CheckGoals) -> GoalsReply:
        known = await self._history.decided(asked.execution_id) or await self._decide(asked)
        if known is None:
            return proceed(DELETED)  # whatever is decided, it won't go on
        return (await self._sure(known)).checked

    async def _decide(self, asked: CheckGoals) -> GoalsDecision | None:
        """None when the robot is deleted."""
        rev = revision(await self._robots.find(asked.team_id, asked.member_id))
        if rev is None:
            return None
        saved = await self._history.decide(decided(asked, rev, await self._check(asked)))
        if revision(await self._robots.find(asked.team_id, asked.member_id)) is None:
            await self._history.remove(asked.execution_id)  # deleted meanwhile: nothing may remain
        return saved

    async def _sure(self, known: GoalsDecision) -> GoalsDecision:
        """Runs that are compared at once must not be merged into each other: none would reach their goals.

        Each looks for the other's decision after its own is saved, so of any circle at least the last one sees it.
        """
        if known.sure or known.checked.into is None:
            return known
        return await self._history.settle(made_sure(known, await self._history.decided(known.checked.into)))

    async def _check(self, asked: CheckGoals) -> GoalsReply:
        since = asked.asked_at - timedelta(seconds=asked.window_s)
        history = await self._history.completed(
            asked.team_id, asked.member_id, since=since, limit=NEWEST, without=asked.execution_id
        )
        if history or others_under_way(asked):
            return await self._ask(asked, history)
        return proceed("this robot has completed nothing of late, and nothing else is under way")

    async def _ask(self, asked: CheckGoals, history: Sequence[PastRun]) -> GoalsReply:
        """A decision in any case: without the agent's, the rule's."""
        try:
            answer = await self._agents.answer(dedup_question(asked, history, timeout=self._timeout))
        except (Transient, Permanent) as error:
            return by_rule(asked, history, f"the dedup agent {asked.agent} can't be asked: {error}")
        if answer.error:
            return by_rule(asked, history, f"the dedup agent {asked.agent} failed: {answer.error}")
        found = answer.response if isinstance(answer.response, dict) else extract_json(answer.content)
        unreadable = f"the dedup agent {asked.agent} gave no decision: {answer.content[:200]!r}"
        return understood(found, asked, history) or by_rule(asked, history, unreadable)
