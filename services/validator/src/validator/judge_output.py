"""The second layer: does this output mean what was asked?"""

from rota_contracts.validation import ValidationCompletedV1, ValidationRequestedV1
from validator.judging import completed, question
from validator.ports import Agents, Outputs


class JudgeOutput:
    """Asks the validation agent. The executor keeps its answer by the call's id, so asking again asks no model again."""

    def __init__(self, outputs: Outputs, agents: Agents) -> None:
        self._outputs, self._agents = outputs, agents

    async def __call__(self, request: ValidationRequestedV1) -> ValidationCompletedV1:
        output = await self._outputs.read(request.output)
        return completed(request, await self._agents.answer(question(request, output)))
