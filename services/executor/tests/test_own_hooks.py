"""An agent's own hooks, `create` and `next`, in calls of agents."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory import InMemoryCalls, ScriptedModel, ScriptedProcesses
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.agents.agent_file import AgentFileError
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents, parse
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.model_port import NoAnswer
from executor.steps.models import Models
from executor.steps.own_hooks import HookMeans
from executor.tool_ports import NotBegun, ToolFailed
from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, TEAM, SetClock, a_robot
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import Message
from rota_contracts.model import ALL
from rota_contracts.robots.robot import Robot

Reply = dict[str, Any] | str | None
Hook = Callable[[dict[str, Any]], Awaitable[Reply] | Reply]


class Keepers:
    """An executor with these agents, by their front matter; `hooks`: the processes by name; `asked`: what they got."""

    def __init__(self, folder: Path, model: ScriptedModel, hooks: dict[str, Hook], **agents: str) -> None:
        folder.mkdir(exist_ok=True)
        for name, front in agents.items():
            agent_id = name.replace("_", ".")
            (folder / f"{agent_id}.md").write_text(f"---\nteams: [{TEAM}]\n{front}\n---\nYou are {agent_id}.")
        self.model, self.hooks = model, hooks
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.processes = ScriptedProcesses(answer=self._answer)
        connectors = Connectors("rehearsal", environ={})
        mine = connectors._all["rehearsal"]
        connectors._all |= {"large": replace(mine, id="large"), "secret": replace(mine, id="secret", teams=frozenset())}
        views = TeamViews(agents=Agents(folder), connectors=connectors)
        models = Models(views=views, real=model, rehearsal=model)
        self.calls = InMemoryCalls()
        self.call = CallAgents(
            calls=self.calls,
            runs=InMemoryRuns(),
            models=models,
            clock=SetClock(),
            lease=LeaseSettings("first", 30),
            hooks=HookMeans(processes=self.processes, calls=self.calls, models=models),
        )

    async def _answer(self, name: str, call: ProcessCall) -> str | None:
        given: Any = call.args[0]
        self.asked.append((name, given))
        reply: Any = self.hooks[name](given)
        if asyncio.iscoroutine(reply):
            reply = await reply
        return reply if isinstance(reply, str) or reply is None else json.dumps(reply)

    async def ask(self, agent: str = "yao.keeper", **fields: Any) -> AgentReply:
        given = {"call_id": "c1", "team_id": TEAM, "member_id": ALL, "assistant_id": agent}
        return await self.call(CallAgent.model_validate(given | {"messages": [Message(content="Keep it.")]} | fields))

    def sent(self, number: int) -> list[str]:
        return [message.text() for message in self.model.prompts[number].messages]


def always(**reply: Any) -> Hook:
    return lambda given: reply


def kept(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": message["id"]} for message in given["messages"]]


HOOKED = "hooks: {next: to.judge}"
CREATE, NEXT = "hooks: {create: keeper.create}", "hooks: {next: keeper.next}"


async def test_a_hook_that_creates_calls_an_agent_as_the_specification_shows(tmp_path: Path) -> None:  # EX-87
    results = []

    def create(given: dict[str, Any]) -> Reply:
        if not given["results"]:
            messages = [{"role": "user", "content": "Classify this content..."}]
            options = {"skip": {"output": True, "history": True}, "metadata": {"source": "keeper"}}
            return {"call": {"agent_id": "yao.keeper.classify", "messages": messages, "options": options}}
        results.extend(given["results"])
        kind = given["results"][0]["response"]["completion"]["response"]["kind"]
        return {"messages": [*kept(given), {"role": "system", "text": f"It is of the kind {kind}."}]}

    classify = {"classify.next": always(data={"sure": True})}
    model = ScriptedModel('{"kind": "bill"}', "kept")
    world = Keepers(
        tmp_path,
        model,
        {"keeper.create": create, **classify},
        yao_keeper=CREATE,
        yao_keeper_classify="hooks: {next: classify.next}",
    )
    reply = await world.ask(chat_id="chat", locale="de", metadata={"for": "the keeper alone"})
    assert (reply.content, reply.error) == ("kept", "")
    completion = {"content": '{"kind": "bill"}', "response": {"kind": "bill"}}
    response = {"completion": completion, "next": {"sure": True}, "notes": []}
    assert results == [
        {"agent_id": "yao.keeper.classify", "content": '{"kind": "bill"}', "response": response, "error": ""}
    ]
    assert world.sent(0) == ["You are yao.keeper.classify.", "Classify this content..."]
    assert world.sent(1) == ["You are yao.keeper.", "Keep it.", "It is of the kind bill."]
    of = [(name, given["metadata"], given["callers"], given["locale"]) for name, given in world.asked]
    assert of == [
        ("keeper.create", {"for": "the keeper alone"}, [], "de"),
        ("classify.next", {"source": "keeper"}, ["yao.keeper"], "de"),
        ("keeper.create", {"for": "the keeper alone"}, [], "de"),
    ]


async def test_create_sets_messages_connector_options_and_uses(tmp_path: Path) -> None:  # EX-98
    def create(given: dict[str, Any]) -> Reply:
        assert (given["options"], given["uses"], given["connector"]) == ({"temperature": 0.7}, {"web": "disabled"}, "")
        first, last = given["messages"]
        return {
            "messages": [{"id": first["id"], "text": "You are brief."}, {"id": last["id"]}],
            "connector": "large",
            "options": {"temperature": 0.1, "max_tokens": 10},
            "uses": {"fetch": "builtin"},
        }

    front = f"{CREATE}\nconnector_options: {{connectors: [large]}}\nuses: {{web: disabled}}"
    front += "\noptions: {temperature: 0.7, extra_headers: {x-key: theirs}}"
    world = Keepers(tmp_path, ScriptedModel("kept"), {"keeper.create": create}, yao_keeper=front)
    reply = await world.ask()
    assert (reply.content, reply.response, reply.hooked) == ("kept", None, None)
    prompt = world.model.prompts[0]
    assert (world.sent(0), prompt.connector.id) == (["You are brief.", "Keep it."], "large")
    assert prompt.options == {"temperature": 0.1, "max_tokens": 10, "extra_headers": {"x-key": "theirs"}}


async def test_next_changes_the_answer_and_gives_data_beside_it(tmp_path: Path) -> None:  # EX-98
    def change(given: dict[str, Any]) -> Reply:
        assert (given["content"], given["response"]) == ('{"a": 1}', {"a": 1})
        assert [message["role"] for message in given["messages"]] == ["system", "user", "assistant"]
        return {"content": '{"a": 2}', "data": ["checked"]}

    world = Keepers(tmp_path, ScriptedModel('{"a": 1}'), {"keeper.next": change}, yao_keeper=NEXT)
    reply = await world.ask()
    assert (reply.content, reply.response) == ('{"a": 2}', {"a": 2})
    completion = {"content": '{"a": 1}', "response": {"a": 1}}
    assert reply.whole_response() == {"completion": completion, "next": ["checked"], "notes": []}
    world.hooks["keeper.next"] = always()
    world.model._last = "as it is"
    reply = await world.ask(call_id="c2")
    assert reply.whole_response() == {
        "completion": {"content": "as it is", "response": None},
        "next": None,
        "notes": [],
    }


async def test_next_lets_the_model_go_on_a_few_times(tmp_path: Path) -> None:  # EX-98
    def insist(given: dict[str, Any]) -> Reply:
        return {"messages": [*kept(given), {"role": "user", "text": f"Once more, after {given['again']}."}]}

    world = Keepers(tmp_path, ScriptedModel("a", "b", "c", "d", "e"), {"keeper.next": insist}, yao_keeper=NEXT)
    reply = await world.ask(streamed=True)
    assert reply.content == "d"
    assert world.sent(1) == ["You are yao.keeper.", "Keep it.", "a", "Once more, after 0."]
    assert len(world.sent(3)) == 8
    assert len({prompt.step_id for prompt in world.model.prompts}) == len(world.model.prompts) == 4
    assert all(prompt.on_text is None for prompt in world.model.prompts)
    why = "hook keeper.next failed next: it was passed over: expected an answer: the model has been asked again 3 times"
    assert reply.hooked is not None
    assert reply.hooked.notes == [why]


WRONG: dict[str, tuple[Hook, str]] = {
    "prose": (lambda given: "well", "expected a reply in JSON, got 'well'"),
    "a list": (lambda given: "[1]", "expected a JSON object with an action, got [1]"),
    "an unknown field": (always(model="large"), "model: Extra inputs are not permitted"),
    "a field of next": (
        always(content="no"),
        "a hook create may set connector, messages, options, uses, or call, not ",
    ),
    "an unknown parameter": (always(options={"api_base": "http://evil"}), "options: expected some of temperature, "),
    "a parameter of another type": (always(options={"max_tokens": "5"}), "options.max_tokens: expected a whole number"),
    "a connector of others": (always(connector="secret"), "connector secret isn't for team"),
    "a service that isn't there": (always(uses={"smell": "builtin"}), "uses: expected some of search, vision"),
    "an agent that isn't there": (always(uses={"web": "experts.none"}), "uses.web: there is no agent experts.none"),
    "no messages": (always(messages=[]), "expected at least one message of the role user"),
    "a call and more": (
        always(call={"agent_id": "a", "messages": [{"content": "x"}]}, connector="large"),
        "expected a call alone, got it with connector",
    ),
    "a promise": (lambda given: None, "it promised its reply for later"),
}


async def test_a_reply_that_cannot_be_used_ends_the_call_and_says_why(tmp_path: Path) -> None:
    world = Keepers(tmp_path, ScriptedModel("kept"), {}, yao_keeper=CREATE)
    for name, (hook, why) in WRONG.items():
        world.hooks["keeper.create"] = hook
        reply = await world.ask(call_id=name)
        assert reply.error.startswith(f"hook keeper.create failed: {why}"), name
    picky = f"{CREATE}\nconnector_options: {{connectors: [large]}}"
    other = Keepers(tmp_path, ScriptedModel(), {"keeper.create": always(connector="rehearsal")}, yao_keeper=picky)
    why = "agent yao.keeper may be asked with the connectors large, not 'rehearsal'"
    assert (await other.ask()).error == f"hook keeper.create failed: {why}"
    world.hooks["keeper.create"] = always(action="cancel", reason="not today")
    assert (await world.ask(call_id="cancelled")).error == "hook keeper.create cancelled it: not today"
    assert world.model.prompts == []


async def test_a_hook_that_fails_is_passed_over_where_its_file_says_so(tmp_path: Path) -> None:
    def slow(given: dict[str, Any]) -> Reply:
        raise ToolFailed("no answer within 5 s: outcome unknown")

    def away(given: dict[str, Any]) -> Reply:
        raise NotBegun("can't call process keeper.next: no responder")

    front = "hooks: {create: {process: keeper.create, timeout: 2s, on_failure: continue}, next: keeper.next}"
    hooks = {"keeper.create": slow, "keeper.next": away}
    world = Keepers(tmp_path, ScriptedModel("kept"), hooks, yao_keeper=front)
    reply = await world.ask()
    assert (reply.content, reply.error) == ("kept", "")
    assert reply.hooked is not None
    assert [note.partition(":")[0] for note in reply.hooked.notes] == [
        "hook keeper.create failed create",
        "hook keeper.next failed next",
    ]
    front = front.replace("next: keeper.next", "next: {process: keeper.next, on_failure: cancel}")
    strict = Keepers(tmp_path, ScriptedModel("kept"), hooks, yao_keeper=front)
    reply = await strict.ask()
    assert (reply.content, reply.error) == (
        "",
        "hook keeper.next failed: can't call process keeper.next: no responder",
    )


def calls(agent_id: str) -> Hook:
    """A hook that calls this agent once, and gives its caller what came of it."""

    def hook(given: dict[str, Any]) -> Reply:
        if given["results"]:
            return {"data": given["results"]}
        return {"call": {"agent_id": agent_id, "messages": [{"role": "user", "content": "Go on."}]}}

    return hook


async def test_agents_that_call_each_other_come_to_an_end(tmp_path: Path) -> None:  # EX-87
    chain = {f"n{number}": f"hooks: {{next: to.n{number + 1}}}" for number in range(6)}
    hooks = {f"to.n{number}": calls(f"n{number}") for number in range(1, 7)}
    world = Keepers(tmp_path / "chain", ScriptedModel(), hooks, **chain)
    found = (await world.ask("n0")).whole_response()
    for _ in range(4):
        found = found["next"][0]
        error, found = found["error"], found["response"]
    assert error == "expected at most 3 agents that wait for each other: n0 → n1 → n2 → n3 → n4"
    assert len(world.model.prompts) == 4
    hooks = {"to.a": calls("a"), "to.b": calls("b")}
    world = Keepers(tmp_path / "circle", ScriptedModel(), hooks, a="hooks: {next: to.b}", b="hooks: {next: to.a}")
    found = (await world.ask("a")).whole_response()
    assert found["next"][0]["response"]["next"][0]["error"] == "agent a is at work already: a → b → a"
    assert len(world.model.prompts) == 2


async def test_a_hook_calls_a_few_agents_and_those_of_its_team_alone(tmp_path: Path) -> None:
    def insatiable(given: dict[str, Any]) -> Reply:
        return {"call": {"agent_id": "experts.none", "messages": [{"content": "Go on."}]}}

    world = Keepers(tmp_path, ScriptedModel(), {"keeper.create": insatiable}, yao_keeper=CREATE)
    reply = await world.ask()
    assert reply.error == (
        "hook keeper.create failed: expected at most 4 calls of agents by the hooks of a call or a turn"
    )
    results = world.asked[-1][1]["results"]
    assert len(results) == 4
    assert {each["error"] for each in results} == {
        "there is no agent experts.none: `rota agents list` shows those that there are"
    }


async def test_in_a_robots_name_a_hook_calls_also_agents_that_the_robot_lacks(tmp_path: Path) -> None:
    robot = a_robot(config={"resources": {"agents": ["yao.keeper"]}})

    async def find(team: str, member: str) -> Robot:
        return robot

    world = Keepers(tmp_path, ScriptedModel(), {"to.judge": calls("yao.judge")}, yao_keeper=HOOKED, yao_judge="")
    world.call = replace(world.call, find_robot=find)
    refused = await world.ask("yao.judge", member_id=MEMBER, call_id="c2")
    assert refused.error == f"robot {MEMBER} doesn't have agent yao.judge: name it among its agents"
    response: Any = (await world.ask(member_id=MEMBER)).whole_response()
    assert (response["next"][0]["content"], response["next"][0]["error"]) == ("done", "")
    assert [given["member_id"] for _, given in world.asked] == [MEMBER, MEMBER]


async def test_a_call_that_is_taken_over_asks_no_hook_and_no_model_twice(tmp_path: Path) -> None:  # EX-98
    def again(given: dict[str, Any]) -> Reply:
        if given["again"]:
            return {"content": f"{given['content']}, checked"}
        if given["results"]:
            return {"messages": [*kept(given), {"role": "user", "text": "Once more."}]}
        return {"call": {"agent_id": "yao.judge", "messages": [{"content": "Is it good?"}]}}

    hooks: dict[str, Hook] = {"keeper.create": always(options={"top_p": 0.5}), "keeper.next": again}
    answers = ["first", "good", "second"]
    for crash in range(len(answers)):
        replies: list[Any] = [*answers]
        replies.insert(crash, Transient("the provider is away"))
        world = Keepers(
            tmp_path / str(crash),
            ScriptedModel(*replies),
            hooks,
            yao_keeper="hooks: {create: keeper.create, next: keeper.next}",
            yao_judge="",
        )
        with pytest.raises(Transient):
            await world.ask()
        assert (await world.ask()).content == "second, checked"
        assert len(world.model.prompts) == 4
        ids = [given["step_id"] for _, given in world.asked]
        assert len(ids) == len(set(ids)) == 4


async def test_an_agent_that_cannot_be_asked_now_is_no_failure_of_its_callers_model(tmp_path: Path) -> None:
    """Else the caller's model would be asked at a fallback."""
    hooks: dict[str, Hook] = {"to.judge": calls("yao.judge")}
    model = ScriptedModel("a draft", NoAnswer("the provider is away", after=7.0))
    world = Keepers(tmp_path, model, hooks, yao_keeper=HOOKED, yao_judge="")
    with pytest.raises(Transient, match="the provider is away") as failed:
        await world.ask()
    assert (type(failed.value), failed.value.after) == (Transient, 7.0)


