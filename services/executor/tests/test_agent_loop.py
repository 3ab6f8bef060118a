"""An assistant with tools: it thinks, acts, observes, until it answers (EX-31, EX-32, EX-50 to EX-52)."""

import asyncio
from itertools import product
from string import Template
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, a_process_task, a_task, an_mcp_task, inside, new_run, with_tasks
from services.executor.tests.harness import DRAW, LOOKUP, NOTE, ScriptedModel, StepHarness, calls

from executor.agents.prompt_files import Agent
from executor.domain.conversation import loop
from executor.domain.conversation.chat import ChatMessage
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, MakeCalls, RunTurn
from executor.reads.replay import replay
from executor.tool_ports import NotBegun, ToolFailed
from rota_common.errors import Permanent, Transient
from rota_common.testing.samples import a_robot
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall

A, B = ("crm__lookup", {"name": "A"}), ("crm__lookup", {"name": "B"})


def one_task(**fields: Any) -> Run:
    return with_tasks(a_task(1, **fields))


def uses(run: Run) -> list[ToolUse]:
    return [use for each in run.execution.results[0].turns[-1].rounds for use in each.uses]


def output(run: Run) -> str:
    text = run.execution.results[0].output
    assert text is not None
    return text.inline or ""


async def test_an_assistant_uses_a_tool_sees_its_answer_and_answers() -> None:  # EX-31
    shop = StepHarness(ScriptedModel(calls(A, text="I'll look."), "Globex is fine."))
    run = await shop.task_done(one_task())
    assert output(run) == "Globex is fine."
    assert [use.arguments for use in shop.tools.calls] == [{"name": "A"}]
    assert [type(step) for step in shop.steps[:4]] == [RunTurn, BeginCalls, MakeCalls, RunTurn]
    called, answered = shop.model.prompts[1].messages[-2:]
    assert isinstance(called, ChatMessage)
    assert isinstance(answered, ChatMessage)
    assert (called.text(), [call.name for call in called.tool_calls]) == ("I'll look.", ["crm__lookup"])
    assert (answered.role, inside(answered.text()), answered.tool_call_id) == ("tool", "lookup answered", "c1")


async def test_tools_that_are_wanted_together_run_at_the_same_time() -> None:  # EX-51
    together, within = asyncio.Barrier(3), list[str]()

    async def meeting(use: ToolUse) -> str:
        within.append(use.arguments["name"])
        await asyncio.wait_for(together.wait(), 5)
        return f"about {use.arguments['name']}"

    shop = StepHarness(ScriptedModel(calls(A, B, ("crm__lookup", {"name": "C"})), "done"))
    shop.tools._answer = meeting
    run = await shop.task_done(one_task())
    assert sorted(within) == ["A", "B", "C"]
    assert [use.output and use.output.inline for use in uses(run)] == ["about A", "about B", "about C"]
    shown = [inside(message.text()) for message in shop.model.prompts[1].messages if message.role == "tool"]
    assert shown == ["about A", "about B", "about C"]  # in the order they were asked for


async def test_the_assistant_sees_that_a_tool_is_unknown_and_it_is_not_called() -> None:  # EX-26 EX-52
    shop = StepHarness(ScriptedModel(calls(("shell", {"cmd": "ls"}), A), "done"))
    run = await shop.task_done(one_task())
    names = "ark_image_text2img__draw, crm__lookup, crm__note"
    assert [use.error for use in uses(run)] == [f"there is no tool shell: expected one of {names}", None]
    assert [use.name for use in shop.tools.calls] == ["crm__lookup"]
    shown = [inside(message.text()) for message in shop.model.prompts[1].messages if message.role == "tool"]
    assert shown[0] == f"error: there is no tool shell: expected one of {names}"


async def test_the_last_attempt_has_no_tools() -> None:
    wrong = '{"name": "translate", "arguments": {"to": "es"}}'
    shop = StepHarness(ScriptedModel(wrong, wrong, "Buenos días"))
    run = await shop.task_done(one_task())
    assert output(run) == "Buenos días"
    assert [bool(prompt.tools) for prompt in shop.model.prompts] == [True, True, False]
    shop = StepHarness(ScriptedModel(wrong, wrong, wrong))
    assert (await shop.task_done(one_task())).execution.results[0].status == "failed"


async def test_an_answer_with_nothing_but_refused_calls_is_thought_over_at_once() -> None:
    shop = StepHarness(ScriptedModel(calls(("shell", {})), "I can't."))
    run = await shop.task_done(one_task())
    assert (output(run), shop.tools.calls) == ("I can't.", [])
    assert [type(step) for step in shop.steps[:2]] == [RunTurn, RunTurn]


