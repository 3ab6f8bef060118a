"""Calls that wait for a person's approval, in the whole executor on a bus and stores in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED
from services.executor.tests.harness import TOOLS, calls

from executor.adapters.in_memory import ScriptedModel, ScriptedTools, in_memory
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.app import build
from executor.settings import Settings
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock, a_trigger
from rota_contracts import catalog
from rota_contracts.canonical_json import sha256_of
from rota_contracts.messages.approval import (
    Approval,
    ApprovalReply,
    ApprovalStatus,
    DecideApproval,
    Decision,
    ListApprovals,
    ReadApproval,
)
from rota_contracts.messages.control import Control, ControlAction, Intervene
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionRequestedV1, ReadExecution
from rota_contracts.messages.memory import Recall, RecallReply
from rota_contracts.messages.replay import ReplayExecution
from rota_contracts.messages.validation import CheckRules, RulesReply, ValidationResult
from rota_contracts.robots.robot import Robot

OWNER = {"team_id": TEAM, "member_id": MEMBER}
NOTE = ("crm__note", {"text": "hot", "api_key": "sk-live-4f9aB2c81dE07f6a"})
OTHER_NOTE = ("crm__note", {"text": "cold"})
LOOKUP = ("crm__lookup", {"name": "Globex"})
ASSISTANT = {"description": "Look", "executor_id": "experts.writer"}
SINGLE = {"executor_type": "mcp", "executor_id": "crm.note", "args": [{"text": "hot"}]}
SUPERVISED = {"autonomy": "supervised", "approvals": {"auto_approve": ["crm.lookup"]}}


def a_robot_with(**config: Any) -> Robot:
    whole = EQUIPPED.robot_config.model_dump(mode="json") | config
    given = EQUIPPED.model_dump(mode="json") | {"display_name": "Lead processor", "manager_id": "ann"}
    return Robot.model_validate(given | {"robot_config": whole})


class Office:
    """An executor, and the person who decides. The scheduler gives a slot back when it is asked for."""

    def __init__(self, *replies: Any, tasks: Any = (ASSISTANT,), **config: Any) -> None:
        self.clock = SetClock()
        self.bus = InMemoryBus()
        self.runs = InMemoryRuns(clock=self.clock)
        self.tools = ScriptedTools(TOOLS)
        plan = json.dumps({"tasks": [{"id": f"task-{n}", **task} for n, task in enumerate(tasks, 1)]})
        self.model = ScriptedModel("## Goals", plan, *replies, last="done")
        self.robot = a_robot_with(**(SUPERVISED | config))

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Office"]:
        """The executor, as a process of its own."""
        self.bus.answer(catalog.RECALL, self._recall)
        self.bus.answer(catalog.CHECK_RULES, self._check)
        adapters = in_memory(self.robot, rehearsal=self.model, tools=self.tools, runs=self.runs)
        runtime = Runtime(bus=self.bus, clock=self.clock)
        app = build(Settings(connector="rehearsal", sweep_interval=0.02), runtime=runtime, adapters=adapters)
        await app.service.start()
        await app.service.started.wait()
        try:
            yield self
        finally:
            await app.service.stop(1)

    async def _recall(self, request: Recall) -> RecallReply:
        return RecallReply()

    async def _check(self, request: CheckRules) -> RulesReply:
        return RulesReply(verdict=ValidationResult(passed=True, score=0.9))

    async def begin(self, *, mode: str | None = None, grant: int = 0, **given: Any) -> None:
        trigger = a_trigger(executor_mode=mode, **given)
        fact = ExecutionRequestedV1(execution_id="e1", trigger=trigger, requested_at=NOON, grant=grant, **OWNER)
        await self.bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by=f"t1-{grant}")
        await self.bus.settled()

    async def asked(self, team: str = TEAM, **given: Any) -> list[Approval]:
        return (await self.bus.ask(catalog.LIST_APPROVALS, ListApprovals(team_id=team, **given))).approvals

    async def read(self, approval: Approval, team: str = TEAM) -> Approval | None:
        request = ReadApproval(team_id=team, approval_id=approval.approval_id)
        return (await self.bus.ask(catalog.READ_APPROVAL, request)).approval

    async def decide(self, approval: Approval, decision: Decision, *, team: str = TEAM, **given: Any) -> ApprovalReply:
        about = {"approval_id": approval.approval_id, "arguments_sha256": approval.arguments_sha256, "by": "member:ann"}
        request = DecideApproval.model_validate({"team_id": team, "decision": decision} | about | given)
        return await self.bus.ask(catalog.DECIDE_APPROVAL, request)

    async def until(self, reached: Callable[[Execution], bool]) -> Execution:
        """The execution, once it is as far; a slot that it asks for is given."""
        granted = 0
        async with asyncio.timeout(PATIENCE_S):
            while True:
                execution = (
                    await self.bus.ask(catalog.READ_EXECUTION, ReadExecution(team_id=TEAM, execution_id="e1"))
                ).execution
                if execution is not None and reached(execution):
                    return execution
                wanted = max((fact.data.parks for fact in self.bus.facts(catalog.EXECUTION_RESUMABLE)), default=0)
                if wanted > granted:
                    granted = wanted
                    await self.begin(grant=granted)
                await asyncio.sleep(0)

    async def worked(self) -> Execution:
        """The execution, once its tasks are done."""
        return await self.until(lambda execution: execution.content is not None or execution.error is not None)

    async def replays(self) -> bool:
        return (await self.bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))).same

    def requested(self) -> list[Approval]:
        return [fact.data.approval for fact in self.bus.facts(catalog.APPROVAL_REQUESTED)]

    def ended(self) -> list[tuple[str, ApprovalStatus]]:
        facts = {fact.id: fact.data.approval for fact in self.bus.facts(catalog.APPROVAL_DECIDED)}
        return [(each.tool, each.status) for each in facts.values()]


def uses(execution: Execution) -> list[ToolUse]:
    (result, *_) = execution.results
    return [use for turn in result.turns for made in turn.rounds for use in made.uses]


def waits(execution: Execution) -> bool:
    return execution.status is ExecStatus.WAITING


async def test_a_call_waits_without_a_slot_and_is_made_once_it_is_approved() -> None:  # EX-56 EX-57 EX-58 DEC-10
    async with Office(calls(NOTE, LOOKUP)).open() as office:
        await office.begin()
        waiting = await office.until(waits)
        assert [use.status for use in uses(waiting)] == [
            ToolStatus.WAITING,
            ToolStatus.COMPLETED,
        ]  # what stands beside it
        assert [use.tool for use in office.tools.calls] == ["lookup"]
        assert (waiting.deadline_at, waiting.question) == (None, None)
        assert waiting.progress.text == "task task-1: waits for the approval of crm.note"
        (asked,) = await office.asked()
        (fact,) = office.bus.facts(catalog.APPROVAL_REQUESTED)
        assert (fact.data.approval, fact.data.robot, fact.data.manager_id) == (asked, "Lead processor", "ann")
        assert (asked.tool, asked.reason) == ("crm.note", "autonomy supervised: it may change something")
        assert asked.arguments == '{"api_key":"[REDACTED]","text":"hot"}'
        assert asked.arguments_sha256 == sha256_of(NOTE[1])
        assert asked.expires_at == asked.asked_at + timedelta(days=3)
        (parked,) = office.bus.facts(catalog.EXECUTION_PARKED)
        assert parked.data.reason == f"[Approval Required]\nTool: crm.note\nArgs: {asked.arguments}"
        reply = await office.decide(asked, Decision.APPROVE, note="fine")
        assert reply.approval is not None
        assert (reply.approval.status, reply.approval.decided_by, reply.approval.note) == (
            "approved",
            "member:ann",
            "fine",
        )
        done = await office.worked()
        assert [use.tool for use in office.tools.calls] == ["lookup", "note"]
        assert office.tools.calls[1].arguments == NOTE[1]
        assert [use.status for use in uses(done)] == [ToolStatus.COMPLETED] * 2
        assert [each.effect for each in done.interventions] == ["crm.note is approved by member:ann"]
        assert office.ended() == [("crm.note", "approved")]
        assert (await office.asked(), await office.read(asked)) == ([], reply.approval)
        assert await office.replays()


async def test_a_denial_is_a_result_that_the_model_reads() -> None:  # EX-57
    async with Office(calls(NOTE)).open() as office:
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked()
        await office.decide(asked, Decision.DENY, note="not this customer")
        done = await office.worked()
        assert office.tools.calls == []
        (use,) = uses(done)
        assert (use.status, use.error) == (ToolStatus.FAILED, "a person denied this call: not this customer")
        assert any("a person denied this call" in message.text() for message in office.model.prompts[3].messages)
        assert done.error is None
        assert office.ended() == [("crm.note", "denied")]
        assert await office.replays()


async def test_the_first_decision_holds_and_only_for_these_arguments(subtests: pytest.Subtests) -> None:  # DEC-57
    async with Office(calls(NOTE)).open() as office:
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked()
        with subtests.test("another hash"):
            forged = await office.decide(asked, Decision.APPROVE, arguments_sha256=sha256_of({"text": "cold"}))
            assert "the hash of others" in forged.refused
        with subtests.test("another team"):
            assert await office.decide(asked, Decision.APPROVE, team="initech") == ApprovalReply()
            assert (await office.read(asked, "initech"), await office.asked("initech")) == (None, [])
        with subtests.test("no such approval"):
            assert (await office.decide(asked, Decision.APPROVE, approval_id="guessed")).approval is None
        assert (office.tools.calls, [each.status for each in await office.asked()]) == ([], ["pending"])
        taken = await asyncio.gather(
            office.decide(asked, Decision.APPROVE), office.decide(asked, Decision.DENY, by="member:bob")
        )
        assert [bool(reply.refused) for reply in taken] == [False, True]
        assert taken[1].refused == "too late: it is approved by member:ann"
        assert (await office.decide(asked, Decision.APPROVE)).repeated
        await office.worked()
        assert (await office.decide(asked, Decision.APPROVE)).repeated
        assert "too late" in (await office.decide(asked, Decision.DENY)).refused
        assert len(office.tools.calls) == 1
        assert office.ended() == [("crm.note", "approved")]


async def test_always_means_this_run_and_this_tool_but_always_ask_asks_again(subtests: pytest.Subtests) -> None:
    for listed, asks in (([], 1), (["crm.note"], 2)):  # DEC-54 EX-57
        with subtests.test(always_ask=listed):
            approvals = {"always_ask": listed, "auto_approve": []}
            async with Office(calls(NOTE), calls(OTHER_NOTE), approvals=approvals).open() as office:
                await office.begin()
                for _ in range(asks):
                    await office.until(waits)
                    (asked,) = await office.asked()
                    await office.decide(asked, Decision.ALWAYS)
                    await office.until(lambda execution: not waits(execution))
                await office.worked()
                assert [use.arguments for use in office.tools.calls] == [NOTE[1], OTHER_NOTE[1]]
                assert len({each.approval_id for each in office.requested()}) == asks


async def test_a_call_without_a_decision_is_denied_by_the_stores_clock() -> None:  # DEC-10 DEC-57
    office = Office(calls(NOTE))
    async with office.open():
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked()
    office.clock.forward(7 * 86400)
    async with office.open():  # another process, a week later
        done = await office.worked()
        (use,) = uses(done)
        assert use.error == "no one approved this call within 3d, so it is denied"
        late = await office.decide(asked, Decision.APPROVE)
        assert (late.refused, late.approval and late.approval.decided_by) == ("too late: it is expired", "")
        assert (office.tools.calls, office.ended()) == ([], [("crm.note", "expired")])
        assert await office.replays()


async def test_a_decision_that_comes_after_its_time_has_no_effect() -> None:  # DEC-57
    async with Office(calls(NOTE), approvals={"wait": "1h"}).open() as office:
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked()
        office.clock.forward(3600)
        late = await office.decide(asked, Decision.APPROVE)
        assert "over" in late.refused or "expired" in late.refused
        await office.worked()
        assert office.tools.calls == []


async def test_the_approvals_of_a_run_that_was_stopped_are_withdrawn() -> None:  # EX-56
    async with Office(calls(NOTE)).open() as office:
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked()
        stop = Control(request_id="r1", team_id=TEAM, execution_id="e1", action=ControlAction.STOP, reason="no more")
        await office.bus.ask(catalog.CONTROL, stop)
        await office.until(lambda execution: execution.status is ExecStatus.CANCELLED)
        await office.bus.settled()
        assert office.ended() == [("crm.note", "withdrawn")]
        assert (await office.asked(), office.tools.calls) == ([], [])
        assert "too late: it is withdrawn" in (await office.decide(asked, Decision.APPROVE)).refused
        assert await office.replays()


async def test_a_task_that_is_one_call_waits_and_fails_with_the_denial() -> None:  # EX-56
    async with Office(tasks=(SINGLE,)).open() as office:
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked(execution_id="e1", member_id=MEMBER)
        await office.decide(asked, Decision.DENY)
        done = await office.worked()
        assert (done.results[0].error, office.tools.calls) == ("a person denied this call", [])
        assert await office.replays()


async def test_an_approved_process_is_called() -> None:  # EX-56
    process = {"executor_type": "process", "executor_id": "crm.pay", "args": ["Globex", 7]}
    async with Office(tasks=(process,)).open() as office:
        await office.begin()
        await office.until(waits)
        (asked,) = await office.asked()
        assert (asked.tool, asked.arguments) == ("crm.pay", '["Globex",7]')
        await office.decide(asked, Decision.APPROVE)
        done = await office.worked()
        assert done.results[0].output is not None
        assert done.results[0].output.inline == "crm.pay answered"


async def test_a_dry_run_asks_no_person() -> None:  # EX-07
    async with Office(calls(NOTE), autonomy="read_only").open() as office:
        office.clock.forward(1)
        await office.begin(mode="dryrun")
        await office.worked()
        assert (office.requested(), office.tools.calls) == ([], [])


async def test_a_members_word_in_an_admins_run_takes_the_admins_tools_away() -> None:  # EX-65 TG-24
    roles = {"autonomy": "full", "roles": {"admin": ["crm.note"]}}
    ask = '{"status": "need_input", "question": "What now?"}'
    async with Office(calls(NOTE), ask, calls(OTHER_NOTE), **roles).open() as office:
        await office.begin(type="human", role="admin", input={"messages": [{"content": "Note it."}]})
        await office.until(waits)
        said = [{"content": "Note that, too."}]
        word = Intervene(**OWNER, intervention_id="i1", action="instruct", messages=said, role="member")
        await office.bus.ask(catalog.INTERVENE, word)
        first, second = uses(await office.worked())
        assert (first.status, second.status) == (ToolStatus.COMPLETED, ToolStatus.FAILED)
        assert "there is no tool crm__note" in (second.error or "")
        assert [use.arguments["text"] for use in office.tools.calls] == ["hot"]
        assert await office.replays()
