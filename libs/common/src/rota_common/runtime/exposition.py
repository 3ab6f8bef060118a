"""The exposition of metrics: Prometheus's text format, or OpenMetrics, which has exemplars, for who asks for it."""

import asyncio
from time import monotonic

from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response

from rota_common.runtime.metrics import LOOP_LAG
from rota_common.runtime.readiness import RUNNING, Running

LAG_EVERY_S = 0.5


async def metrics_page(service: Running, request: Request) -> Response:
    """Whether the services of this process are ready is looked at now: a scrape may be the only one to ask."""
    await asyncio.gather(*(each.problems() for each in {service, *RUNNING}), return_exceptions=True)
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(REGISTRY), media_type=content_type)


async def measure_loop_lag() -> None:
    """For ever: how much later than asked the event loop wakes a timer."""
    while True:
        asked = monotonic() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        LOOP_LAG.observe(max(monotonic() - asked, 0.0))
