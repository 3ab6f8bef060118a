"""The port to hooks: programs of the platform and of teams around calls of models and tools."""

from collections.abc import Collection
from typing import Protocol

from rota_contracts.messages.hook import HookCall, HookPoint, HookReply, OnFailure


class HookFailed(Exception):
    """A hook gave no reply that can be used; the text says why."""


class Hook(Protocol):
    """One hook. `timeout` in seconds; `on_failure` null: cancel before a call, continue after it."""

    @property
    def name(self) -> str: ...

    @property
    def points(self) -> Collection[HookPoint]: ...

    @property
    def timeout(self) -> float: ...

    @property
    def on_failure(self) -> OnFailure | None: ...

    async def ask(self, call: HookCall) -> HookReply:
        """Raises HookFailed."""
        ...