async def test_the_same_call_is_made_once_in_a_turn() -> None:  # EX-50 DEC-37
    shop = StepHarness(ScriptedModel(calls(A, B, A), calls(A), "done"))
    run = await shop.task_done(one_task())
    assert [use.arguments["name"] for use in shop.tools.calls] == ["A", "B"]
    again = "the same call was made in this turn already (c1): "
    assert [use.error for use in uses(run)[2:]] == [
        f"{again}it has no answer yet",
        f"{again}it answered: lookup answered",
    ]
    assert len({use.step_id for use in uses(run)}) == 4


async def test_calls_are_the_same_when_their_arguments_are_equal_as_json() -> None:  # DEC-25
    given: list[Any] = [1, True, 1.0, {"a": 1, "b": 2}, {"b": 2, "a": 1.0}]
    shop = StepHarness(ScriptedModel(calls(*(("crm__lookup", {"name": each}) for each in given)), "done"))
    run = await shop.task_done(one_task())
    assert [use.error is None for use in uses(run)] == [True, True, False, True, False]


async def test_an_answer_can_call_only_so_many_tools_at_once() -> None:
    many = calls(*[("crm__lookup", {"name": str(number)}) for number in range(loop.MAX_CALLS + 2)])
    shop = StepHarness(ScriptedModel(many, "done"))
    run = await shop.task_done(one_task())
    assert len(shop.tools.calls) == loop.MAX_CALLS
    assert [use.error for use in uses(run)[loop.MAX_CALLS :]] == ["at most 16 tools can be called at once"] * 2


@pytest.mark.parametrize(("own", "cap"), [(None, 20), (3, 3)])
async def test_an_assistant_that_never_stops_is_asked_for_a_summary_without_tools(own: int | None, cap: int) -> None:
    model = ScriptedModel(*[calls(("crm__lookup", {"n": n})) for n in range(cap)], "All I found.")  # EX-32
    agent = Agent("experts.writer", Template("Write."), max_iterations=own)
    shop = StepHarness(model, agent=agent)
    run = await shop.task_done(one_task())
    assert (len(model.prompts), output(run)) == (cap + 1, "All I found.")
    assert [bool(prompt.tools) for prompt in model.prompts] == [*[True] * cap, False]
    assert f"maximum tool iterations: {cap}" in model.prompts[-1].messages[-1].text()
    assert not any("maximum tool iterations" in prompt.messages[-1].text() for prompt in model.prompts[:-1])


async def test_an_assistant_that_wants_tools_even_in_its_summary_is_cut_short() -> None:  # EX-32
    agent = Agent("experts.writer", Template("Write."), max_iterations=2)
    model = ScriptedModel(calls(A), calls(B), calls(A, text="So far: fine."))
    run = await StepHarness(model, agent=agent).task_done(one_task())
    assert output(run) == "So far: fine.\n\nAgent exceeded maximum tool iterations (2)."
    assert run.execution.results[0].status == "completed"


async def test_a_tool_that_fails_is_mended_by_the_assistant() -> None:  # EX-52
    async def missing(use: ToolUse) -> str:
        if use.arguments["name"] == "A":
            raise ToolFailed("no customer A")
        return "customer B"

    shop = StepHarness(ScriptedModel(calls(A), calls(B), "done"))
    shop.tools._answer = missing
    run = await shop.task_done(one_task())
    assert [(use.status, use.error) for use in uses(run)] == [("failed", "no customer A"), ("completed", None)]
    assert inside(shop.model.prompts[1].messages[-1].text()) == "error: no customer A"
    assert run.execution.results[0].status == "completed"


async def test_a_tool_that_was_not_reached_is_called_later_under_the_same_step_id() -> None:
    away = ["A"]

    async def flaky(use: ToolUse) -> str:
        if use.arguments["name"] in away:
            away.clear()
            raise NotBegun("the server is away", after=9)
        return "found"

    shop = StepHarness(ScriptedModel(calls(A, B), "done"))
    shop.tools._answer = flaky
    run = await shop.step(await shop.step(await shop.step(one_task())))
    assert run.retry_at is not None
    run = await shop.task_done(run)
    asked = [(use.arguments["name"], use.step_id) for use in shop.tools.calls]
    assert [name for name, _ in asked] == ["A", "B", "A"]
    assert asked[0][1] == asked[2][1] != asked[1][1]
    assert [use.status for use in uses(run)] == ["completed", "completed"]


