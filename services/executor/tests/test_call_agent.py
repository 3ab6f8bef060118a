"""Calls of agents with a store in memory: who asks the model, who waits, who takes over."""

import asyncio
import contextlib
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import new_run

from executor.abort_calls import AbortCalls
from executor.adapters.in_memory import InMemoryCalls
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents, parse
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, FindRobot, LeaseSettings, no_robot
from executor.domain.context.contexts import MAX_OVERFLOWS
from executor.domain.context.tokens import conversation_tokens
from executor.domain.conversation.chat import ModelReply
from executor.model_port import ContextOverflow, Prompt
from executor.steps.step_runner import Models
from rota_common.bus.rpc import StillWorking
from rota_common.errors import Permanent, Transient
from rota_common.testing.samples import MEMBER, TEAM, SetClock, a_robot
from rota_contracts.messages.agent import AbortCalls as Abortion
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent, ListCalls
from rota_contracts.messages.trigger import Message
from rota_contracts.robots.robot import Robot

LEASE = 10.0


class SlowModel:
    """Answers when it is let; `prompts` is what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self.fail: Exception | None = None
        self.text, self.cancelled = "", False

    async def complete(self, prompt: Prompt) -> ModelReply:
        self.prompts.append(prompt)
        self.reached.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.fail is not None:
            raise self.fail
        return ModelReply(text=self.text or f'{{"answer": {len(self.prompts)}}}')


class WatchedCalls(InMemoryCalls):
    def __init__(self) -> None:
        super().__init__()
        self.renewed = asyncio.Event()

    async def renew(self, call_id: str, *, owner: str, lease: timedelta) -> bool:
        held = await super().renew(call_id, owner=owner, lease=lease)
        self.renewed.set()
        return held


def views(agents: Agents | None = None) -> TeamViews:
    return TeamViews(agents=agents or Agents(), connectors=Connectors("rehearsal", environ={}))


class Replicas:
    """Executors that share a store and a model."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("executor.call_agents.POLL_S", 0)
        self.calls, self.model = WatchedCalls(), SlowModel()
        self.clock = self.calls.clock = SetClock()
        self._models = Models(views=views(), real=self.model, rehearsal=self.model)

    def replica(
        self, owner: str = "first", *, lease: float = LEASE, patience: float = 5, robot: FindRobot = no_robot
    ) -> CallAgents:
        hold, runs = LeaseSettings(owner, lease), InMemoryRuns()
        return CallAgents(
            calls=self.calls,
            runs=runs,
            models=self._models,
            clock=self.clock,
            lease=hold,
            find_robot=robot,
            patience=patience,
        )


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> Replicas:
    return Replicas(monkeypatch)


def a_call(**fields: Any) -> CallAgent:
    given = {"call_id": "c1", "team_id": TEAM, "member_id": MEMBER, "assistant_id": "rota.learning"}
    return CallAgent.model_validate(given | {"messages": [Message(content="Learn.")]} | fields)


