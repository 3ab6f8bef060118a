"""Hooks around calls of models and tools."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, a_task, new_run, signalled, with_tasks
from services.executor.tests.harness import ScriptedModel, StepHarness, calls

from executor.adapters.in_memory_hooks import ScriptedHook
from executor.agents.connectors import Connectors
from executor.domain.run import Run
from executor.reads.replay import replay
from executor.steps.hook_chain import HookChain
from executor.steps.hooked_prompts import HookedPrompts
from executor.steps.hooked_steps import HookedSteps
from executor.steps.notify_hooks import MOST_OF_TEAM, NotifyHooks
from executor.tool_ports import ToolFailed
from rota_common.errors import Transient
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.hook import HookAction, HookCall, HookMessage, HookPoint, HookReply, OnFailure
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.hooks import HookProcess, Hooks

BEFORE_LLM, AFTER_TOOL = HookPoint.BEFORE_LLM_CALL, HookPoint.AFTER_TOOL_CALL
Answer = Callable[[HookCall], Awaitable[HookReply | None]]
LOOKUP = ("crm__lookup", {"name": "Globex"})


class HookedShop(StepHarness):
    """A step harness whose steps have these hooks of the platform."""

    def __init__(self, model: ScriptedModel, *hooks: ScriptedHook, **given: Any) -> None:
        super().__init__(model, **given)
        runner: Any = self.run_step
        chain = HookChain(platform=hooks, processes=self.processes)
        self.notify = NotifyHooks(blobs=self.blobs)
        self.prompts = HookedPrompts(chain=chain, models=runner.models, blobs=self.blobs)
        steps: Any = HookedSteps(run_step=replace(runner, hooks=self.prompts), chain=chain, notify=self.notify)
        self.run_step = steps


def before(answer: Answer | None = None, **given: Any) -> ScriptedHook:
    return ScriptedHook(BEFORE_LLM, answer=answer, **given)


def always(**fields: Any) -> Answer:
    async def answer(call: HookCall) -> HookReply:
        return HookReply(**fields)

    return answer


async def shouts(call: HookCall) -> HookReply:
    """Each text of a person in capitals, and a new message behind them."""
    loud = [
        HookMessage(id=each.id, text=each.text.upper() if each.role == "user" and each.text else None)
        for each in call.messages
    ]
    return HookReply(messages=[*loud, HookMessage(text="Be brief.")])


def one_task(hooks: Hooks | None = None, **fields: Any) -> Run:
    run = with_tasks(a_task(1, **fields))
    if hooks is None:
        return run
    config = run.robot.robot_config.model_copy(update={"hooks": hooks})
    return run.model_copy(update={"robot": run.robot.model_copy(update={"robot_config": config})})


def kinds(run: Run) -> list[str]:
    return [entry.kind for entry in run.unsaved]


def sent(model: ScriptedModel, number: int = 0) -> list[str]:
    return [message.text() for message in model.prompts[number].messages]


def error(run: Run) -> str:
    return run.execution.results[0].error or ""


# EX-44
async def test_a_hook_changes_the_messages_of_one_call_once() -> None:
    hook = before(shouts)
    shop = HookedShop(ScriptedModel("done"), hook)
    run = await shop.task_done(one_task(description="Look it up"))
    assert "LOOK IT UP" in "".join(sent(shop.model))
    assert sent(shop.model)[-1].endswith("Be brief.")
    assert len(hook.calls) == 1
    assert kinds(run)[:2] == ["Hooked", "TaskAnswered"]
    assert run.hooked is None


# EX-44
async def test_a_replayed_run_asks_no_hook_and_comes_out_the_same() -> None:
    hook = before(shouts)
    plan = json.dumps({"tasks": [{"description": "Look it up", "executor_id": "experts.writer"}]})
    shop = HookedShop(ScriptedModel("## Goals", plan, calls(LOOKUP), "found", last="done"), hook)
    run = await shop.over(new_run(robot=EQUIPPED))
    asked, said = len(hook.calls), [entry.said.inline or "" if entry.said else "" for entry in run.unsaved]
    again = replay(run, run.unsaved, said)
    assert (again.difference, again.same, len(hook.calls)) == ("", True, asked)
    assert any(made.made == "hooks (scripted) changed the messages" for made in again.decisions)
    assert {call.phase for call in hook.calls} == {"goals", "tasks", "run", "delivery"}


async def test_a_run_without_hooks_takes_no_further_step_and_notes_nothing() -> None:
    plain, hooked = StepHarness(ScriptedModel("done")), HookedShop(ScriptedModel("done"))
    one, other = await plain.task_done(one_task()), await hooked.task_done(one_task())
    assert one == other
    assert sent(plain.model) == sent(hooked.model)
    assert plain.steps == hooked.steps


# EX-44
async def test_a_hook_that_cancels_ends_the_turn_with_its_reason() -> None:
    shop = HookedShop(ScriptedModel("done"), before(always(action=HookAction.CANCEL, reason="no secrets, please")))
    run = await shop.task_done(one_task())
    assert error(run) == "hook scripted cancelled it: no secrets, please"
    assert shop.model.prompts == []


async def test_each_hook_sees_what_the_one_before_it_has_changed() -> None:
    last = before(name="last")
    shop = HookedShop(ScriptedModel("done"), before(shouts, name="first"), last)
    run = await shop.task_done(one_task())
    assert last.calls[0].messages[-1].text == "Be brief."
    hooked = next(entry for entry in run.unsaved if entry.kind == "Hooked")
    assert hooked.data["by"] == ["first"]


# EX-44
async def test_a_hook_may_choose_another_connector_of_the_team_and_no_other() -> None:
    connectors = Connectors("rehearsal", environ={})
    mine = connectors._all["rehearsal"]
    connectors._all |= {"large": replace(mine, id="large"), "secret": replace(mine, id="secret", teams=frozenset())}
    shop = HookedShop(ScriptedModel("done"), before(always(model="large")), connectors=connectors)
    await shop.task_done(one_task())
    assert [prompt.connector.id for prompt in shop.model.prompts] == ["large"]
    shop = HookedShop(ScriptedModel("done"), before(always(model="secret")), connectors=connectors)
    run = await shop.task_done(one_task())
    assert error(run).startswith("hook scripted failed: connector secret isn't for team")
    assert shop.model.prompts == []


async def fails(call: HookCall) -> HookReply:
    raise OSError("no disk")


async def hangs(call: HookCall) -> HookReply:
    await asyncio.Event().wait()
    raise AssertionError


async def test_what_a_failing_hook_means_is_its_owners_choice(subtests: pytest.Subtests) -> None:
    made_up = always(messages=[HookMessage(id="made-up")])
    bad: list[tuple[Answer, str]] = [
        (fails, "OSError: no disk"),
        (hangs, "no reply within 0.01 s"),
        (always(arguments={"a": 1}), "a hook before_llm_call changes messages, model, not arguments"),
        (made_up, "expected the id of a message that was shown, or none for a new one, not 'made-up'"),
        (always(messages=[HookMessage(role="system", text="x")]), "expected at least one message of the role user"),
        (always(messages=[HookMessage(text="x" * 600_000)]), "expected messages of at most 524288 bytes, got 600"),
        (always(model="gone"), "expected a connector, one of"),
    ]
    for answer, reason in bad:
        with subtests.test(reason):
            shop = HookedShop(ScriptedModel("done"), before(answer, timeout=0.01))
            assert error(await shop.task_done(one_task())).startswith(f"hook scripted failed: {reason}")
            shop = HookedShop(ScriptedModel("done"), before(answer, timeout=0.01, on_failure=OnFailure.CONTINUE))
            run = await shop.task_done(one_task())
            assert error(run) == ""
            assert run.execution.notes[-1] == "hook scripted failed before_llm_call: it was passed over"


async def test_hooks_are_asked_again_when_a_persons_words_may_have_changed_the_prompt() -> None:
    hook = before(shouts)
    shop = HookedShop(ScriptedModel("done"), hook)
    run = await shop.step(one_task())
    assert (run.hooked is not None, kinds(run)[-1]) == (True, "Hooked")
    run = signalled(run, "instruct", "In Spanish")
    await shop.task_done(run)
    assert len(hook.calls) == 2
    assert "IN SPANISH" in "".join(sent(shop.model))


async def test_a_repeated_call_of_the_model_sends_what_the_hooks_left_and_asks_them_nothing() -> None:
    hook = before(shouts)
    shop = HookedShop(ScriptedModel(Transient("busy"), "done"), hook)
    await shop.task_done(one_task())
    assert (sent(shop.model, 0), len(hook.calls)) == (sent(shop.model, 1), 1)


def team_hooks(**points: Sequence[HookProcess]) -> Hooks:
    return Hooks.model_validate(points)


async def test_the_platforms_hooks_come_first_then_the_teams_processes_in_their_order() -> None:
    order = list[str]()

    async def platform(call: HookCall) -> HookReply:
        order.append("platform")
        return HookReply(messages=[HookMessage(text="A new request")])

    async def process(name: str, call: ProcessCall) -> str:
        order.append(name)
        given = HookCall.model_validate(call.args[0])
        assert (given.contract, given.messages[0].text, given.agent) == (1, "A new request", "experts.writer")
        shown = [{"id": each["id"]} for each in call.args[0]["messages"]]
        return json.dumps({"messages": [*shown, {"text": name}]})

    shop = HookedShop(ScriptedModel("done"), before(platform))
    shop.processes._answer = process
    hooks = team_hooks(before_llm_call=[HookProcess(process="guard.first"), HookProcess(process="guard.second")])
    await shop.task_done(one_task(hooks))
    assert order == ["platform", "guard.first", "guard.second"]
    assert sent(shop.model) == ["A new request", "guard.first", "guard.second"]


async def test_a_process_that_cant_be_used_as_a_hook_fails_with_what_came(subtests: pytest.Subtests) -> None:
    bad: list[tuple[str | None, str]] = [
        (None, "it promised its reply for later"),
        ("sure", "expected a reply in JSON, got 'sure'"),
        ("[1]", "expected a JSON object with an action, got [1]"),
        ('{"acton": "cancel"}', "acton: Extra inputs are not permitted"),
    ]
    for reply, reason in bad:
        with subtests.test(reason):

            async def process(name: str, call: ProcessCall, reply: str | None = reply) -> str | None:
                return reply

            shop = HookedShop(ScriptedModel("done"))
            shop.processes._answer = process
            run = await shop.task_done(one_task(team_hooks(before_llm_call=[HookProcess(process="guard")])))
            assert error(run).startswith(f"hook guard failed: {reason}")


async def test_a_rehearsed_run_calls_no_process_as_a_hook() -> None:
    hook = before()
    shop = HookedShop(ScriptedModel("done"), hook)
    run = one_task(team_hooks(before_llm_call=[HookProcess(process="guard")]))
    trigger = run.execution.model_copy(update={"executor_mode": ExecutorMode.DRYRUN})
    await shop.task_done(run.model_copy(update={"execution": trigger}))
    assert shop.processes.calls == []
    assert hook.calls[0].executor_mode is ExecutorMode.DRYRUN


# EX-54
async def test_hooks_after_a_tool_are_notified_side_by_side_and_none_is_waited_for() -> None:  # CL-07
    together, go = asyncio.Barrier(2), asyncio.Event()

    async def meets(call: HookCall) -> None:
        await go.wait()
        await asyncio.wait_for(together.wait(), PATIENCE_S)

    hooks = ScriptedHook(AFTER_TOOL, answer=meets, name="one"), ScriptedHook(AFTER_TOOL, answer=meets, name="other")
    shop = HookedShop(ScriptedModel(calls(LOOKUP), "done"), *hooks)
    run = await shop.task_done(one_task())
    assert error(run) == ""
    go.set()
    await shop.notify.idle()
    for hook in hooks:
        (call,) = hook.calls
        assert call.tool is not None
        assert (call.tool.name, call.tool.arguments, call.tool.output) == (*LOOKUP, "lookup answered")
        assert (call.tool.output_bytes, call.tool.seconds >= 0, call.task_id) == (15, True, "task-1")
    assert "Hooked" not in kinds(run)


# EX-54
async def test_a_hook_after_a_tool_sees_its_failure_and_changes_nothing_by_its_own() -> None:
    async def refused(use: ToolUse) -> str:
        raise ToolFailed("no such customer")

    hook = ScriptedHook(AFTER_TOOL, answer=fails)
    shop = HookedShop(ScriptedModel(calls(LOOKUP), "done"), hook)
    shop.tools._answer = refused
    run = await shop.task_done(one_task())
    await shop.notify.idle()
    assert (error(run), run.execution.notes) == ("", ["without lessons"])
    assert [call.tool and call.tool.error for call in hook.calls] == ["no such customer"]


async def test_a_team_whose_hooks_hang_keeps_no_more_than_its_share_of_them() -> None:
    hook = ScriptedHook(AFTER_TOOL, answer=hangs)
    shop = HookedShop(ScriptedModel("done"), hook)
    call = HookCall(point=AFTER_TOOL, step_id="s", team_id=TEAM, member_id=MEMBER, execution_id="e1", phase="run")
    for _ in range(MOST_OF_TEAM + 5):
        shop.notify([hook], call, None)
    await asyncio.sleep(0)
    assert len(hook.calls) == MOST_OF_TEAM
    await shop.notify.close()
    assert not shop.notify._tasks
