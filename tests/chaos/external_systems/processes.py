"""The team's processes: NATS micro services that know a step by its idempotency key, and outlive their server."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from random import Random

from nats.aio.client import Client
from nats.micro import add_service
from nats.micro.request import Request

from rota_contracts.catalog import process_subject
from rota_contracts.messages.process import IDEMPOTENCY_KEY, ProcessCall
from tests.chaos.leads import lead_in
from tests.chaos.robots import ADD, BILL, REPORT, TEAM
from tests.chaos.trap import Traps
from tests.chaos.witness import Call, Witness

SECONDS = (0.005, 0.03)
Handler = Callable[[Request], Coroutine[None, None, None]]


class TeamProcesses:
    """`ledger.add` and `ledger.bill` are called by tasks, `ledger.report` takes deliveries."""

    def __init__(self, witness: Witness, traps: Traps, random: Random) -> None:
        self._witness, self._traps = witness, traps
        self._random = random
        self._answering: set[asyncio.Task[None]] = set()

    async def start(self, client: Client) -> None:
        service = await add_service(client, name="chaos-ledger", version="1.0.0")
        for name, handler in ((ADD, self._add), (BILL, self._bill), (REPORT, self._report)):
            subject = process_subject(TEAM, name)
            await service.add_endpoint(name=name.replace(".", "-"), subject=subject, handler=self._aside(handler))

    def _aside(self, handler: Handler) -> Handler:
        """A subscription handles one message at a time; one that waits must not delay the others."""

        async def begin(request: Request) -> None:
            task = asyncio.create_task(handler(request))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

        return begin

    async def _add(self, request: Request) -> None:
        await self._work(request, "process task", idempotent=True)

    async def _bill(self, request: Request) -> None:
        await self._work(request, "process task not idempotent", idempotent=False)

    async def _work(self, request: Request, step: str, *, idempotent: bool) -> None:
        call, key = ProcessCall.model_validate_json(request.data), (request.headers or {}).get(IDEMPOTENCY_KEY, "")
        lead, name = lead_in(request.data), f"process:{call.task_id}"
        self._witness.called(Call(lead, key, name, moment=name, idempotent=idempotent))
        await self._traps.reached(step, lead)
        await asyncio.sleep(self._random.uniform(*SECONDS))
        await request.respond(json.dumps({"lead": lead, "done": call.task_id}).encode())

    async def _report(self, request: Request) -> None:
        lead, key = lead_in(request.data), (request.headers or {}).get(IDEMPOTENCY_KEY, "")
        self._witness.delivered(lead, "process", key)
        await self._traps.reached("process delivery", lead)
        await request.respond(b'{"taken": true}')
