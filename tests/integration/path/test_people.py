"""People and agents on real servers: whose files stand in a call, where they begin, and when they end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from rota.client import Api
from rota.errors import CliError
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, openai_server
from tests.integration.path.harness import StackWithMail, System, a_stack, a_team

pytestmark = pytest.mark.asyncio(loop_scope="module")

FRIEND = {
    "AGENTS.md": "---\nteams: ['*']\ncontext: open\n---\nYou are a friend.",
    "SOUL.md": "You are dry.",
    "USER.md": "Your new user.",
}
KEEPER = {"AGENTS.md": "---\nteams: ['*']\n---\nYou keep what is found.", "USER.md": "A user of the company."}
HELLO = [{"role": "user", "content": "Hello."}]


@dataclass
class Person:
    """A member's API, with a key of that member."""

    api: Api
    name: str
    model: OpenAIServer

    async def ask(self, agent: str, **more: Any) -> ModelRequest:
        """What the agent's model was asked in a call of this person."""
        before = len(self.model.asked)
        answer = await self.api.of_team("POST", f"/agents/{agent}/call", json={"messages": HELLO, **more})
        assert answer["error"] == ""
        return self.model.asked[before]

    async def files(self, agent: str) -> dict[str, str]:
        listed = (await self.api.of_team("GET", f"/agents/{agent}/files"))["files"]
        found = dict[str, str]()
        for path in (file["path"] for file in listed):
            async with self.api.download(f"/agents/{agent}/files/{path}") as answer:
                found[path] = (await answer.aread()).decode()
        return found

    async def put(self, agent: str, path: str, text: str) -> None:
        await self.api.of_team("PUT", f"/agents/{agent}/files/{path}", content=text.encode())


@dataclass
class World:
    """A team of its own on the module's servers; `other` is a second one."""

    system: System
    other: System
    model: OpenAIServer
    ends: AsyncExitStack

    async def person(self, name: str, team: System | None = None) -> Person:
        """A new person of a team, with a key."""
        of = team or self.system
        await of.api.of_team("POST", "/members", json={"member_id": name, "email": f"{name}@example.com"})
        key = (await of.api.create_key("member", "", member=name))["api_key"]
        return Person(await self.ends.enter_async_context(Api(of.stack.url, of.team, key=key)), name, self.model)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: "Hello.") as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(
    shared_nats: EmbeddedServer,
    mongo_server: EmbeddedServer,
    prefix: str,
    model: OpenAIServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[StackWithMail]:
    folder, agents = tmp_path_factory.mktemp("rota"), tmp_path_factory.mktemp("agents")
    for agent, files in (("friend", FRIEND), ("keeper", KEEPER)):
        (agents / agent).mkdir()
        for name, text in files.items():
            (agents / agent / name).write_text(text)
    environ = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}
    servers = {"nats_url": shared_nats.url, "mongo_url": mongo_server.url, "mongo_prefix": prefix}
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ROTA_AGENTS_DIR", str(agents))
        async with a_stack(folder, **servers, connector="openai", environ=environ) as made:
            yield made


@pytest_asyncio.fixture(loop_scope="module")
async def world(stack: StackWithMail, model: OpenAIServer) -> AsyncIterator[World]:
    async with AsyncExitStack() as ends:
        teams = [await ends.enter_async_context(a_team(stack, f"t{uuid4().hex[:8]}")) for _ in range(2)]
        yield World(*teams, model, ends)


async def test_each_person_has_own_files_with_an_agent_and_sees_no_others(world: World) -> None:  # EX-82 EX-89
    ann, ben = await world.person("ann"), await world.person("ben")
    namesake = await world.person("ann", world.other)
    for person, words in ((ann, "I am Ann."), (ben, "I am Ben."), (namesake, "I am the other Ann.")):
        await person.put("keeper", "USER.md", words)
    for person, words in ((ann, "I am Ann."), (ben, "I am Ben."), (namesake, "I am the other Ann.")):
        asked = await person.ask("keeper")
        assert "You keep what is found." in asked.system
        assert (asked.words.count("I am "), words in asked.words) == (1, True)
        assert "of the company" not in asked.system
    cid = await world.person("cid")
    asked = await cid.ask("keeper")
    assert "A user of the company." in asked.system
    assert asked.words == "Hello."
    asked = await Person(world.system.api, "", world.model).ask("keeper")
    assert (asked.system, asked.words) == ("You keep what is found.", "Hello."), "this key is no person's"


async def test_first_calls_at_once_seed_an_open_agents_files_once(world: World) -> None:  # EX-83
    ann, ben = await world.person("ann"), await world.person("ben")
    await ann.put("friend", "USER.md", "I am Ann.")
    asked = await asyncio.gather(*(ann.ask("friend") for _ in range(5)))
    assert {each.words for each in asked} == {asked[0].words}, "all of them read the same"
    assert await ann.files("friend") == {"SOUL.md": "You are dry.", "USER.md": "I am Ann."}
    await ann.api.of_team("DELETE", "/agents/friend/files/SOUL.md")
    assert "dry" not in (await ann.ask("friend")).words, "what she has deleted doesn't come back"
    assert await ben.files("friend") == {}
    await ben.ask("friend")
    assert await ben.files("friend") == {name: FRIEND[name] for name in ("SOUL.md", "USER.md")}


async def test_files_end_with_the_person(world: World) -> None:  # EX-82 EX-83
    ann, ben = await world.person("ann"), await world.person("ben")
    for person in (ann, ben):
        await person.put("friend", "USER.md", "I was here.")
        await person.ask("friend")
    await world.system.api.of_team("DELETE", "/members/ann")
    with pytest.raises(CliError, match="no member of team"):
        await ann.ask("friend")
    again = await world.person("ann")
    assert await again.files("friend") == {}
    await again.ask("friend")
    assert (await again.files("friend"))["USER.md"] == "Your new user."
    assert (await ben.files("friend"))["USER.md"] == "I was here."
