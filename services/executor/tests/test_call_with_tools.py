"""Calls of agents with tools, without a run: their rounds are saved, and another replica goes on with them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.abort_calls import AbortCalls
from executor.adapters.in_memory import (
    InMemoryBlobs,
    InMemoryCalls,
    InMemoryFiles,
    InMemoryRobots,
    ScriptedModel,
    ScriptedProcesses,
    ScriptedTools,
)
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.mcp_servers import Http, Server
from executor.adapters.mcp_tools import McpTools
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.skill_files import Skills, beside
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.call_with_tools import CallWithTools
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.robot_hooks import HooksOfRobots
from executor.spending.budget_port import AtCeiling
from executor.steps.hook_chain import HookChain
from executor.steps.models import Models
from executor.steps.notify_hooks import NotifyHooks
from executor.steps.own_hooks import HookMeans
from executor.steps.redacted_calls import RedactedTools
from executor.tool_ports import Tools
from executor.tools.registry import Registry
from executor.tools.robot_tools import RobotTools
from executor.tools.searches import SearchTools
from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, TEAM, SetClock, a_robot
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_contracts.messages.agent import AbortCalls as Abortion
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import Message
from rota_contracts.model import ALL

LEASE = 10.0
FIND = Tool("shop__find", "shop", "find", "Finds orders.", idempotent=True, read_only=True)
PAY = Tool("shop__pay", "shop", "pay", "Pays.")
DROP = Tool("shop__drop", "shop", "drop", "Drops all.", destructive=True)
OTHER = Tool("vault__open", "vault", "open")
AGENT = "---\nteams: '*'\nmcp: {servers: [{server_id: shop}]}\n---\nYou keep the shop."


def uses(*names: str, **arguments: Any) -> ModelReply:
    calls = [ToolCall(id=f"{name}-{n}", name=name, arguments=arguments) for n, name in enumerate(names)]
    return ModelReply(calls=calls)


def a_call(call_id: str = "c1", member: str = ALL, **fields: Any) -> CallAgent:
    of = {"call_id": call_id, "team_id": TEAM, "member_id": member, "assistant_id": "keeper"}
    return CallAgent.model_validate(of | {"messages": [Message(content="What is due?")]} | fields)


def secrets(team: str) -> Sequence[str]:
    return ("hunter2",)


class World:
    """Replicas that share a store, a model and tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write(AGENT)
        self.calls, self.robots = InMemoryCalls(), InMemoryRobots()
        self.clock = self.calls.clock = SetClock()
        self.model = ScriptedModel()
        self.tools = ScriptedTools([FIND, PAY, DROP, OTHER])
        self.connectors = Connectors("rehearsal", environ={})

    def write(self, text: str) -> None:
        (self.folder / "keeper.md").write_text(text)

    def answer(self, work: Callable[[ToolUse], Awaitable[str]]) -> None:
        self.tools = ScriptedTools([FIND, PAY, DROP, OTHER], answer=work)

    def replica(self, owner: str = "first", *, lease: float = LEASE, tools: Tools | None = None) -> CallAgents:
        with_tools = CallWithTools(
            calls=self.calls,
            tools=RedactedTools(tools or self.tools, secrets),
            recording=ScriptedTools(),
            clock=self.clock,
            owner=owner,
            known_secrets=secrets,
        )
        return CallAgents(
            calls=self.calls,
            runs=InMemoryRuns(),
            models=Models(
                views=TeamViews(
                    agents=Agents(self.folder), connectors=self.connectors, skills=Skills(beside(self.folder))
                ),
                real=self.model,
                rehearsal=self.model,
            ),
            clock=self.clock,
            lease=LeaseSettings(owner, lease),
            find_robot=self.robots.known,
            patience=5,
            with_tools=with_tools,
        )

    def offered(self) -> list[list[str]]:
        return [[tool.name for tool in prompt.tools] for prompt in self.model.prompts]

    def read(self) -> str:
        """What the model was last asked with."""
        return "\n".join(message.text() for message in self.model.prompts[-1].messages)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("executor.call_agents.POLL_S", 0)
    return World(tmp_path)


def called(reply: AgentReply) -> list[tuple[str, str]]:
    return [(tool.name, str(tool.status)) for tool in reply.tools]


