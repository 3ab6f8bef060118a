"""The compaction of a conversation: its model sums up what is cut off."""

from collections.abc import Sequence
from dataclasses import dataclass

from executor.agents.connectors import Connector
from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.domain.answers.understand import understand
from executor.domain.context import compaction, contexts
from executor.domain.conversation.chat import ModelReply
from executor.domain.conversation.messages import references
from executor.domain.outcomes import Compacted
from executor.domain.run import Run
from executor.domain.spending import payer_of
from executor.domain.steps import Compact
from executor.file_ports import Blobs
from executor.model_port import Prompt
from executor.steps.in_window import ask_within
from executor.steps.models import Candidate, Models
from executor.steps.step_result import StepResult
from rota_common.errors import Permanent, Transient
from rota_common.material import frame_of
from rota_common.runtime.logs import logger
from rota_contracts.messages.execution import Task, excerpt
from rota_contracts.messages.usage import ModelCall

TRIES = 3
"""Of a summary, before the conversation goes on without one."""

_log = logger(service="executor")


@dataclass(frozen=True, kw_only=True)
class CompactConversation:
    """Raises Transient while a summary may still come."""

    models: Models
    blobs: Blobs

    async def __call__(self, run: Run, step: Compact, agent: Agent, *, view: TeamView) -> StepResult:
        of, planned = contexts.of_step(step), (step.turn, step.rounds)
        summary, call, notes = await self._summary(run, step, agent, view)
        place = planned
        if not summary:
            turns, context = contexts.turns_of(run, of), contexts.context_of(run, of)
            place = compaction.place_without_summary(turns, context, planned)
        _log.info("conversation compacted", execution_id=run.id, of=of, turn=place[0], round=place[1])
        return StepResult(Compacted(of, summary, *place), problems=notes, call=call)

    async def _summary(
        self, run: Run, step: Compact, agent: Agent, view: TeamView
    ) -> tuple[str, ModelCall | None, Sequence[str]]:
        async def ask(candidate: Candidate) -> ModelReply:
            prompt = await self._prompt(run, step, agent, candidate.connector)
            return (await ask_within(candidate.model, prompt))[0]

        try:
            mode, payer = run.execution.executor_mode, payer_of(run, agent.id)
            wanted = agent.connector or self.models.routed(run, step.of, view=view)[0]
            reply, notes = await self.models.ask(ask, mode, wanted, payer=payer, view=view)
        except Transient:
            if run.failures + 1 < TRIES:
                raise
            return "", None, ()
        except Permanent as error:
            _log.warning("no summary of a conversation", execution_id=run.id, reason=str(error))
            return "", None, ()
        return excerpt(understand(reply).text.strip(), compaction.SUMMARY_CHARS), reply.call, notes

    async def _prompt(self, run: Run, step: Compact, agent: Agent, connector: Connector) -> Prompt:
        of, frame = contexts.of_step(step), frame_of(run.id, "compact", step.step_id)
        context = contexts.context_of(run, of)
        turns = compaction.to_sum_up(contexts.turns_of(run, of), context, (step.turn, step.rounds))
        texts = {ref.ref.name: await self.blobs.read(ref) for ref in references(turns) if ref.ref is not None}
        subject = step.of.description if isinstance(step.of, Task) else f"the phase {step.of}"
        messages = compaction.summary_prompt(turns, context, texts, frame, subject)
        options = {**agent.options, **compaction.SUMMARY_OPTIONS}
        known = {"kind": "summary"}
        return Prompt(messages, connector, compaction.SUMMARY_TIMEOUT_S, step.step_id, options, known)
