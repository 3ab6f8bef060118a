"""Questions of a worker to other services, and the outcomes that their answers make."""

import re
from dataclasses import dataclass

from executor.domain.outcomes import Outcome, Recalled, RulesAnswered
from executor.domain.phases import lesson_scope, no_scope
from executor.domain.run import Run
from executor.domain.steps import CheckRules
from executor.domain.tasks.tasks import rules_of
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts import catalog
from rota_contracts.messages import validation
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.memory import Recall
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.model import NAME_PATTERN
from rota_contracts.robots.knowledge import SharedKB

RECALL_TIMEOUT_S = 5
RECALL_LIMIT = 5
MIN_RELEVANCE = 0.4
"""The least score of lessons that are recalled for a person's words. What else wakes a robot is no question, and gets
the best that there is; so does knowledge, which comes from collections that the robot names."""

NO_RULES = validation.RulesReply(verdict=validation.ValidationResult(passed=True, score=1, complete=True))

MAX_COLLECTIONS = 50
"""Shared collections in one question; the memory refuses more."""


@dataclass(frozen=True)
class Questions:
    """Raises Transient without an answer, and Permanent for a refusal, unless the run goes on without the answer."""

    ask: Ask

    async def recall(self, run: Run, query: str, *, rehearsed: bool = False) -> Recalled:
        """`rehearsed`: with the lessons of canned answers."""
        execution, kb, scope = run.execution, run.robot.robot_config.kb, lesson_scope(run)
        named = kb.collections if kb else []
        wanted = [name for name in named if re.fullmatch(NAME_PATTERN, name)][:MAX_COLLECTIONS]
        unknown = [name for name in named if name not in wanted]
        question = Recall(
            team_id=execution.team_id,
            member_id=execution.member_id,
            query=query or "anything",
            limit=RECALL_LIMIT,
            collections=wanted,
            shared_limit=_limit(kb),
            min_score=MIN_RELEVANCE if execution.trigger.type is TriggerType.HUMAN else 0,
            scope=scope,
            rehearsed=rehearsed,
        )
        try:
            recalled = await self.ask(catalog.RECALL, question, timeout=RECALL_TIMEOUT_S)
        except (Transient, Permanent) as error:
            return Recalled([], note=f"without lessons of earlier runs: {error}")
        found = [each.entry for each in recalled.entries]
        notes = [f"kb: there can't be a collection {', '.join(unknown)}"] if unknown else []
        notes += [f"without lessons of earlier runs: {no_scope(run)}"] if scope is None else []
        return Recalled(
            note="; ".join(notes),
            known=[each.entry for each in recalled.shared],
            lessons=[
                Lesson(
                    id=entry.id,
                    type=entry.type,
                    content=entry.content,
                    execution_id=entry.execution_id or "",
                    learnt_at=entry.created_at,
                    scope=entry.scope,
                    rehearsed=entry.rehearsed,
                )
                for entry in found
            ],
        )

    async def check(self, run: Run, step: CheckRules) -> Outcome:
        """Where there is no rule, no service is asked: the output keeps them all."""
        if not (rules := rules_of(run, step.task)):
            return RulesAnswered(step.task.id, NO_RULES)
        question = validation.CheckRules(
            rules=rules,
            output=step.output,
            conversation=step.conversation,
            team_id=run.execution.team_id,
            member_id=run.execution.member_id,
            execution_id=run.id,
            check_id=step.check_id,
        )
        return RulesAnswered(step.task.id, await self.ask(catalog.CHECK_RULES, question))


def _limit(kb: SharedKB | None) -> int:
    """The number of shared entries that the robot wants: `kb.options.limit`, 1 to 100."""
    wanted = kb.options.get("limit") if kb else None
    return wanted if isinstance(wanted, int) and 1 <= wanted <= 100 else RECALL_LIMIT
