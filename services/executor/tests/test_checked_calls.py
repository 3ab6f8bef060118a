"""Calls as their checks leave them: policy, arguments, hooks, duplicates; one after the other, or at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from services.executor.tests.fixtures import a_task, an_mcp_task, new_run, with_tasks
from services.executor.tests.harness import TOOLS, StepHarness, calls
from services.executor.tests.test_approvals import LOOKUP, NOTE, a_robot_with, uses
from services.executor.tests.test_hooks import HookedShop

from executor.adapters.in_memory import ScriptedModel
from executor.adapters.in_memory_hooks import ScriptedHook
from executor.agents.operator_files import ALL_TEAMS
from executor.agents.prompt_files import parse
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.hook import HookAction, HookCall, HookPoint, HookReply
from rota_contracts.messages.text import Text


async def test_a_read_only_robot_refuses_a_planned_call_with_a_reason() -> None:  # EX-65 DEC-52
    task = an_mcp_task(1, executor_id="crm.note", mcp_tool="note", args=[{}])
    shop = StepHarness(ScriptedModel())
    run = await shop.task_done(with_tasks(task, robot=a_robot_with(autonomy="read_only")))
    assert (run.execution.results[0].error or "").startswith("autonomy read_only: crm.note isn't known to change")
    assert shop.tools.calls == []


async def test_an_assistant_of_a_read_only_robot_is_not_offered_what_may_change_something() -> None:  # EX-65
    reads = replace(TOOLS[0], read_only=True)
    shop = StepHarness(ScriptedModel(calls(NOTE), "done"), tools=[reads, *TOOLS[1:]])
    run = await shop.task_done(with_tasks(a_task(1), robot=a_robot_with(autonomy="read_only")))
    offered = [[tool.name for tool in prompt.tools] for prompt in shop.model.prompts]
    assert offered == [["crm__lookup", "ask_person"]] * 2
    assert (shop.tools.calls, run.execution.results[0].status) == ([], "completed")


async def test_a_run_below_a_tools_role_is_neither_offered_nor_lent_it(
    subtests: pytest.Subtests,
) -> None:  # EX-65 TG-24
    robot = a_robot_with(roles={"admin": ["crm.note"]})
    single = an_mcp_task(1, executor_id="crm.note", mcp_tool="note", args=[{"text": "hot"}])
    for role, offered, made in (("member", ["crm__lookup"], []), ("admin", ["crm__lookup", "crm__note"], ["note"])):
        with subtests.test(role):
            shop = StepHarness(ScriptedModel(calls(NOTE), "done"))
            run = await shop.task_done(with_tasks(a_task(1), run=new_run("human", robot=robot, role=role)))
            shown = [tool.name for tool in shop.model.prompts[0].tools if tool.server]
            assert [name for name in shown if name in ("crm__lookup", "crm__note")] == offered
            assert [use.tool for use in shop.tools.calls] == made
            assert ("there is no tool crm__note" in (uses(run.execution)[0].error or "")) is (made == [])
            alone = StepHarness(ScriptedModel())  # nor does a plan's own call reach it
            run = await alone.task_done(with_tasks(single, run=new_run("human", robot=robot, role=role)))
            assert [use.tool for use in alone.tools.calls] == made
            assert ("role admin: crm.note needs it" in (run.execution.results[0].error or "")) is (made == [])


async def test_arguments_are_checked_when_the_call_is_made(subtests: pytest.Subtests) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tools = [replace(TOOLS[1], parameters=schema)]
    for task, reply in (
        (an_mcp_task(1, executor_id="crm.note", mcp_tool="note", args=[{"id": "x"}]), "unused"),
        (a_task(1), calls(("crm__note", {"id": "x"}))),
    ):
        with subtests.test(task=task.executor_type):
            shop = StepHarness(ScriptedModel(reply, "done"), tools=tools)
            run = await shop.task_done(with_tasks(task))
            (use,) = uses(run.execution)
            assert use.error == "the arguments don't fit crm.note: id must be of type integer, not 'x'"
            assert shop.tools.calls == []


async def test_an_agent_may_have_its_calls_made_one_after_the_other() -> None:  # EX-51
    order: list[str] = []

    async def answer(use: ToolUse) -> str:
        order.append(f"+{use.arguments['name']}")
        await asyncio.sleep(0)
        order.append(f"-{use.arguments['name']}")
        return "found"

    wanted = calls(*(("crm__lookup", {"name": name}) for name in "ABC"))
    for text, seen in (("serial", "+A-A+B-B+C-C"), ("parallel", "+A+B+C-A-B-C")):
        agent = parse("experts.writer", f"---\ncalls: {text}\n---\nWrite.", teams=ALL_TEAMS)
        shop = StepHarness(ScriptedModel(wanted, "done"), agent=agent)
        shop.tools._answer = answer
        run = await shop.task_done(with_tasks(a_task(1)))
        assert "".join(order) == seen
        assert [use.arguments["name"] for use in uses(run.execution)] == ["A", "B", "C"]
        assert {use.status for use in uses(run.execution)} == {ToolStatus.COMPLETED}
        order.clear()


async def test_an_assistant_without_progress_is_warned_and_then_has_no_tools() -> None:  # EX-86
    shop = StepHarness(ScriptedModel(*[calls(LOOKUP)] * 7, "It doesn't work."))
    run = await shop.task_done(with_tasks(a_task(1)))
    warned = ["brought nothing new" in prompt.messages[-1].text() for prompt in shop.model.prompts]
    assert warned == [False, False, False, False, True, True, True, True]
    assert [bool(prompt.tools) for prompt in shop.model.prompts] == [True] * 7 + [False]
    assert len(shop.tools.calls) == 1
    assert run.execution.results[0].output == Text(inline="It doesn't work.")


def hooked(
    answer: Callable[[HookCall], Awaitable[HookReply | None]], *replies: Any
) -> tuple[StepHarness, ScriptedHook]:
    hook = ScriptedHook(HookPoint.BEFORE_TOOL_CALL, answer=answer)
    return HookedShop(ScriptedModel(*replies, last="done"), hook), hook


async def test_a_hook_before_a_call_changes_it_once_and_the_change_is_saved_before_it() -> None:  # EX-49
    async def other(call: HookCall) -> HookReply:
        return HookReply(name="crm__note", arguments={"text": "hooked"})

    shop, hook = hooked(other, calls(LOOKUP))
    run = await shop.task_done(with_tasks(a_task(1)))
    assert [(use.tool, use.arguments) for use in shop.tools.calls] == [("note", {"text": "hooked"})]
    begun = next(entry for entry in run.unsaved if entry.kind == "CallsBegun")
    assert (begun.data["by"], begun.data["uses"][0]["arguments"]) == (["scripted"], {"text": "hooked"})
    assert len(hook.calls) == 1
    assert not uses(run.execution)[0].idempotent  # as the other tool


async def test_a_hook_that_cancels_a_call_is_its_result() -> None:  # EX-49
    async def no(call: HookCall) -> HookReply:
        return HookReply(action=HookAction.CANCEL, reason="not today")

    shop, _ = hooked(no, calls(LOOKUP))
    run = await shop.task_done(with_tasks(a_task(1)))
    assert [use.error for use in uses(run.execution)] == ["hook scripted cancelled it: not today"]
    assert (shop.tools.calls, run.execution.results[0].status) == ([], "completed")


async def test_what_a_hook_makes_of_a_call_is_checked_once_more(subtests: pytest.Subtests) -> None:  # EX-49 EX-65
    for name, why in (("crm__note", "autonomy read_only: crm.note"), ("crm__drop", "there is no tool crm__drop")):

        async def other(call: HookCall, name: str = name) -> HookReply:
            return HookReply(name=name)

        with subtests.test(name):
            shop, _ = hooked(other, calls(LOOKUP))
            shop.tools._tools = [replace(TOOLS[0], read_only=True), *TOOLS[1:]]
            run = await shop.task_done(with_tasks(a_task(1), robot=a_robot_with(autonomy="read_only")))
            assert (uses(run.execution)[0].error or "").startswith(why)
            assert shop.tools.calls == []