async def after_a_stop(world: World, begun: asyncio.Event) -> AgentReply:
    """What a second replica answers to a call whose first one has stopped once this had `begun`."""
    first = world.replica()
    asking = asyncio.create_task(first(a_call()))
    await begun.wait()
    await first.close()
    await asyncio.gather(asking, return_exceptions=True)
    return await world.replica("second")(a_call())


async def test_an_agent_uses_its_tools_and_reads_what_they_answer(world: World) -> None:  # CL-28 EX-88
    world.model = ScriptedModel(uses(FIND.name, of="May"), uses(FIND.name, of="June"), "Two bills.")

    async def work(use: ToolUse) -> str:
        return f"bills of {use.arguments}, password=hunter2"

    world.answer(work)
    reply = await world.replica()(a_call())
    assert (reply.content, reply.error) == ("Two bills.", "")
    assert called(reply) == [(FIND.name, "completed")] * 2
    assert [use.arguments for use in world.tools.calls] == [{"of": "May"}, {"of": "June"}]
    assert world.offered() == [[DROP.name, FIND.name, PAY.name]] * 3
    assert "bills of {'of': 'June'}" in world.read()
    assert "hunter2" not in world.read() + reply.model_dump_json()
    assert len({prompt.step_id for prompt in world.model.prompts}) == 3
    assert await world.replica("second")(a_call()) == reply
    assert len(world.model.prompts) == 3


@pytest.mark.parametrize("member", [ALL, MEMBER], ids=["of no robot", "of a robot"])
async def test_an_agent_reads_a_skill_that_it_names(world: World, member: str) -> None:  # CL-28
    for name in ("bills", "hiring"):
        (world.folder / "skills" / name).mkdir(parents=True)
        text = f"---\ndescription: How {name} are sorted\nteams: '*'\n---\nSort {name} by month."
        (world.folder / "skills" / name / "SKILL.md").write_text(text)
    world.write("---\nteams: '*'\nskills: [bills]\n---\nYou keep the shop.")
    world.model = ScriptedModel(uses("skill_search", query="bills sorted"), "May, June.")
    world.robots.put(a_robot(config={"resources": {"agents": ["keeper"]}}))
    unused: Any = None
    tools = RobotTools(mcp=world.tools, registry=Registry({}, SearchTools(ask=unused).used()))
    reply = await world.replica(tools=tools)(a_call(member=member))
    assert (reply.content, called(reply)) == ("May, June.", [("skill_search", "completed")])
    assert world.offered() == [["skill_search"]] * 2
    prompts = [prompt.messages[0].text() for prompt in world.model.prompts]
    assert all("<name>bills</name>" in text and "hiring" not in text for text in prompts)
    assert world.model.prompts[-1].messages[-1].text() == "<skill>\n# bills\nSort bills by month.\n</skill>"


@pytest.mark.parametrize(
    ("tool", "made", "outcome"), [(FIND, 2, "completed"), (PAY, 1, "unknown")], ids=["idempotent", "not idempotent"]
)
async def test_after_a_crash_a_begun_call_is_made_again_only_if_it_may_be(
    world: World, tool: Tool, made: int, outcome: str
) -> None:  # CL-28
    world.model = ScriptedModel(uses(tool.name), "Done.")
    begun = asyncio.Event()

    async def work(use: ToolUse) -> str:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return "found"

    world.answer(work)
    reply = await after_a_stop(world, begun)
    assert (reply.content, called(reply)) == ("Done.", [(tool.name, outcome)])
    assert len({use.step_id for use in world.tools.calls}) == 1
    assert len(world.tools.calls) == made
    assert len(world.model.prompts) == 2
    assert ("outcome unknown" in world.read()) is (outcome == "unknown")


async def test_a_call_that_has_no_room_below_a_ceiling_goes_on_where_it_was(world: World) -> None:
    full = AtCeiling("the team's ceiling is reached", need=1.0)
    world.model = ScriptedModel(uses(PAY.name), full, "Paid.")
    with pytest.raises(Transient, match="ceiling"):
        await world.replica()(a_call())
    assert (await world.replica("second")(a_call())).content == "Paid."
    assert len(world.tools.calls) == 1


