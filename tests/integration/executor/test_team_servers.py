"""MCP servers that teams wrote: beside the operator's, with the team's secrets, at public addresses alone."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest

from executor.adapters.guarded_transport import GuardedTransport
from executor.adapters.mcp_links import IDLE_S, OWN
from executor.adapters.mcp_tools import McpTools
from executor.tool_ports import NotBegun, OwnMeans
from rota_common.testing.mcp_server import MCPServer, mcp_server
from rota_common.testing.samples import NOON, TEAM
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_common.urls import networks
from rota_contracts.definitions.definition import Definition, DefinitionKind
from tests.integration.executor.test_tools import ECHO, at, failure, robot, use

LOOPBACK = partial(GuardedTransport, allowed=networks("127.0.0.0/8"))


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


def own(server: MCPServer, *, rev: int = 1, server_id: str = "store", team: str = TEAM) -> OwnMeans:
    spec = {"label": "Store", "url": server.url, "headers": {"authorization": "$SECRET.STORE"}}
    of: dict[str, Any] = {"team_id": team, "kind": DefinitionKind.MCP_SERVER, "id": server_id, "rev": rev}
    return OwnMeans({server_id: Definition(**of, spec=spec, written_at=NOON)})


def keys(server: MCPServer) -> set[str | None]:
    return {headers.get("authorization") for headers in server.headers}


async def a_server(stack: AsyncExitStack) -> MCPServer:
    return await stack.enter_async_context(mcp_server([ECHO]))


def tools(stack: AsyncExitStack, *servers: Any, **options: Any) -> McpTools:
    secrets = InMemoryTeamSecrets({TEAM: {"STORE": "Bearer s3cret"}})
    given: dict[str, Any] = {"secrets": secrets, "files": options.pop("files", None), "guard": LOOPBACK}
    made = McpTools({server.id: server for server in servers}, **given | options)
    stack.push_async_callback(made.close)
    return made


async def names(of: Any, *servers: str) -> Sequence[str]:
    return [tool.name for tool in await of.list(robot(**{name: [] for name in servers}))]


async def test_a_teams_server_is_called_with_its_secret_at_the_revision_that_is_asked_for(
    stack: AsyncExitStack,
) -> None:
    first, second = await a_server(stack), await a_server(stack)
    platform = tools(stack)
    before, after = platform.with_own(own(first)), platform.with_own(own(second, rev=2))
    for each in (before, after, before):
        assert await names(each, "store") == ["store__echo"]
        assert await each.call(use("echo", server="store"), team=TEAM) == "{}"
    assert (len(first.calls), len(second.calls), first.listings) == (2, 1, 1)
    assert keys(first) == keys(second) == {"Bearer s3cret"}
    assert await names(platform, "store") == []


async def test_the_platforms_goes_before_and_another_teams_of_the_platform_hides_nothing(stack: AsyncExitStack) -> None:
    mine, platforms = await a_server(stack), await a_server(stack)
    hidden = at(platforms, "vault", teams=frozenset({"globex"}))
    both = tools(stack, at(platforms, "store"), hidden)
    for server_id, asked in (("store", platforms), ("vault", mine)):
        await both.with_own(own(mine, server_id=server_id)).call(use("echo", server=server_id), team=TEAM)
        assert [len(asked.calls) for asked in (asked,)] == [1]
    theirs = both.with_own(own(mine, team="globex", server_id="shop"))
    assert "isn't for team acme" in await failure(theirs, use("echo", server="shop"))


async def test_a_private_address_is_refused_before_it_is_connected_to(stack: AsyncExitStack) -> None:
    server = await a_server(stack)
    guarded = tools(stack, guard=GuardedTransport).with_own(own(server))
    assert await names(guarded, "store") == []
    (problem,) = guarded.problems(robot(store=[]))
    assert "is not a public address" in problem
    assert "is not a public address" in await failure(guarded, use("echo", server="store"), NotBegun)
    assert server.headers == []


async def test_links_to_servers_of_teams_have_an_end(stack: AsyncExitStack) -> None:
    now, server = [0.0], await a_server(stack)
    many = tools(stack, monotonic=lambda: now[0])

    def held() -> int:
        return len(many._links._own[TEAM])

    for rev in range(1, OWN + 3):
        await many.with_own(own(server, rev=rev)).call(use("echo", server="store"), team=TEAM)
    assert held() == OWN
    now[0] = IDLE_S + 1
    await many.with_own(own(server, rev=1)).call(use("echo", server="store"), team=TEAM)
    assert held() == 1
    assert len(server.calls) == OWN + 3
