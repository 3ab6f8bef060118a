"""Hooks of the platform: objects of installed packages, in the entry point group `rota.hooks`."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from executor.hook_port import Hook, HookFailed
from rota_contracts.messages.hook import HookCall, HookPoint, HookReply, OnFailure
from rota_contracts.robots.hooks import MAX_TIMEOUT_S

GROUP = "rota.hooks"
TIMEOUT_S = 5.0


class HookUnusable(ValueError):
    """ROTA_HOOKS names a hook that isn't installed, or isn't one; the text says which."""


@dataclass(frozen=True, kw_only=True)
class EntryPointHook:
    """An async function of a package that takes a `HookCall` and returns a `HookReply`, or None to continue. What it
    has as `points`, `timeout` and `on_failure` are its own."""

    name: str
    function: Callable[[HookCall], Awaitable[Any]]
    points: frozenset[HookPoint]
    timeout: float = TIMEOUT_S
    on_failure: OnFailure | None = None

    async def ask(self, call: HookCall) -> HookReply:
        try:
            reply = await self.function(call)
        except Exception as error:  # code of a package: whatever it is, it is the hook's failure
            raise HookFailed(f"{type(error).__name__}: {error}") from error
        if reply is not None and not isinstance(reply, HookReply):
            raise HookFailed(f"expected a HookReply or None, got {type(reply).__name__}")
        return reply or HookReply()


def load_hooks(names: str) -> Sequence[Hook]:
    """The hooks that the operator names, separated by commas, in this order. Raises HookUnusable."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        return ()
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if twice := next((name for name in wanted if wanted.count(name) > 1), None):
        raise HookUnusable(f"ROTA_HOOKS: expected each hook once, got {twice} twice")
    for name in wanted:
        if name not in installed:
            there = ", ".join(sorted(installed)) or "none is"
            raise HookUnusable(f"ROTA_HOOKS: there is no hook {name!r}: install its package; installed: {there}")
    return tuple(hook_of(name, installed[name].load()) for name in wanted)


def hook_of(name: str, made: Any) -> Hook:
    """The hook that an entry point names: an async function or object with `points`, or a class of such objects."""
    made = made() if inspect.isclass(made) else made
    if not (inspect.iscoroutinefunction(made) or inspect.iscoroutinefunction(type(made).__call__)):
        raise HookUnusable(f"hook {name}: expected an async function that takes a HookCall, got {type(made).__name__}")
    try:
        points = frozenset(HookPoint(point) for point in getattr(made, "points", ()))
        given = getattr(made, "on_failure", None)
        on_failure = None if given is None else OnFailure(given)
        timeout = float(getattr(made, "timeout", TIMEOUT_S))
    except (TypeError, ValueError) as error:
        raise HookUnusable(f"hook {name}: {error}") from error
    if not points:
        raise HookUnusable(f"hook {name}: expected `points`, some of {', '.join(HookPoint)}")
    if not 0 < timeout <= MAX_TIMEOUT_S:
        raise HookUnusable(f"hook {name}: expected a `timeout` of at most {MAX_TIMEOUT_S:g} seconds, got {timeout:g}")
    return EntryPointHook(name=name, function=made, points=points, timeout=timeout, on_failure=on_failure)
