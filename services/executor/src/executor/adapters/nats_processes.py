"""Processes: a request on NATS that the team's own programs answer."""

from nats.errors import (
    ConnectionClosedError,
    ConnectionDrainingError,
    MaxPayloadError,
    NoRespondersError,
    OutboundBufferLimitError,
)
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout

from executor.tool_ports import NotBegun, ToolFailed
from rota_common.bus.connection import Bus
from rota_contracts.catalog import process_subject
from rota_contracts.envelope import MSG_ID
from rota_contracts.messages.callback import PENDING, STATUS
from rota_contracts.messages.process import ERROR, ERROR_CODE, IDEMPOTENCY_KEY, ProcessCall

UNSENT = (NoRespondersError, ConnectionClosedError, ConnectionDrainingError, OutboundBufferLimitError)


class NatsProcesses:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str | None:
        if not self._bus.connected:  # nats-py would keep the request, and send it after the caller has given up
            raise NotBegun(f"can't call process {name}: not connected to NATS")
        try:
            reply = await self._bus.client.request(
                process_subject(call.team_id, name),
                call.model_dump_json().encode(),
                timeout=timeout,
                headers={IDEMPOTENCY_KEY: call.step_id, MSG_ID: call.step_id},
            )
        except UNSENT as error:
            why = "no responder" if isinstance(error, NoRespondersError) else "not connected to NATS"
            raise NotBegun(f"can't call process {name}: {why}") from error
        except (NatsTimeout, TimeoutError) as error:
            raise ToolFailed(f"no answer within {timeout:g} s: outcome unknown") from error
        except MaxPayloadError as error:
            raise ToolFailed("the arguments are too long: a call holds at most 1 MB") from error
        except NatsError as error:
            raise ToolFailed(f"the connection broke ({type(error).__name__}): outcome unknown") from error
        answered = reply.headers or {}
        if ERROR_CODE in answered:
            raise ToolFailed(f"{answered[ERROR_CODE]} {answered.get(ERROR, '')}".strip())
        if answered.get(STATUS) == PENDING:
            return None
        return str(reply.data.decode(errors="replace"))
