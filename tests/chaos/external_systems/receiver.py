"""The webhook receiver: it knows a delivery by its `webhook-id`, as Standard Webhooks ask."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.chaos.external_systems.http import serving
from tests.chaos.leads import lead_in
from tests.chaos.trap import Traps
from tests.chaos.witness import Witness

SECONDS = (0.0, 0.02)


@asynccontextmanager
async def receiver(witness: Witness, traps: Traps, random: Random, *, secret: str) -> AsyncIterator[str]:
    """Yields its URL; the path names the target."""

    async def receive(request: Request) -> Response:
        raw = await request.body()
        try:
            Webhook(secret).verify(raw, dict(request.headers), json_parse=False)
        except WebhookVerificationError:
            return Response(status_code=401)
        lead = lead_in(raw)
        witness.delivered(lead, f"webhook {request.path_params['name']}", request.headers["webhook-id"])
        await traps.reached("webhook", lead)
        await asyncio.sleep(random.uniform(*SECONDS))
        return Response(status_code=204)

    async with serving(Starlette(routes=[Route("/{name}", receive, methods=["POST"])])) as url:
        yield url
