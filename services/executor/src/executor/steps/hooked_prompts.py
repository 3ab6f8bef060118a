"""Hooks before a model's call: they are asked once, their replies are saved, and the prompt is made of these."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from executor.agents.team_view import TeamView
from executor.domain.hooks import hooked
from executor.domain.hooks.messages import STORED, restored
from executor.domain.hooks.questions import before_model
from executor.domain.outcomes import Hooked
from executor.domain.run import Run
from executor.domain.steps import AskAgent, RunTurn
from executor.file_ports import Blobs
from executor.steps.hook_chain import HookChain
from executor.steps.keep_texts import keep_output
from executor.steps.models import Models
from rota_common.errors import Permanent
from rota_contracts.ids import derived_id
from rota_contracts.messages.hook import HookCall, HookPoint
from rota_contracts.messages.trigger import ExecutorMode, Message

INLINE = 16 * 1024
"""Bytes of messages that a run's document keeps; longer ones go to the object store."""


@dataclass(frozen=True, kw_only=True)
class HookedPrompts:
    chain: HookChain
    models: Models
    blobs: Blobs

    def model(self, run: Run, step: AskAgent | RunTurn) -> str:
        """The connector that hooks have chosen for this call; empty if they left it."""
        call = hooked.call_of(run, step)
        return call.model if call is not None else ""

    async def __call__(
        self, run: Run, step: AskAgent | RunTurn, messages: Sequence[Message], *, connector: str, again: int = 0
    ) -> Sequence[Message] | Hooked:
        """The messages to send; or, the first time, the outcome of the hooks, after which the step begins again. Of
        further questions (`again`) what they change holds at once, but for the connector. Raises Permanent if they
        cancel one."""
        if again:
            return await self._further(run, step, messages, connector, again)
        if (call := hooked.call_of(run, step)) is not None:
            if call.messages is None:
                return messages
            return restored(messages, STORED.validate_json(await self.blobs.read(call.messages)))
        if not (hooks := self.chain.hooks(run, HookPoint.BEFORE_LLM_CALL)):
            return messages
        mode, asked = run.execution.executor_mode, before_model(run, step, messages, connector=connector)
        view = await self.models.views.of(run.execution.team_id, run.definitions_rev)
        done = await self.chain.ask(hooks, asked, partial(unusable, self.models, mode, connector=connector, view=view))
        if done.cancelled:
            return Hooked(step.step_id, cancelled=done.cancelled, by=done.by)
        kept = None
        if done.call.messages != asked.messages:
            text = STORED.dump_json(done.call.messages, exclude_defaults=True).decode()
            kept = await keep_output(self.blobs, run, text, inline_limit=INLINE)
        model = done.call.model if done.call.model != connector else ""
        return Hooked(step.step_id, kept, model, by=done.by, notes=done.notes)

    async def _further(
        self, run: Run, step: AskAgent | RunTurn, messages: Sequence[Message], connector: str, again: int
    ) -> Sequence[Message]:
        if not (hooks := self.chain.hooks(run, HookPoint.BEFORE_LLM_CALL)):
            return messages
        view = await self.models.views.of(run.execution.team_id, run.definitions_rev)
        mode, asked = run.execution.executor_mode, before_model(run, step, messages, connector=connector)
        asked = asked.model_copy(update={"step_id": derived_id("asked again", step.step_id, again)})
        done = await self.chain.ask(hooks, asked, partial(unusable, self.models, mode, connector=connector, view=view))
        if done.cancelled:
            raise Permanent(done.cancelled)
        return messages if done.call.messages == asked.messages else restored(messages, done.call.messages)


def unusable(models: Models, mode: ExecutorMode, changed: HookCall, *, connector: str, view: TeamView) -> str:
    """Why the connector that a hook chose in place of `connector` can't be asked; empty if it can."""
    if changed.model == connector:
        return ""
    try:
        models.choose(mode, changed.model, view=view)
    except Permanent as error:
        return str(error)
    return ""