async def rounds(count: int = 20) -> None:
    """Let everybody else have their turns."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_callers_choose_among_the_connectors_that_an_agent_offers(world: Replicas, tmp_path: Path) -> None:
    # CL-12
    (tmp_path / "rota.learning.md").write_text(
        "---\nteams: '*'\nconnector_options: {connectors: [rehearsal]}\n---\nLearn."
    )
    world.model.go.set()
    models = Models(views=views(Agents(tmp_path)), real=world.model, rehearsal=world.model)
    call = replace(world.replica(), models=models)
    refused = await call(a_call(call_id="c1", model="openai"))
    assert refused.error == "agent rota.learning may be asked with the connectors rehearsal, not 'openai'"
    assert (await call(a_call(call_id="c2", model="rehearsal"))).error == ""
    assert (await call(a_call(call_id="c3"))).error == ""
    assert len(world.model.prompts) == 2


async def test_pieces_of_an_answer_are_observed_where_the_caller_wants_them(world: Replicas) -> None:
    text = "The first of these bills is due on Monday, and the second one is due on Friday. " * 3
    seen: list[AnswerPieceV1] = []

    class Writing(SlowModel):
        async def complete(self, prompt: Prompt) -> ModelReply:
            if prompt.on_text is not None:
                for begin in range(0, len(text), 11):
                    await prompt.on_text(text[begin : begin + 11])
            return ModelReply(text=text)

    async def observe(piece: AnswerPieceV1) -> None:
        seen.append(piece)

    models = Models(views=views(), real=Writing(), rehearsal=Writing())
    call = replace(world.replica(), models=models, observe_piece=observe)
    assert (await call(a_call(call_id="c1"))).content == text.strip()
    assert seen == []
    await call(a_call(call_id="c2", streamed=True))
    assert "".join(piece.text for piece in seen) == text.strip()
    assert [(piece.call_id, piece.piece) for piece in seen] == [("c2", n) for n in range(1, len(seen) + 1)]


async def test_a_call_has_no_more_time_than_its_run(world: Replicas) -> None:  # EX-91
    runs, run = InMemoryRuns(), new_run()
    await runs.create(run, owner="a worker", lease=timedelta(minutes=1))
    assert run.execution.deadline_at is not None
    call = replace(world.replica(), runs=runs)
    world.model.go.set()
    for left in (700, 30, 0):
        world.clock.at = run.execution.deadline_at - timedelta(seconds=left)
        answer = await call(a_call(call_id=f"c{left}", execution_id=run.id))
    assert [prompt.timeout for prompt in world.model.prompts] == [600, 30]
    assert answer.error == "the deadline of execution e1 is over"


async def test_another_replica_waits_for_the_answer(world: Replicas) -> None:  # EX-88
    first = asyncio.create_task(world.replica("first")(a_call()))
    await world.model.reached.wait()
    second = asyncio.create_task(world.replica("second")(a_call()))
    await rounds()
    assert not second.done()
    world.model.go.set()
    expected = AgentReply(agent_id="rota.learning", content='{"answer": 1}', response={"answer": 1}, model="rehearsal")
    assert await second == await first == expected.model_copy(update={"rehearsed": True})
    assert len(world.model.prompts) == 1


async def test_a_claim_that_has_ended_is_taken_over_under_the_same_id(world: Replicas) -> None:  # EX-88
    await world.calls.claim("c1", team=TEAM, owner="dead", lease=timedelta(seconds=LEASE))
    asking = asyncio.create_task(world.replica()(a_call()))
    await rounds()
    assert world.model.prompts == []
    world.model.go.set()
    world.clock.forward(LEASE)
    assert (await asking).content == '{"answer": 1}'
    assert [prompt.step_id for prompt in world.model.prompts] == ["c1"]


async def test_a_replica_at_work_keeps_its_claim(world: Replicas) -> None:
    first = asyncio.create_task(world.replica("first", lease=0.03)(a_call()))
    await world.model.reached.wait()
    world.clock.forward(3600)
    world.calls.renewed.clear()
    await asyncio.wait_for(world.calls.renewed.wait(), 5)
    assert await world.calls.claim("c1", team=TEAM, owner="other", lease=timedelta(hours=1)) is False
    world.model.go.set()
    await first


async def test_a_long_answer_is_asked_for_again_and_joined(world: Replicas) -> None:
    replica = world.replica(patience=0.01)
    with pytest.raises(StillWorking, match=r"rota\.learning has no answer yet: ask again with call_id c1"):
        await replica(a_call())
    world.model.go.set()
    while True:
        with contextlib.suppress(StillWorking):
            answer = await replica(a_call())
            break
    assert answer.content == '{"answer": 1}'
    assert len(world.model.prompts) == 1


async def test_a_call_that_failed_temporarily_is_free_for_the_next_request(world: Replicas) -> None:
    world.model.go.set()
    world.model.fail = Transient("rate limited")
    with pytest.raises(Transient, match="rate limited"):
        await world.replica("first")(a_call())
    world.model.fail = None
    assert (await world.replica("second")(a_call())).content == '{"answer": 2}'


async def test_a_refusal_is_an_answer_and_kept(world: Replicas) -> None:  # EX-90
    world.model.go.set()
    world.model.fail = Permanent("no such model")
    refused = await world.replica("first")(a_call())
    world.model.fail = None
    assert refused.error == "no such model"
    assert await world.replica("second")(a_call()) == refused


async def test_a_replica_that_ends_leaves_its_calls_to_the_next(world: Replicas) -> None:
    ending = world.replica("first")
    asking = asyncio.create_task(ending(a_call()))
    await world.model.reached.wait()
    await ending.close()
    with pytest.raises(StillWorking):
        await asking
    world.model.go.set()
    assert (await world.replica("second")(a_call())).content == '{"answer": 2}'


async def test_without_an_execution_no_placeholder_is_left(world: Replicas) -> None:
    world.model.go.set()
    for number, agent in enumerate(sorted({agent.id for agent in Agents()._built_in.values()})):
        await world.replica()(a_call(call_id=f"c{number}", assistant_id=agent, locale="fr-FR"))
    prompts = [prompt.messages[0].text() for prompt in world.model.prompts]
    assert [text for text in prompts if "$" in text] == []
    assert any("a member of the team" in text for text in prompts)


async def test_the_agents_of_a_search_and_of_titles_are_called_like_any_other(world: Replicas) -> None:  # CL-21
    world.model.go.set()
    for name in ("needsearch", "keyword", "querydsl", "title"):
        answer = await world.replica()(a_call(call_id=name, assistant_id=f"__yao.{name}"))
        assert (answer.error, answer.model) == ("", "rehearsal")
    (*_, title) = world.model.prompts
    assert title.messages[0].text().startswith("Give the conversation a title")


async def test_without_an_execution_the_robots_identity_is_in_the_prompt(world: Replicas) -> None:  # EX-28, TG-34
    robot = a_robot(config={"identity": {"role": "Sales Help", "duties": ["Answer."]}}, system_prompt="Be brief.")

    async def find(team: str, member: str) -> Robot | None:
        return robot if (team, member) == (TEAM, MEMBER) else None

    world.model.go.set()
    answer = await world.replica(robot=find)(a_call(assistant_id="rota.message"))
    [prompt] = world.model.prompts
    for words in ("You are Sales Help", "- Answer.", "Be brief."):
        assert words in prompt.messages[0].text()
    assert (prompt.messages[-1].text(), list(prompt.tools)) == ("Learn.", [])
    assert answer.model == "rehearsal"


async def test_a_rehearsed_answer_quotes_the_request() -> None:
    models = Models(views=views(), real=SlowModel(), rehearsal=RehearsalModel())
    call = CallAgents(
        calls=InMemoryCalls(),
        runs=InMemoryRuns(),
        models=models,
        clock=SetClock(),
        lease=LeaseSettings("first", LEASE),
    )
    answer = await call(a_call(assistant_id="rota.message", messages=[Message(content="What is due?")]))
    assert (answer.content, answer.model) == ("Rehearsed answer to: What is due?", "rehearsal")


async def test_an_agent_that_the_robot_does_not_have_is_not_called_for_it(world: Replicas) -> None:  # EX-26
    robot = a_robot(agents=["experts.mine"])

    async def find(team: str, member: str) -> Robot | None:
        return robot

    reply = await world.replica(robot=find)(a_call(assistant_id="experts.theirs"))
    assert (reply.error, world.model.prompts) == (
        "robot ann doesn't have agent experts.theirs: name it among its agents",
        [],
    )
    own = await world.replica(robot=find)(a_call(call_id="c2", assistant_id="experts.mine"))
    assert own.error == "there is no agent experts.mine: `rota agents list` shows those that there are"
    world.model.go.set()
    platforms = await world.replica(robot=find)(a_call(call_id="c3", assistant_id="__yao.learning"))
    assert platforms.error == ""


async def test_an_agents_thoughts_are_in_no_reply_and_its_json_is_repaired(world: Replicas) -> None:  # EX-45, CL-22
    world.model.text = '<think>Perhaps {"passed": true}?</think>{"passed": false, "score": 0,}'
    world.model.go.set()
    reply = await world.replica()(a_call())
    assert (reply.content, reply.response) == ('{"passed": false, "score": 0,}', {"passed": False, "score": 0})


async def test_the_example_of_a_form_is_no_part_of_a_reply(world: Replicas) -> None:
    own = {"type": "insight", "content": "Ask early."}
    copied = {"type": "insight", "content": "one sentence that stands by itself"}
    world.model.text = json.dumps({"lessons": [copied, own]})
    world.model.go.set()
    form = '{"lessons": [{"type": "insight", "content": "one sentence that stands by itself"}]}'
    replica, agents = world.replica(), Agents()
    agents._built_in["rota.learning"] = parse("rota.learning", f"---\nteams: [acme]\n---\nAnswer {form}")
    models = Models(views=views(agents), real=world.model, rehearsal=world.model)
    reply = await replace(replica, models=models)(a_call(assistant_id="rota.learning"))
    assert reply.response == {"lessons": [{"type": "insight"}, own]}


async def test_a_question_that_its_model_finds_too_long_is_asked_again_with_less(world: Replicas) -> None:  # EX-60
    world.model.go.set()

    async def complete(prompt: Prompt) -> ModelReply:
        world.model.prompts.append(prompt)
        if conversation_tokens(prompt.messages) > 3_000:
            raise ContextOverflow("too long")
        return ModelReply(text="Learnt.")

    world.model.complete = complete  # type: ignore[method-assign]  # it refuses
    long = [Message(content="x" * 100_000), Message(content="What follows?")]
    assert (await world.replica()(a_call(messages=long))).content == "Learnt."
    last = world.model.prompts[-1].messages
    assert "characters left out, which don't fit into the context]" in last[1].text()
    assert last[2].text() == "What follows?"
    world.model.prompts = []
    monstrous = await world.replica()(a_call(call_id="c2", messages=[Message(content="日" * 900_000)] * 3))
    assert monstrous.content == "Learnt."
    assert len(world.model.prompts) <= MAX_OVERFLOWS + 1


async def test_an_aborted_call_is_cancelled_and_its_callers_hear_of_it_at_every_replica(world: Replicas) -> None:
    # EX-80
    first, second = world.replica("first", lease=0.01), world.replica("second", lease=0.01)
    asked, waiting = a_call(chat_id="chat"), a_call(chat_id="chat")
    callers = [asyncio.create_task(replica(call)) for replica, call in ((first, asked), (second, waiting))]
    await world.model.reached.wait()
    abort = AbortCalls(calls=world.calls)
    (listed,) = (await abort.under_way(ListCalls(team_id=TEAM))).calls
    assert (listed.id, listed.agent_id, listed.member_id, listed.chat_id) == ("c1", "rota.learning", MEMBER, "chat")
    others = Abortion(team_id="globex", call_id="c1"), Abortion(team_id=TEAM, call_id="c2")
    assert [(await abort(each)).aborted for each in others] == [[], []]
    assert (await abort(Abortion(team_id=TEAM, chat_id="chat"))).aborted == ["c1"]
    replies = await asyncio.gather(*callers)
    assert {reply.error for reply in replies} == {"the call was aborted"}
    assert (await first(asked)).error == "the call was aborted"  # a repeat
    assert (len(world.model.prompts), world.model.cancelled) == (1, True)
    assert (await abort.under_way(ListCalls(team_id=TEAM))).calls == []


async def test_calls_in_the_course_of_a_run_are_not_listed(world: Replicas) -> None:
    caller = asyncio.create_task(world.replica()(a_call(execution_id="e1")))
    await world.model.reached.wait()
    abort = AbortCalls(calls=world.calls)
    assert (await abort.under_way(ListCalls(team_id=TEAM))).calls == []
    assert (await abort(Abortion(team_id=TEAM, call_id="c1"))).aborted == []
    world.model.go.set()
    assert (await caller).error == ""