async def test_the_agents_of_an_aborted_call_are_not_asked_on(tmp_path: Path) -> None:
    reached, cancelled = asyncio.Event(), asyncio.Event()

    async def hang(prompt: Any) -> str:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    hooks: dict[str, Hook] = {"to.judge": calls("yao.judge")}
    model = ScriptedModel(answer=hang)
    world = Keepers(tmp_path, model, hooks, yao_keeper="hooks: {create: to.judge}", yao_judge="")
    world.call = replace(world.call, lease=LeaseSettings("first", 1))
    asking = asyncio.create_task(world.ask(chat_id="chat"))
    await reached.wait()
    under_way = {call.agent_id: call for call in await world.calls.under_way(TEAM, chat_id="chat")}
    assert {*under_way} == {"yao.keeper", "yao.judge"}
    await world.calls.abort(under_way["yao.keeper"], team=TEAM)
    assert (await asking).error == "the call was aborted"
    assert cancelled.is_set()


def test_a_file_whose_hooks_are_no_names_of_processes_is_refused() -> None:
    fine = parse("a", "---\nteams: '*'\nhooks: {create: crm.check, next: {process: crm.note, timeout: 9s}}\n---\nDo.")
    assert fine.hooks.create is not None
    assert (fine.hooks.create.process, fine.hooks.next and fine.hooks.next.timeout) == ("crm.check", "9s")
    for wrong in ("crm.check", "{before: crm.check}", "{create: 'no spaces'}", "{next: {process: a, timeout: 5m}}"):
        with pytest.raises(AgentFileError, match=r"expected hooks in the front matter of a\.md to be a mapping of"):
            parse("a", f"---\nteams: '*'\nhooks: {wrong}\n---\nDo.")
