"""Steps with hooks around their calls of tools."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from executor.domain.hooks.questions import about_tool
from executor.domain.outcomes import Outcome, Used
from executor.domain.run import Run
from executor.domain.steps import MakeCalls, Work
from executor.hook_port import Hook
from executor.steps.hook_chain import HookChain
from executor.steps.notify_hooks import NotifyHooks
from executor.steps.step_result import StepResult
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.hook import HookPoint
from rota_contracts.messages.text import Text

RunStep = Callable[[Run, Work], AsyncIterator[StepResult]]


@dataclass(frozen=True, kw_only=True)
class HookedSteps:
    """Steps as `run_step` carries them out; those of a run without hooks go straight through."""

    run_step: RunStep
    chain: HookChain
    notify: NotifyHooks

    def __call__(self, run: Run, step: Work) -> AsyncIterator[StepResult]:
        if isinstance(step, MakeCalls) and (hooks := self.chain.hooks(run, HookPoint.AFTER_TOOL_CALL)):
            return self._then_notified(hooks, run, step)
        return self.run_step(run, step)

    async def _then_notified(self, hooks: Sequence[Hook], run: Run, step: MakeCalls) -> AsyncIterator[StepResult]:
        began = monotonic()
        results: Any = self.run_step(run, step)
        async with aclosing(results):
            async for result in results:
                for use, output, error in _calls_made(step, result.outcome):
                    call = about_tool(run, step, HookPoint.AFTER_TOOL_CALL, use)
                    self.notify(hooks, call, output, error=error, seconds=monotonic() - began)
                yield result


def _calls_made(step: MakeCalls, outcome: Outcome) -> Sequence[tuple[ToolUse, Text | None, str | None]]:
    match outcome:
        case Used(_, step_id, output, error):
            return [(use, output, error) for use in step.uses if use.step_id == step_id]
    return ()
