"""The receiver of spans over OTLP/HTTP, by httpx."""

import asyncio
from collections.abc import Mapping

import httpx

from rota_common.runtime.logs import logger
from rota_common.spans.export_spans import Sent
from rota_common.spans.otlp import traces_url
from rota_common.spans.settings import TraceSettings

PASSING = frozenset((429, 502, 503, 504))
"""Answers after which OTLP permits another try."""


class HttpxReceiver:
    """The operator's own server: it may have a private address. `timeout`: seconds of one request, from end to end."""

    def __init__(self, endpoint: str, *, headers: Mapping[str, str], timeout: float) -> None:
        self._url, self._timeout = traces_url(endpoint), timeout
        self._client = httpx.AsyncClient(
            headers={"content-type": "application/json", **headers}, timeout=timeout, follow_redirects=False
        )

    async def send(self, body: bytes) -> Sent:
        """Its answer's body isn't read, whatever its size."""
        try:
            async with asyncio.timeout(self._timeout), self._client.stream("POST", self._url, content=body) as answer:
                status = answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            return Sent.LATER
        if status in PASSING:
            return Sent.LATER
        if not answer.is_success:
            logger().warning("the receiver of spans refused a batch", status=status, bytes=len(body))
            return Sent.REFUSED
        return Sent.TAKEN

    async def close(self) -> None:
        await self._client.aclose()


def receiver_of(settings: TraceSettings) -> HttpxReceiver | None:
    """The one that the settings name; None where they name none."""
    if not settings.otlp_endpoint:
        return None
    return HttpxReceiver(settings.otlp_endpoint, headers=settings.otlp_header_map, timeout=settings.otlp_timeout)
