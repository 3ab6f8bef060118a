"""Live events and body limits over a real HTTP connection."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from rota_common.bus.router import Router
from rota_contracts.catalog import EXECUTION_STARTED
from rota_contracts.messages.execution import ExecutionStartedV1
from tests.integration.gateway.harness import HOOK, Gateway, error_of, messages, serving, signed
from tests.integration.gateway.stand_ins import answering

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
async def served(acme: Gateway) -> AsyncIterator[Gateway]:
    async with serving(acme) as made:
        yield made


async def test_a_team_follows_its_own_activity(served: Gateway) -> None:  # TG-23, TG-40
    headers = {"authorization": f"Bearer {served.key}"}
    async with (
        answering("executor", served.nats_url, Router()) as executor,
        served.http.stream("GET", "/v1/teams/acme/stream", headers=headers) as answer,
    ):
        lines = answer.aiter_lines()
        assert await anext(lines) == ": listening"
        for team in ("other", "acme"):
            fact = ExecutionStartedV1(team_id=team, member_id="leader", execution_id=f"e-{team}", started_at=AT)
            await executor.publish(EXECUTION_STARTED, fact, caused_by=team)
        data = await anext(line async for line in lines if line.startswith("data:"))
    assert '"execution_id":"e-acme"' in data.replace(" ", "")


async def test_a_body_of_unknown_size_is_cut_off_at_the_limit(served: Gateway) -> None:  # TG-32
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100 * 1024 * 1024:
            sent += 16_384
            yield b"x" * 16_384

    headers = {**signed(b"{}"), "transfer-encoding": "chunked"}
    try:
        answer = await served.http.post(HOOK, content=endless(), headers=headers)
        assert error_of(answer) == (413, "too_large")
    except httpx.TransportError:  # the server closed the connection during the upload
        pass
    assert sent < 10 * 1024 * 1024
    assert await messages(served.nats_url) == 0
