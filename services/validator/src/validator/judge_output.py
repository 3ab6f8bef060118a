"""The second layer: does this output mean what was asked?"""

import asyncio
from collections.abc import Sequence

from rota_contracts.messages.agent import AgentReply
from rota_contracts.messages.validation import ValidationCompletedV1, ValidationRequestedV1, ValidationResult
from validator.agent_checks import AgentCheck, Uncheckable, agent_checks
from validator.domain import unusable, verdict
from validator.kinds import Output
from validator.ports import Agents, Outputs
from validator.registry import Kinds
from validator.verdicts import NoVerdict, assertion_verdict, merged, read_verdict


class JudgeOutput:
    """Asks the agents. The executor keeps each answer by the call's id: asking again asks no model again."""

    def __init__(self, outputs: Outputs, agents: Agents, kinds: Kinds, *, timeout: float) -> None:
        self._outputs, self._agents, self._kinds, self._timeout = outputs, agents, kinds, timeout

    async def __call__(self, request: ValidationRequestedV1) -> ValidationCompletedV1:
        output = Output(await self._outputs.read(request.output))
        asked = agent_checks(request, output, timeout=self._timeout)
        answers = await self._answers([look for look in asked if isinstance(look, AgentCheck)])
        try:
            found = [self._verdict(look, answers, request.threshold) for look in asked]
        except NoVerdict as reason:
            return undecided(request, str(reason))
        rules = [request.rules_verdict] if request.rules_verdict else []
        return _fact(request, merged([*rules, *found], request.threshold, request.conversation))

    async def _answers(self, asked: Sequence[AgentCheck]) -> dict[str, AgentReply]:
        """Call id → answer. All are waited for, also when one can't be had, so that none is left running."""
        said = await asyncio.gather(*(self._agents.answer(look.call) for look in asked), return_exceptions=True)
        answers = {}
        for look, answer in zip(asked, said, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            answers[look.call.call_id] = answer
        return answers

    def _verdict(
        self, look: AgentCheck | Uncheckable, answers: dict[str, AgentReply], threshold: float
    ) -> ValidationResult:
        match look:
            case Uncheckable(assertion, reason):
                return verdict([unusable(assertion, reason, self._kinds)])
            case AgentCheck(call, assertion):
                said = read_verdict(answers[call.call_id], threshold)
                return assertion_verdict(assertion, said, self._kinds) if assertion else said


def undecided(request: ValidationRequestedV1, reason: str) -> ValidationCompletedV1:
    """No verdict could be had: not passed, and `error` says why."""
    before = request.rules_verdict.details if request.rules_verdict else ""
    return _fact(request, ValidationResult(passed=False, score=0.0, issues=[reason], details=before), error=reason)


def _fact(
    request: ValidationRequestedV1, verdict: ValidationResult, *, error: str | None = None
) -> ValidationCompletedV1:
    return ValidationCompletedV1(
        team_id=request.team_id,
        member_id=request.member_id,
        validation_id=request.validation_id,
        execution_id=request.execution_id,
        task_id=request.task_id,
        verdict=verdict,
        error=error,
    )
