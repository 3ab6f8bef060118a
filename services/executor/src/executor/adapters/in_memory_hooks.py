"""Hooks in memory, for tests."""

from collections.abc import Awaitable, Callable, Collection

from executor.hook_port import HookFailed
from rota_contracts.messages.hook import HookCall, HookPoint, HookReply, OnFailure


class ScriptedHook:
    """Replies as `answer` says, else continues; exceptions are failures. `calls` holds every call that came."""

    def __init__(
        self,
        *points: HookPoint,
        answer: Callable[[HookCall], Awaitable[HookReply | None]] | None = None,
        name: str = "scripted",
        timeout: float = 5.0,
        on_failure: OnFailure | None = None,
    ) -> None:
        self.name = name
        self.timeout = timeout
        self.on_failure = on_failure
        self.points: Collection[HookPoint] = frozenset(points)
        self._answer = answer
        self.calls: list[HookCall] = []

    async def ask(self, call: HookCall) -> HookReply:
        self.calls.append(call)
        try:
            reply = await self._answer(call) if self._answer else None
        except Exception as error:
            raise HookFailed(f"{type(error).__name__}: {error}") from error
        return reply or HookReply()