async def test_an_assistant_has_the_tools_of_its_robot_that_it_may_use(subtests: pytest.Subtests) -> None:  # EX-84
    cases = [
        (EQUIPPED, None, [DRAW.name, LOOKUP.name, NOTE.name]),
        (EQUIPPED, {"crm__note"}, [NOTE.name]),
        (EQUIPPED, {"crm"}, [LOOKUP.name, NOTE.name]),
        (EQUIPPED, set(), []),
        (a_robot(config={"resources": {"mcp": [{"id": "crm", "tools": ["note"]}]}}), None, [NOTE.name]),
        (a_robot(config={"resources": {"mcp": [{"id": "crm"}]}}), None, [LOOKUP.name, NOTE.name]),
        (a_robot(), None, []),
    ]
    for robot, agent, names in cases:
        with subtests.test(robot=robot, agent=agent, names=names):
            own = Agent("experts.writer", Template(""), tools=None if agent is None else frozenset(agent))  # EX-26
            shop = StepHarness(ScriptedModel("done"), agent=own)
            await shop.task_done(with_tasks(a_task(1), robot=robot))
            assert [tool.name for tool in shop.model.prompts[0].tools] == names


@pytest.mark.parametrize("task", [an_mcp_task(1), a_process_task(1)], ids=["mcp", "process"])
async def test_a_single_call_is_made_exactly_once_and_asks_no_model(task: Any) -> None:  # EX-24
    shop = StepHarness(ScriptedModel())
    run = await shop.task_done(with_tasks(task))
    assert (len(shop.tools.calls) + len(shop.processes.calls), shop.model.prompts) == (1, [])
    assert output(run) == ("lookup answered" if task.mcp_tool else "crm.pay answered")


async def test_a_process_is_called_with_who_asks_and_under_which_id() -> None:  # EX-24
    shop = StepHarness(ScriptedModel())
    run = await shop.task_done(with_tasks(a_process_task(1)))
    ((name, call),) = shop.processes.calls
    assert (name, call.args, call.execution_id, call.task_id) == ("crm.pay", ["Globex", 7], "e1", "task-1")
    assert (call.team_id, call.member_id, call.step_id) == ("acme", "ann", uses(run)[0].step_id)


@pytest.mark.parametrize("error", [ToolFailed("500: boom"), Transient("lost"), Permanent("refused")], ids=repr)
async def test_a_single_call_that_fails_in_whatever_way_is_not_made_again(error: Exception) -> None:  # EX-24
    async def failing(name: str, call: ProcessCall) -> str:
        raise error

    shop = StepHarness(ScriptedModel())
    shop.processes._answer = failing
    run = await shop.task_done(with_tasks(a_process_task(1)))
    assert (len(shop.processes.calls), run.execution.results[0].error) == (1, str(error))


async def test_outside_of_standard_mode_calls_are_recorded_and_not_made(subtests: pytest.Subtests) -> None:
    for task, mode in product([an_mcp_task(1), a_process_task(1)], ["dryrun", "sandbox"]):
        with subtests.test(task=task, mode=mode):
            shop = StepHarness(ScriptedModel())  # EX-08 EX-09
            run = await shop.task_done(with_tasks(task, run=new_run(robot=EQUIPPED, executor_mode=mode)))
            assert (shop.tools.calls, shop.processes.calls) == ([], [])
            assert output(run).startswith('{"recorded": true')


async def test_a_worker_that_is_cancelled_cancels_its_calls() -> None:
    reached, ended = asyncio.Event(), asyncio.Event()

    async def for_ever(use: ToolUse) -> str:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    shop = StepHarness(ScriptedModel(calls(A), "done"))
    shop.tools._answer = for_ever
    working = asyncio.create_task(shop.task_done(one_task()))
    await reached.wait()
    working.cancel()
    await asyncio.wait_for(ended.wait(), 5)
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_why_tools_are_missing_is_noted_once_on_the_run_and_replayed() -> None:  # EX-26
    harness = StepHarness(ScriptedModel("## Goals", '{"tasks": [{"description": "x"}]}', last="done"), tools=[])
    harness.tools.missing = ["MCP server crm isn't set up here, so there are no tools of it"]
    run = await harness.over(new_run())
    assert [note for note in run.execution.notes if "crm" in note] == harness.tools.missing
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    replayed = replay(run, run.unsaved, said)
    assert (replayed.difference, replayed.same) == ("", True)
