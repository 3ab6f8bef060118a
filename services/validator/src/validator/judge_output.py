"""The second layer: does this output mean what was asked?"""

from rota_contracts.validation import ValidationCompletedV1, ValidationRequestedV1
from validator.judging import completed, question
from validator.ports import Agents, Outputs


class JudgeOutput:
    """Asks the validation agent. The executor keeps the answer by the call's id: asking again asks no model again."""

    def __init__(self, outputs: Outputs, agents: Agents, *, timeout: float) -> None:
        self._outputs, self._agents, self._timeout = outputs, agents, timeout

    async def __call__(self, request: ValidationRequestedV1) -> ValidationCompletedV1:
        output = await self._outputs.read(request.output)
        return completed(request, await self._agents.answer(question(request, output, timeout=self._timeout)))
