"""The second layer: an output against the meaning of its task, judged by agents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rota_common.bus.publishing import Publish
from rota_contracts.catalog import VALIDATION_COMPLETED
from rota_contracts.envelope import Event
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.usage import ModelCall
from rota_contracts.messages.validation import ValidationCompletedV1, ValidationRequestedV1, ValidationResult
from validator.agent_checks import AgentCheck, Uncheckable, agent_checks, asked_again
from validator.domain import unusable, verdict
from validator.kinds import Output
from validator.ports import Agents, Outputs
from validator.registry import Kinds
from validator.verdicts import NoVerdict, Unreadable, assertion_verdict, merge, read_verdict

MOST_ASKS = 3
"""Times that an agent is asked for one verdict."""


@dataclass(frozen=True, kw_only=True)
class JudgeOutput:
    """Publishes the agents' verdict. The executor keeps each answer by the call's id, so a redelivered request calls no
    model again."""

    outputs: Outputs
    agents: Agents
    kinds: Kinds
    publish: Publish
    timeout: float

    async def __call__(self, event: Event[ValidationRequestedV1]) -> None:
        await self._publish(event, await self._judge(event.data))

    async def give_up(self, event: Event[ValidationRequestedV1], reason: str) -> None:
        """Publish that there is no verdict."""
        await self._publish(event, undecided(event.data, reason))

    async def _publish(self, event: Event[ValidationRequestedV1], fact: ValidationCompletedV1) -> None:
        await self.publish(VALIDATION_COMPLETED, fact, caused_by=fact.validation_id, trace=event.traceparent)

    async def _judge(self, request: ValidationRequestedV1) -> ValidationCompletedV1:
        output = Output(await self.outputs.read(request.output))
        checks = agent_checks(request, output, timeout=self.timeout)
        calls: list[ModelCall] = []
        try:
            found = await self._verdicts(checks, request.threshold, calls)
        except NoVerdict as reason:
            return undecided(request, str(reason)).model_copy(update={"calls": calls})
        first = request.rules_verdict
        rules = [first.model_copy(update={"complete": first.passed})] if first else []  # rules know of nothing to come
        fact = _fact(request, merge([*rules, *found], request.threshold, request.conversation))
        return fact.model_copy(update={"calls": calls})

    async def _verdicts(
        self, checks: Sequence[AgentCheck | Uncheckable], threshold: float, calls: list[ModelCall]
    ) -> Sequence[ValidationResult]:
        """Waits for all calls, also when one fails, so that none is left running; adds what they took to `calls`.
        Raises NoVerdict."""
        asked = (self._verdict(check, threshold, calls) for check in checks)
        found = await asyncio.gather(*asked, return_exceptions=True)
        failures = [each for each in found if isinstance(each, BaseException)]
        for failure in sorted(failures, key=lambda each: isinstance(each, NoVerdict)):
            raise failure
        return [each for each in found if isinstance(each, ValidationResult)]

    async def _verdict(
        self, check: AgentCheck | Uncheckable, threshold: float, calls: list[ModelCall]
    ) -> ValidationResult:
        match check:
            case Uncheckable(assertion, reason):
                return verdict([unusable(assertion, reason, self.kinds)])
            case AgentCheck(_, assertion):
                found = await self._asked(check, threshold, calls)
                return assertion_verdict(assertion, found, self.kinds) if assertion else found

    async def _asked(self, check: AgentCheck, threshold: float, calls: list[ModelCall]) -> ValidationResult:
        """The agent's verdict; one that can't be read is asked for again. Raises NoVerdict."""
        call = check.call
        for asks in range(1, MOST_ASKS):
            answer = await self._answer(call, calls)
            try:
                return read_verdict(answer, threshold, check.check)
            except Unreadable as reason:
                call = asked_again(check.call, answer, str(reason), asks=asks)
        return read_verdict(await self._answer(call, calls), threshold, check.check)

    async def _answer(self, call: CallAgent, calls: list[ModelCall]) -> AgentReply:
        answer = await self.agents.answer(call)
        calls.extend([answer.call] if answer.call else [])
        return answer


def undecided(request: ValidationRequestedV1, reason: str) -> ValidationCompletedV1:
    """The fact that there is no verdict: not passed, with the reason as `error`."""
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
