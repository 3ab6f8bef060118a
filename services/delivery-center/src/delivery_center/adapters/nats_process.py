"""Processes: requests on NATS to programs of the team."""

import json
from typing import Any

from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from pydantic_core import from_json

from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Rejected, Sent
from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import process_subject
from rota_contracts.envelope import MSG_ID
from rota_contracts.messages.process import ERROR, ERROR_CODE, IDEMPOTENCY_KEY
from rota_contracts.robots.preferences import ProcessTarget

REPLY_BYTES = 2048


class NatsProcess:
    """`timeout` in seconds."""

    def __init__(self, bus: Bus, *, timeout: float) -> None:
        self._bus, self._timeout = bus, timeout

    async def send(self, target: ProcessTarget, outgoing: OutgoingMessage) -> Sent:
        name = target.process
        headers = {MSG_ID: outgoing.delivery_id, IDEMPOTENCY_KEY: outgoing.delivery_id}
        try:
            reply = await self._bus.client.request(
                process_subject(outgoing.context.team_id, name),
                _request(target, outgoing),
                timeout=self._timeout,
                headers=headers,
            )
        except NoRespondersError as error:
            raise Transient(f"no program answers process {name}") from error
        except (NatsTimeout, TimeoutError) as error:
            raise Transient(f"process {name} didn't answer within {self._timeout:g} s") from error
        except MaxPayloadError as error:
            raise Permanent(f"the result is too long for a request to process {name}") from error
        except NatsError as error:
            raise Transient(f"can't ask process {name}: {error!r}") from error
        details = {"reply": _reply(reply.data)}
        answered = reply.headers or {}
        if ERROR_CODE in answered:
            raise Rejected(f"process {name} failed: {answered[ERROR_CODE]} {answered.get(ERROR, '')}", details=details)
        return Sent(details=details)


def _request(target: ProcessTarget, outgoing: OutgoingMessage) -> bytes:
    delivery = {**outgoing.for_programs(), "context": outgoing.context.model_dump(mode="json")}
    request = {"args": target.args, "delivery": delivery, "delivery_id": outgoing.delivery_id}
    return json.dumps(request, ensure_ascii=False).encode()


def _reply(data: bytes) -> Any:
    """The reply's JSON; the beginning of its text if it is long or not JSON."""
    try:
        if len(data) <= REPLY_BYTES:
            return from_json(data, allow_inf_nan=False)
    except ValueError:
        pass
    return data[:REPLY_BYTES].decode(errors="replace")
