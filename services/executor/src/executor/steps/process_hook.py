"""A hook of a team: one of its processes, called with the `HookCall` as its only argument."""

from collections.abc import Collection
from typing import TypeVar

from pydantic import BaseModel

from executor.domain.hooks.messages import UnusableReply
from executor.domain.hooks.replies import parse_reply
from executor.hook_port import HookFailed
from executor.tool_ports import NotBegun, Processes, ToolFailed
from rota_common.errors import Permanent, Transient
from rota_contracts.ids import derived_id
from rota_contracts.messages.hook import HookCall, HookPoint, HookReply, OnFailure
from rota_contracts.messages.process import ProcessCall
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.hooks import HookProcess

R = TypeVar("R", bound=BaseModel)

CALL_LIMIT = 900 * 1024
"""Bytes of a call: a message of the bus holds 1 MB."""


class ProcessHook:
    """Called like any process of the team, once. A promise of a later result is a failure."""

    def __init__(self, processes: Processes, config: HookProcess, *, point: HookPoint) -> None:
        self._processes, self._config = processes, config
        self.points: Collection[HookPoint] = (point,)

    @property
    def name(self) -> str:
        return self._config.process

    @property
    def timeout(self) -> float:
        return duration(self._config.timeout).total_seconds()

    @property
    def on_failure(self) -> OnFailure | None:
        return self._config.on_failure

    async def ask(self, call: HookCall) -> HookReply:
        made = ProcessCall(
            step_id=derived_id("hook", call.point, call.step_id, self.name),
            team_id=call.team_id,
            member_id=call.member_id,
            execution_id=call.execution_id,
            task_id=call.task_id,
            args=[call.model_dump(mode="json")],
        )
        return await ask_process(self._processes, self.name, made, kind=HookReply, timeout=self.timeout)


async def ask_process(processes: Processes, name: str, call: ProcessCall, *, kind: type[R], timeout: float) -> R:
    """The reply of a process that is a hook. Raises HookFailed."""
    if (size := len(call.model_dump_json().encode())) > CALL_LIMIT:
        raise HookFailed(f"expected a call of at most {CALL_LIMIT} bytes for a process, this one has {size}")
    try:
        reply = await processes.call(name, call, timeout=timeout)
    except (NotBegun, ToolFailed, Transient, Permanent) as error:
        raise HookFailed(str(error)) from error
    if reply is None:
        raise HookFailed("it promised its reply for later, and a hook can't be waited for")
    try:
        return parse_reply(reply, kind)
    except UnusableReply as error:
        raise HookFailed(str(error)) from error
