"""The decision over new goals: against the recent runs of the robot and those under way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from learner.domain import DELETED, revision
from learner.history import (
    NEWEST,
    GoalsDecision,
    PastRun,
    by_rule,
    confirmed,
    decision_on,
    others_under_way,
    proceed,
    read_decision,
)
from learner.ports import Agents, History, Robots
from learner.prompts import dedup_call
from rota_common.errors import Permanent, Transient
from rota_common.json_text import extract_json
from rota_contracts.messages.agent import AgentReply
from rota_contracts.messages.learning import CheckGoals, GoalsReply


@dataclass(frozen=True, kw_only=True)
class DecideOnGoals:
    """The decision is saved before it is returned: a repeated request for one execution gets the same reply."""

    agents: Agents
    history: History
    robots: Robots
    timeout: float

    async def __call__(self, request: CheckGoals) -> GoalsReply:
        known = await self.history.decision(request.execution_id) or await self._decide(request)
        if known is None:
            return proceed(DELETED)  # whatever is decided, it won't go on
        return (await self._confirm(known)).reply

    async def _decide(self, request: CheckGoals) -> GoalsDecision | None:
        """None when the robot is deleted."""
        rev = revision(await self.robots.find(request.team_id, request.member_id))
        if rev is None:
            return None
        saved = await self.history.save_decision(decision_on(request, rev, await self._compare(request)))
        if revision(await self.robots.find(request.team_id, request.member_id)) is None:
            await self.history.remove(request.execution_id)  # deleted meanwhile: nothing may remain
        return saved

    async def _confirm(self, known: GoalsDecision) -> GoalsDecision:
        """Runs that are compared at once must not be merged into each other: none would reach their goals.

        Each reads the other's decision after its own is saved, so of any circle at least the last one sees it.
        """
        if known.sure or known.reply.into is None:
            return known
        return await self.history.confirm(confirmed(known, await self.history.decision(known.reply.into)))

    async def _compare(self, request: CheckGoals) -> GoalsReply:
        since = request.asked_at - timedelta(seconds=request.window_s)
        history = await self.history.completed(
            request.team_id, request.member_id, since=since, limit=NEWEST, without=request.execution_id
        )
        if history or others_under_way(request):
            return await self._ask(request, history)
        return proceed("this robot has completed nothing of late, and nothing else is under way")

    async def _ask(self, request: CheckGoals, history: Sequence[PastRun]) -> GoalsReply:
        """The agent's decision, or the rule's without one."""
        try:
            answer = await self.agents.answer(dedup_call(request, history, timeout=self.timeout))
        except (Transient, Permanent) as error:
            return by_rule(request, history, f"the dedup agent {request.agent} can't be asked: {error}")
        calls = [answer.call] if answer.call else []
        return self._decision(request, history, answer).model_copy(update={"calls": calls})

    def _decision(self, request: CheckGoals, history: Sequence[PastRun], answer: AgentReply) -> GoalsReply:
        if answer.error:
            return by_rule(request, history, f"the dedup agent {request.agent} failed: {answer.error}")
        found = answer.response if isinstance(answer.response, dict) else extract_json(answer.content)
        unreadable = f"the dedup agent {request.agent} gave no decision: {answer.content[:200]!r}"
        return read_decision(found, request, history) or by_rule(request, history, unreadable)
