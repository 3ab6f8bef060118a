"""The addresses and connections that webhooks are sent over, with the system's own resolver and real sockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import cast

import pytest

from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.domain.outgoing_message import OutgoingMessage
from rota_common.errors import Permanent
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_common.urls import Resolver, checked_target, networks
from rota_contracts.messages.delivery import DeliveryContent, DeliveryContext
from rota_contracts.messages.text import Text
from rota_contracts.robots.preferences import WebhookTarget
from rota_contracts.robots.robot import Robot
from tests.integration.delivery.receivers import HttpReceiver, Manner

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
WRITTEN = ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:7f00:1]", "0", "localhost", "x@127.0.0.1"]


def outgoing() -> OutgoingMessage:
    at, owner = datetime(2026, 3, 2, 12, tzinfo=UTC), {"team_id": "acme", "member_id": "ann"}
    return OutgoingMessage(
        delivery_id="d1",
        request_id="r1",
        at=at,
        created_at=at,
        content=DeliveryContent(summary="s", body=Text(inline="b")),
        body="b",
        context=DeliveryContext.model_validate(owner | {"execution_id": "e1", "trigger_type": "event"}),
        robot=Robot.model_validate(owner | {"robot_config": {"identity": {"role": "analyst"}}}),
    )


class Names:
    """A name server with scripted answers; the last one is repeated."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return [self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]]


async def sent(receiver: HttpReceiver, resolver: Resolver, *hosts: str) -> None:
    async with webhook_client() as client:
        allowed = networks("127.0.0.1/32")
        channel = HttpxWebhook(client, timeout=2, secrets=InMemoryTeamSecrets(), allowed=allowed, resolver=resolver)
        for host in hosts:
            await channel.send(WebhookTarget(url=receiver.url(host=host)), outgoing())


@pytest.mark.parametrize("host", WRITTEN)
async def test_the_resolved_address_is_checked_however_it_is_written(host: str) -> None:  # F22
    with pytest.raises(Permanent, match="not a public address"):
        await checked_target(f"http://{host}/")


async def test_a_name_that_changes_after_it_was_checked_changes_nothing(receiver: HttpReceiver) -> None:  # F22
    names = Names("127.0.0.1", "169.254.169.254")
    await sent(receiver, names, "moving.test")
    assert (names.asked, len(receiver.got)) == (1, 1)
    with pytest.raises(Permanent, match=r"169\.254\.169\.254, which is not a public address"):
        await sent(receiver, names, "moving.test")
    assert len(receiver.got) == 1


async def test_cookies_are_not_sent_to_another_receiver_at_the_same_address(receiver: HttpReceiver) -> None:
    receiver.will_answer(200, 200, set_cookie="session=of-the-first; Path=/")
    await sent(receiver, Names("127.0.0.1"), "one.test", "two.test", "one.test")
    assert len(receiver.got) == 3
    assert not any("cookie" in got.headers for got in receiver.got)


@asynccontextmanager
async def server(handle: Manner) -> AsyncIterator[HttpReceiver]:
    """The port of a server, whose connections are all over when it ends."""
    connections = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with contextlib.suppress(asyncio.IncompleteReadError):  # the client has closed it
            await handle(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as started:
        yield HttpReceiver(started.sockets[0].getsockname()[1])
        await asyncio.gather(*connections)


async def test_a_receiver_is_asked_over_one_connection_for_each_of_its_names() -> None:
    connections, answered = 0, 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections, answered
        connections += 1
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
            writer.write(OK)
            answered += 1

    async with server(handle) as receiver:
        await sent(receiver, Names("127.0.0.1"), "one.test", "two.test", "one.test", "two.test", "one.test")
    assert (connections, answered) == (2, 5)


async def test_a_kept_connection_that_is_closed_under_a_request_costs_no_attempt() -> None:
    requests = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the first request of a connection, and closes it as soon as the second one comes."""
        nonlocal requests
        await reader.readuntil(b"}")
        requests += 1
        writer.write(OK)
        await reader.readuntil(b"HTTP/1.1")
        writer.transport.abort()

    async with server(handle) as receiver:
        await sent(receiver, Names("127.0.0.1"), "one.test", "one.test")
    assert requests == 2
