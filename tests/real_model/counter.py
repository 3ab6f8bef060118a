"""The way to the model: it passes every request on, and counts calls and tokens."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rota.server.http import listening, serving

PATIENCE_S = 600.0


class Counter:
    """`log` gets each request with its answer, a line of JSON each."""

    def __init__(self, to: str, log: Path) -> None:
        self._to, self._log = to, log
        self.url = ""
        self.calls = self.tokens = 0

    async def passed_on(self, request: Request) -> Response:
        body = await request.body()
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            kind = {"content-type": "application/json"}
            got = await client.post(f"{self._to}/chat/completions", content=body, headers=kind)
        with contextlib.suppress(ValueError):
            answer = got.json()
            self.calls += 1
            self.tokens += answer.get("usage", {}).get("total_tokens", 0)
            with self._log.open("a") as log:
                log.write(json.dumps({"asked": json.loads(body), "answer": answer}) + "\n")
        return Response(got.content, got.status_code, media_type="application/json")


@contextlib.asynccontextmanager
async def counting(to: str, log: Path) -> AsyncIterator[Counter]:
    counter = Counter(to, log)
    app = Starlette(routes=[Route("/v1/chat/completions", counter.passed_on, methods=["POST"])])
    async with serving(app, listening(0)) as url:
        counter.url = f"{url}/v1"
        yield counter
