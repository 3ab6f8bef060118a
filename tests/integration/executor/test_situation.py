"""The situation of a clock run over a real bus and a real database, and after a crash (EX-11, F9)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory import ScriptedTools
from executor.domain.conversation.chat import Tool
from executor.domain.planning.parsing import SECTIONS
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.bus import short_ack_wait
from rota_common.testing.crash import crash
from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, openai_server
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import Waiting
from rota_contracts.messages.plan import ListPlans, PlanItem, PlanPage
from rota_contracts.messages.trigger import TriggerType
from tests.integration.executor.fixtures import ANSWERS, ASKS, Script
from tests.integration.executor.harness import Harness, kind, kinds, scripted

QUICK = {"lease": 0.5, "answer_patience": 0.5}
REPORT = "\n\n".join(f"## {name}\nquiet" for name in SECTIONS)


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(Script(inspiration=[REPORT] * 9)) as server:
        yield server


@pytest.fixture
async def settings(tmp_path: Path, model: OpenAIServer, nats: EmbeddedServer) -> dict[str, Any]:
    await short_ack_wait(nats.url, "executor")
    return scripted(tmp_path / "connectors", model.url) | QUICK


class Plans:
    """What the scheduler says is planned: something else each time. The first answer waits until `go` is set."""

    def __init__(self, system: Harness, *, holds: bool = False) -> None:
        self.asked = list[ListPlans]()
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        system.plans = self
        if not holds:
            self.go.set()

    async def __call__(self, asked: ListPlans) -> PlanPage:
        self.asked.append(asked)
        text = f"Call number {len(self.asked)}"
        self.reached.set()
        await self.go.wait()
        owner: dict[str, Any] = {"team_id": TEAM, "member_id": MEMBER, "created_at": NOON}
        return PlanPage(items=[PlanItem(**owner, plan_id="p1", messages=[{"content": text}])])


class Web(ScriptedTools):
    """A tool that searches; no replica has to connect to it."""

    def __init__(self) -> None:
        super().__init__([Tool("web__search", "web", "search", "Searches the web", idempotent=True)])

    async def close(self) -> None: ...


def reports(model: OpenAIServer) -> list[ModelRequest]:
    """How the inspiration agent was asked."""
    return [asked for asked in model.asked if kind(asked) == "inspiration"]


async def test_a_clock_run_sees_its_situation(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-11
    plans = Plans(system)
    system.waiting = [Waiting(execution_id="q1", type=TriggerType.EVENT, about="Initech", queued_at=NOON)]
    async with system.executor(**settings):
        await system.request("e1")
        await system.until(lambda execution: execution.status.over, "e1")
        model.script = Script(inspiration=[REPORT], goals=[ASKS])
        await system.request("e2", type="human")
        await system.until(lambda execution: execution.status is ExecStatus.WAITING, "e2")
        await system.request("c1", type="clock")
        done = await system.until(lambda execution: execution.status.over, "c1")
        replay = await system.replay("c1")
    (asked,) = reports(model)
    pending, _, happened = asked.words.partition('name="since then">\n')
    assert [line for line in pending.splitlines() if "Call number 1" in line or "Initech" in line] == [
        "- planned without a time: Call number 1",
        "- waits to begin since Monday 2026-03-02 12:00: Initech",
    ]
    assert "task.add: Look at Globex; it asks: Which Globex?" in pending
    assert 'completed: lead.created from leads {"company": "Globex"} - Globex is hot.' in happened
    assert plans.asked == [ListPlans(team_id=TEAM, member_id=MEMBER, limit=20)]
    assert (done.status, done.notes, replay.same, replay.difference) == (ExecStatus.COMPLETED, [], True, "")


async def test_the_next_report_sees_runs_since_the_last(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-11
    async with system.executor(**settings):
        for execution_id, type in (("e1", "event"), ("c1", "clock"), ("e2", "human"), ("c2", "clock")):
            await system.request(execution_id, type=type)
            await system.until(lambda execution: execution.status.over, execution_id)
    first, second = (asked.words.partition('name="since then">\n')[2] for asked in reports(model))
    assert ("lead.created from leads" in first, "task.add: Look at Globex" in first) == (True, False)
    assert ("lead.created from leads" in second, "task.add: Look at Globex" in second) == (False, True)
    assert "clock: Monday 12:00" in second  # the last report's own run ended after its report


async def test_interventions_come_back_as_feedback(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-11
    script = Script("run: Score it", inspiration=[REPORT])
    model.script = script
    async with system.executor(**settings):
        await system.request("e1")
        await script.reached.wait()
        await system.intervene("instruct", "Be kinder than last time", execution_id="e1")
        script.go.set()
        await system.until(lambda execution: execution.status.over, "e1")
        await system.request("c1", type="clock")
        await system.until(lambda execution: execution.status.over, "c1")
    (asked,) = reports(model)
    assert "  - a person, instruct: Be kinder than last time" in asked.words


async def test_a_run_goes_on_without_a_scheduler_and_says_so(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-11
    plans = Plans(system, holds=True)
    async with system.executor(**settings):
        await system.request("c1", type="clock")
        done = await system.until(lambda execution: execution.status.over, "c1")
    plans.go.set()
    silent = "scheduler didn't answer rota.v1.rpc.scheduler.list_plans within 2 s"
    assert (done.status, done.notes) == (ExecStatus.COMPLETED, [f"inspiration: {silent}"])
    assert f'name="pending">\n(nothing)\n(not known: {silent})' in reports(model)[0].words


async def test_after_a_crash_in_the_report_the_situation_is_not_gathered_again(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-11 F9
    plans, script = Plans(system), Script("inspiration", inspiration=[REPORT] * 2)
    model.script = script
    first = await system.start(**settings)
    await system.request("c1", type="clock")
    await script.reached.wait()
    await crash(first.service)
    script.go.set()
    async with system.executor(**settings):
        done = await system.until(lambda execution: execution.status.over, "c1")
        replay = await system.replay("c1")
    assert (done.status, len(plans.asked), replay.same) == (ExecStatus.COMPLETED, 1, True)
    one, other = reports(model)
    assert one.body["messages"] == other.body["messages"]
    assert kinds(model) == dict.fromkeys(ANSWERS, 1) | {"inspiration": 2}


async def test_what_was_looked_up_before_a_crash_is_not_looked_up_again(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:  # EX-11 F9
    tools = Web()
    monkeypatch.setattr("executor.adapters.real.McpTools", lambda servers, **_: tools)
    await system.keep(a_robot(config={"resources": {"agents": ["experts.scorer"], "mcp": [{"id": "web"}]}}, rev=2))
    looks, script = Completion([("web__search", {"q": "Globex"})]), Script("inspiration", inspiration=[REPORT] * 2)
    model.script = lambda asked: script(asked) if asked.body["messages"][-1]["role"] == "tool" else looks
    first = await system.start(**settings)
    await system.request("c1", type="clock")
    await script.reached.wait()
    await crash(first.service)
    model.script = script
    script.replies["tasks"] = ['{"nothing_to_do": "all is well"}']
    script.go.set()
    async with system.executor(**settings):
        done = await system.until(lambda execution: execution.status.over, "c1")
        replay = await system.replay("c1")
    assert (done.status, done.inspiration and done.inspiration.content) == (ExecStatus.COMPLETED, REPORT)
    assert [use.arguments for use in tools.calls] == [{"q": "Globex"}]
    said = [asked.body["messages"][-1]["content"] for asked in reports(model)]
    assert [len(said), *("\nsearch answered\n" in each for each in said[1:])] == [3, True, True]
    assert (replay.same, replay.difference) == (True, "")


async def test_after_a_crash_while_the_situation_is_gathered_it_is_gathered_again(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-11 F9
    plans = Plans(system, holds=True)
    first = await system.start(**settings)
    await system.request("c1", type="clock")
    await plans.reached.wait()
    await crash(first.service)
    plans.go.set()
    async with system.executor(**settings):
        done = await system.until(lambda execution: execution.status.over, "c1")
    (asked,) = reports(model)
    assert (done.status, len(plans.asked)) == (ExecStatus.COMPLETED, 2)
    assert "Call number 2" in asked.words
    assert kinds(model) == dict.fromkeys(ANSWERS, 1) | {"inspiration": 1}
