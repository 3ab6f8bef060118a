"""The links of the chaos suite: what gets through a cut, and what comes after."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rota_common.testing.patience import PATIENCE_S
from tests.chaos.link import HOST, Link

pytestmark = pytest.mark.integration


@pytest_asyncio.fixture
async def link() -> AsyncIterator[Link]:
    """To a server that says its own address, then whatever it hears."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"%s:%d\n" % (HOST.encode(), port))
        with contextlib.suppress(OSError):
            while data := await reader.read(100):
                writer.write(data)
        writer.transport.abort()

    server = await asyncio.start_server(echo, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    link = Link(port, own_address=True)
    await link.open()
    yield link
    await link.close()
    server.close()


@contextlib.asynccontextmanager
async def connected(link: Link) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(HOST, link.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


async def line(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.readline(), PATIENCE_S)


async def test_a_server_behind_a_link_says_the_links_address(link: Link) -> None:
    async with connected(link) as (reader, _):
        assert await line(reader) == f"{HOST}:{link.port}\n".encode()


async def test_what_is_sent_into_a_cut_arrives_once_it_is_healed(link: Link) -> None:
    async with connected(link) as (reader, writer):
        await line(reader)
        link.cut(reset=False)
        writer.write(b"hello\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readline(), 0.2)
        link.heal()
        assert await line(reader) == b"hello\n"


async def test_a_reset_ends_connections_and_refuses_new_ones_until_it_is_healed(link: Link) -> None:
    async with connected(link) as (reader, _):
        await line(reader)
        link.cut(reset=True)
        assert await line(reader) == b""
    async with connected(link) as (refused, _):
        assert await line(refused) == b""
    link.heal()
    async with connected(link) as (again, _):
        assert await line(again)