async def test_tools_end_with_the_time_of_their_call(world: World) -> None:  # EX-91
    world.model = ScriptedModel(uses(FIND.name))
    ended = asyncio.Event()

    async def work(use: ToolUse) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "late"

    world.answer(work)
    reply = await world.replica()(a_call(timeout=0.05))
    assert reply.error == "no answer within 0.05 s"
    assert ended.is_set()


async def test_an_aborted_call_stops_its_tools(world: World) -> None:  # EX-80
    world.model = ScriptedModel(uses(FIND.name))
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work(use: ToolUse) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "late"

    world.answer(work)
    asking = asyncio.create_task(world.replica(lease=0.05)(a_call()))
    await begun.wait()
    assert (await AbortCalls(calls=world.calls)(Abortion(team_id=TEAM, call_id="c1"))).aborted == ["c1"]
    assert (await asking).error == "the call was aborted"
    assert ended.is_set()


async def test_a_round_that_comes_after_the_abortion_makes_no_calls(world: World) -> None:
    async def answer(prompt: Any) -> ModelReply:
        await AbortCalls(calls=world.calls)(Abortion(team_id=TEAM, call_id="c1"))
        return uses(PAY.name)

    world.model = ScriptedModel(answer=answer)
    assert (await world.replica()(a_call())).error == "the call was aborted"
    assert world.tools.calls == []


async def test_a_call_that_needs_a_persons_approval_is_refused(world: World) -> None:
    world.model = ScriptedModel(uses(DROP.name), "It must be dropped by hand.")
    reply = await world.replica()(a_call())
    assert called(reply) == [(DROP.name, "failed")]
    assert world.tools.calls == []
    assert "its server says that it may destroy something" in world.read()


async def test_in_the_name_of_a_robot_its_servers_its_autonomy_and_its_roles_hold(world: World) -> None:  # CL-28
    config = {
        "resources": {"mcp": [{"id": "shop"}, {"id": "vault"}], "agents": ["keeper"]},
        "autonomy": "supervised",
        "roles": {"admin": ["shop.drop"]},
    }
    world.robots.put(a_robot(config=config))
    world.model = ScriptedModel(uses(PAY.name, FIND.name), "Found.")
    reply = await world.replica()(a_call(member=MEMBER))
    assert called(reply) == [(PAY.name, "failed"), (FIND.name, "completed")]
    assert world.offered()[0] == [FIND.name, PAY.name]
    assert "autonomy supervised" in world.read()


async def test_a_server_of_another_team_and_tools_that_arent_the_agents_are_never_offered(world: World) -> None:
    """EX-84."""
    theirs = Server("shop", "Shop", Http("http://127.0.0.1:9/mcp", {}), teams=frozenset({"globex"}))
    tools = McpTools({"shop": theirs}, secrets=InMemoryTeamSecrets(), files=InMemoryFiles())
    world.model = ScriptedModel(uses(FIND.name), "No.")
    assert (await world.replica(tools=tools)(a_call("c1"))).tools == []
    world.model = ScriptedModel(uses(OTHER.name), "No.")
    assert called(await world.replica()(a_call("c2"))) == [(OTHER.name, "failed")]
    world.write("---\nteams: '*'\n---\nYou keep the shop.")
    world.model = ScriptedModel("No.")
    await world.replica()(a_call("c3"))
    world.write(AGENT)
    await world.replica()(a_call("c4", execution_id="e1"))
    await world.replica()(a_call("c5", assistant_id="rota.learning"))
    assert world.offered() == [[], [], []]
    assert world.tools.calls == []


async def test_after_so_many_rounds_the_agent_answers_without_tools(world: World) -> None:
    world.write(AGENT.replace("teams:", "max_iterations: 2\nteams:"))
    asked = [uses(FIND.name, of=number) for number in range(3)]
    world.model = ScriptedModel(*asked)
    reply = await world.replica()(a_call())
    assert len(reply.tools) == len(world.tools.calls) == 2
    assert world.offered()[-1] == []
    assert "maximum tool iterations: 2" in world.read()


