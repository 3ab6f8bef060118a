"""Hooks after a call of a tool: each is shown the result, at the same time as the others, and none is waited for."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from executor.file_ports import Blobs
from executor.hook_port import Hook, HookFailed
from executor.steps.hook_chain import reply_of
from rota_common.runtime.logs import logger
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.hook import HookCall
from rota_contracts.messages.text import Text

OUTPUT = 20_000
"""Characters of a result that a hook is shown."""

MOST, MOST_OF_TEAM = 512, 64
"""Calls of hooks at once, of all teams and of one; a hook that would be one more is not notified."""

_log = logger(service="executor")


@dataclass(frozen=True, kw_only=True)
class NotifyHooks:
    """A stop of the process, or a crash, may lose what is being sent."""

    blobs: Blobs
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _of_team: Counter[str] = field(init=False, default_factory=Counter)

    def __call__(
        self,
        hooks: Sequence[Hook],
        call: HookCall,
        output: Text | None,
        *,
        error: str | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Begin to show these hooks this call, which took so many seconds, and its `output` or its `error`."""
        tool = call.tool and call.tool.model_copy(update={"error": error, "seconds": seconds})
        call = call.model_copy(update={"tool": tool})
        for hook in hooks:
            if len(self._tasks) >= MOST or self._of_team[call.team_id] >= MOST_OF_TEAM:
                _log.warning(
                    "too many hooks at once: one is not notified", hook=hook.name, execution_id=call.execution_id
                )
                continue
            self._of_team[call.team_id] += 1
            task = asyncio.create_task(self._notify(hook, call, output))
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._done(done, call.team_id))

    async def idle(self) -> None:
        """Wait until all are notified."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None], team: str) -> None:
        self._tasks.discard(task)
        self._of_team[team] -= 1
        if not self._of_team[team]:
            del self._of_team[team]

    async def _notify(self, hook: Hook, call: HookCall, output: Text | None) -> None:
        try:
            await reply_of(hook, await self._with_output(call, output))
        except HookFailed as error:
            _log.warning("a hook failed", hook=hook.name, execution_id=call.execution_id, reason=str(error))
        except Exception as error:  # of the object store: nothing waits for this hook
            _log.warning("a hook is not notified", hook=hook.name, execution_id=call.execution_id, reason=str(error))

    async def _with_output(self, call: HookCall, output: Text | None) -> HookCall:
        if output is None or call.tool is None:
            return call
        whole = await self.blobs.read(output)
        shown = {"output": excerpt(whole, OUTPUT), "output_bytes": len(whole.encode())}
        return call.model_copy(update={"tool": call.tool.model_copy(update=shown)})