async def test_a_streamed_call_has_the_pieces_of_its_answer_alone(world: World) -> None:
    text = "The first of these bills is due on Monday, and the second one is due on Friday. " * 3
    seen: list[AnswerPieceV1] = []

    async def answer(prompt: Any) -> ModelReply:
        said = text if len(world.model.prompts) > 1 else "Let me look for what is due. " * 9
        for begin in range(0, len(said), 11):
            await prompt.on_text(said[begin : begin + 11])
        return ModelReply(text=said, calls=uses(FIND.name).calls if said is not text else [])

    async def observe(piece: AnswerPieceV1) -> None:
        seen.append(piece)

    world.model = ScriptedModel(answer=answer)
    call = replace(world.replica(), observe_piece=observe)
    assert (await call(a_call(streamed=True))).content == text.strip()
    last = max(number for number, piece in enumerate(seen) if piece.piece == 0)
    assert "".join(piece.text for piece in seen[last + 1 :]) == text.strip()


async def test_a_model_without_calls_of_its_own_reads_of_its_tools_in_text(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    options = "{model: plain, key: $ENV.KEY, capabilities: {tool_calls: false}}"
    (folder / "plain.yaml").write_text(f"label: Plain\nteams: '*'\ntype: openai\noptions: {options}\n")
    world.connectors = Connectors("plain", environ={"KEY": "k"}, folder=folder)
    world.model = ScriptedModel(
        f'<tool_call>{{"name": "{FIND.name}", "arguments": {{"of": "May"}}}}</tool_call>', "One."
    )
    reply = await world.replica()(a_call())
    assert (reply.content, called(reply)) == ("One.", [(FIND.name, "completed")])
    assert world.offered() == [[], []]
    assert FIND.description in world.model.prompts[0].messages[0].text()
    assert "<tool_result>" in world.read()


async def test_a_call_says_who_does_what_for_its_agent_before_the_agents_file(world: World) -> None:  # CL-20
    search = Tool("shop__search", "shop", "search", "Searches.", idempotent=True)
    world.write(AGENT.replace("\n---\nYou", "\nuses: {web: disabled, fetch: disabled}\n---\nYou"))
    world.tools = ScriptedTools([FIND, search])
    world.model = ScriptedModel(uses("web_search", query="bills"), "Found.", "None.")
    reply = await world.replica()(a_call(uses={"web": "mcp:shop.search"}))
    assert (reply.content, called(reply)) == ("Found.", [("web_search", "completed")])
    assert "web_search" in world.offered()[0]
    await world.replica()(a_call("c2"))
    assert "web_search" not in world.offered()[-1]
    for said, wrong in (
        ({"vision": "builtin"}, "uses.vision: expected an agent or mcp:<server>.<tool>, because none is built in"),
        ({"vision": "seer"}, "uses.vision: there is no agent seer"),
    ):
        assert (await world.replica()(a_call(str(said), uses=said))).error.startswith(wrong)


async def test_each_answer_that_a_hook_lets_go_on_has_a_turn_of_its_own(world: World) -> None:  # EX-98 CL-28
    world.write(AGENT.replace("\n---\nYou", "\nhooks: {next: keeper.next}\n---\nYou"))
    world.model = ScriptedModel(
        uses(FIND.name, of="May"), "May is due.", uses(FIND.name, of="June"), "June is due, too."
    )

    async def reply_of(name: str, call: ProcessCall) -> str:
        given: Any = call.args[0]
        kept = [{"id": message["id"]} for message in given["messages"]]
        more = {"messages": [*kept, {"role": "user", "text": "And June?"}]}
        return json.dumps(more if given["again"] == 0 else {})

    replica = world.replica()
    means = HookMeans(processes=ScriptedProcesses(answer=reply_of), calls=world.calls, models=replica.models)
    reply = await replace(replica, hooks=means)(a_call())
    assert reply.content == "June is due, too."
    assert [use.arguments for use in world.tools.calls] == [{"of": "May"}, {"of": "June"}]
    assert len({use.step_id for use in world.tools.calls}) == 2
    assert len({prompt.step_id for prompt in world.model.prompts}) == 4
    assert "May is due." in world.read()


SEEKER = "---\nteams: '*'\n{}\nmcp: {{servers: [{{server_id: shop}}]}}\n---\nYou seek."


def of_agents(world: World) -> list[str]:
    """Who was asked, in this order."""
    said = [prompt.messages[0].text() for prompt in world.model.prompts]
    return ["seeker" if "You seek." in words else "keeper" for words in said]


async def test_another_agent_searches_the_web_for_the_caller_and_with_no_more_rights(world: World) -> None:  # CL-28
    world.write(AGENT.replace("\n---\nYou", "\nuses: {web: seeker}\nautonomy: supervised\n---\nYou"))
    (world.folder / "seeker.md").write_text(SEEKER.format("uses: {fetch: keeper, web: seeker}\nautonomy: full"))
    world.model = ScriptedModel(
        uses("web_search", query="bills"), uses(PAY.name, FIND.name), "May, by hunter2.", "It is May."
    )
    world.robots.put(a_robot(config={"resources": {"mcp": [{"id": "shop"}], "agents": ["keeper"]}}))
    reply = await world.replica()(a_call(member=MEMBER, chat_id="chat", timeout=60))
    assert (reply.content, called(reply)) == ("It is May.", [("web_search", "completed")])
    assert of_agents(world) == ["keeper", "seeker", "seeker", "keeper"]
    assert world.model.prompts[1].messages[-1].text().endswith("\nbills")
    assert 0 < world.model.prompts[1].timeout < 60
    # Who waits isn't offered, and what its caller may not do without a person, it may neither.
    assert world.offered()[0] == [DROP.name, FIND.name, PAY.name, "web_search"]
    assert world.offered()[1] == [DROP.name, FIND.name, PAY.name]
    assert "autonomy supervised" in "".join(message.text() for message in world.model.prompts[2].messages)
    assert [use.name for use in world.tools.calls] == [FIND.name]
    assert "May, by [REDACTED]." in world.read()


async def test_agents_that_ask_each_other_are_as_few_as_those_of_hooks(world: World) -> None:  # CL-28
    for number in range(5):
        front = SEEKER.format(f"uses: {{web: n{(number + 1) % 5}}}")
        (world.folder / f"n{number}.md").write_text(front)

    async def answer(prompt: Any) -> ModelReply:
        asks = any(tool.name == "web_search" for tool in prompt.tools) and len(prompt.messages) == 2
        return uses("web_search", query="more") if asks else ModelReply(text="Found.")

    world.model = ScriptedModel(answer=answer)
    assert (await world.replica()(a_call(assistant_id="n0"))).content == "Found."
    assert ["web_search" in tools for tools in world.offered()] == [True, True, True, False, True, True, True]


async def test_an_agent_that_a_tool_asked_is_not_asked_again_after_a_crash(world: World) -> None:  # CL-28
    world.write(AGENT.replace("\n---\nYou", "\nuses: {web: seeker}\n---\nYou"))
    (world.folder / "seeker.md").write_text(SEEKER.format("name: The seeker"))
    begun, asked = asyncio.Event(), list[str]()
    answers = {"keeper": [uses("web_search", query="bills")], "seeker": [uses(PAY.name)]}

    async def answer(prompt: Any) -> ModelReply:
        who = "seeker" if "You seek" in prompt.messages[0].text() else "keeper"
        asked.append(who)
        if answers[who]:
            return answers[who].pop()
        if not begun.is_set():  # the seeker has paid, and doesn't come to say so
            begun.set()
            await asyncio.Event().wait()
        return ModelReply(text=f"The {who} has it.")

    world.model = ScriptedModel(answer=answer)
    reply = await after_a_stop(world, begun)
    assert (reply.content, called(reply)) == ("The keeper has it.", [("web_search", "completed")])
    assert asked == ["keeper", "seeker", "seeker", "seeker", "keeper"]
    assert [use.name for use in world.tools.calls] == [PAY.name]


HOOKS = {
    "before_llm_call": [{"process": "crm.words"}],
    "before_tool_call": [{"process": "crm.check"}],
    "after_tool_call": [{"process": "crm.seen"}],
}


class HookedWorld:
    """A world with a robot whose hooks reply what `says` says; `asked`: what they got."""

    def __init__(self, world: World, **says: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.world, self.says = world, says
        self.asked, self.notify = list[dict[str, Any]](), NotifyHooks(blobs=InMemoryBlobs())
        config = {"resources": {"mcp": [{"id": "shop"}], "agents": ["keeper"]}, "hooks": HOOKS}
        world.robots.put(a_robot(config=config))

    def replica(self, owner: str = "first") -> CallAgents:
        replica = self.world.replica(owner)
        chain = HookChain(platform=(), processes=ScriptedProcesses(answer=self._answer))
        means = HooksOfRobots(chain=chain, notify=self.notify, calls=self.world.calls, models=replica.models)
        return replace(replica, robot_hooks=means)

    async def _answer(self, name: str, call: ProcessCall) -> str:
        given: Any = call.args[0]
        self.asked.append(given)
        says = self.says.get(name.removeprefix("crm."))
        return json.dumps(says(given) if says else {})

    def points(self) -> list[str]:
        return [given["point"] for given in self.asked]


def brief(given: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [*({"id": each["id"]} for each in given["messages"]), {"role": "user", "text": "Be brief."}]}


async def test_a_robots_hooks_hold_in_a_call_in_its_name(world: World) -> None:  # EX-44 CL-28
    def check(given: dict[str, Any]) -> dict[str, Any]:
        pays = given["tool"]["name"] == PAY.name
        return {"action": "cancel", "reason": "no money"} if pays else {"arguments": {"of": "June"}}

    hooked = HookedWorld(world, words=brief, check=check)
    world.model = ScriptedModel(uses(FIND.name, PAY.name, of="May"), "June.", "No robot.")
    reply = await hooked.replica()(a_call(member=MEMBER))
    await hooked.notify.idle()
    assert (reply.content, called(reply)) == ("June.", [(FIND.name, "completed"), (PAY.name, "failed")])
    assert [use.arguments for use in world.tools.calls] == [{"of": "June"}]
    assert [prompt.messages[-1].text() for prompt in world.model.prompts] == ["Be brief."] * 2
    assert "no money" in world.read()
    points = ["before_llm_call", *["before_tool_call"] * 2, *["after_tool_call", "before_llm_call"]]
    assert sorted(hooked.points()) == sorted(points)
    of = {(each["team_id"], each["member_id"], each["agent"], each["execution_id"]) for each in hooked.asked}
    assert of == {(TEAM, MEMBER, "keeper", "")}
    [seen] = [each["tool"] for each in hooked.asked if each["point"] == "after_tool_call"]
    assert (seen["arguments"], seen["error"], bool(seen["output"])) == ({"of": "June"}, None, True)
    await hooked.replica()(a_call("c2"))
    assert len(hooked.asked) == len(points)


async def test_a_robots_hook_cancels_a_call_in_its_name_and_chooses_among_its_connectors(world: World) -> None:  # EX-44
    hooked = HookedWorld(world, words=lambda given: {"action": "cancel", "reason": "not today"})
    assert (await hooked.replica()(a_call(member=MEMBER))).error == "hook crm.words cancelled it: not today"
    hooked.says["words"] = lambda given: {"model": "theirs"}
    assert "crm.words failed" in (await hooked.replica()(a_call("c2", member=MEMBER))).error
    assert world.model.prompts == []


async def test_a_robots_hooks_are_not_asked_again_after_a_crash(world: World) -> None:
    hooked, begun = HookedWorld(world, words=brief), asyncio.Event()

    async def answer(prompt: Any) -> ModelReply:
        if not any(message.role == "tool" for message in prompt.messages):
            return uses(PAY.name)
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return ModelReply(text="Paid.")

    world.model = ScriptedModel(answer=answer)
    first = hooked.replica()
    asking = asyncio.create_task(first(a_call(member=MEMBER)))
    await begun.wait()
    await first.close()
    await asyncio.gather(asking, return_exceptions=True)
    assert (await hooked.replica("second")(a_call(member=MEMBER))).content == "Paid."
    await hooked.notify.idle()
    assert sorted(hooked.points()) == sorted([*["before_llm_call"] * 2, "before_tool_call", "after_tool_call"])
    assert world.model.prompts[-1].messages == world.model.prompts[-2].messages
    assert len(world.tools.calls) == 1
