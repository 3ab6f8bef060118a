"""The events of the agent loop, on the stream of activities."""

import json
from typing import Any

from services.executor.tests.fixtures import EQUIPPED, new_run
from services.executor.tests.harness import StepHarness, calls

from executor.adapters.in_memory import ScriptedModel
from executor.domain import journal, lifecycle
from executor.domain.activities import of_begin, of_end, of_outcome, of_step
from executor.domain.conversation.chat import ModelReply
from executor.domain.run import Run
from executor.domain.steps import AskAgent, BeginCalls, Finish, MakeCalls, RunTurn
from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.activity import ActivityV1, LoopEvent
from rota_contracts.messages.usage import ModelCall, Usage

PLAN = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "writer"}]}'
KEY = "sk-proj-4f9aB2c81dE07f6a5b3c9d2e"
USED = Usage(tokens_in=812, tokens_out=9)


async def watched(model: ScriptedModel, *, verbose: bool = False) -> tuple[Run, list[ActivityV1]]:
    """The run once it is over, and what a watcher has seen of it."""
    harness, run = StepHarness(model), new_run(robot=EQUIPPED)
    seen = [of_begin(run)]
    while not isinstance(step := lifecycle.next_step(run), Finish):
        if not isinstance(step, AskAgent | RunTurn | BeginCalls | MakeCalls):
            run = await harness.step(run)
            continue
        seen += of_step(run, step, verbose=verbose)
        async for result in harness.run_step(run, step):
            kept: Any = {"said": result.reply, "tools": result.tools, "call": result.call}
            run = journal.record_outcome(run, result.outcome, now=NOON, **kept)
            seen += of_outcome(run, result.outcome, result.reply)
    run = journal.record_finished(run, step.status, now=NOON)
    owner = {"team_id": TEAM, "member_id": MEMBER, "execution_id": run.id, "phase": "run", "at": NOON}
    return run, [ActivityV1.model_validate(owner | each.of_message()) for each in [*seen, of_end(run)]]


def script() -> ScriptedModel:
    """The first answer fails, the second can't be used; then a call, with thoughts and words beside it."""
    asked = calls(("crm__lookup", {"name": "A", "api_key": KEY}), text=f"I'll look, with {KEY}.")
    return ScriptedModel(
        ModelReply(text="## Goals\n1. Score it", call=ModelCall(model="small", usage=USED)),
        Transient("the model is away"),
        "I'd rather not.",
        PLAN,
        asked.model_copy(update={"reasoning": "What first? " * 100}),
        "87 of 100",
        '{"summary": "Done.", "body": "# Done"}',
    )


async def test_a_watcher_sees_the_ten_events_of_the_loop() -> None:  # CL-23
    _, seen = await watched(script())
    events = [activity.event for activity in seen if activity.event is not None]
    assert (events[0], events[-1]) == (LoopEvent.RUN_STARTED, LoopEvent.RUN_COMPLETED)
    assert {*LoopEvent} - {*events} == {LoopEvent.CHUNK, LoopEvent.RUN_FAILED}, "the stream of answers has the chunks"
    doing = [(activity.doing, activity.iteration) for activity in seen if activity.event is LoopEvent.ACTIVITY]
    assert [*map(str, (each for each, _ in doing))].count("tool_exec") == 1
    assert doing[-3:-1] == [("tool_exec", 0), ("thinking", 1)]
    again = [activity.retrying for activity in seen if activity.retrying is not None]
    assert [(each.attempt, each.max_attempts) for each in again] == [(1, 20), (1, 3)]
    assert again[0].error == "the model is away"
    called, ended = (activity.call for activity in seen if activity.call is not None)
    assert called is not None
    assert ended is not None
    assert (called.name, called.id, called.arguments, called.is_error) == ("crm__lookup", "c1", None, None)
    assert (ended.name, ended.id, ended.is_error) == ("crm__lookup", "c1", False)
    assert (seen[-1].text, seen[-1].usage) == ("Done.", USED)


async def test_activities_show_a_part_of_what_was_said_and_no_credentials() -> None:  # CL-25
    _, seen = await watched(script())
    (thought,) = (activity.text for activity in seen if activity.event is LoopEvent.THINKING)
    assert len(thought) == 500
    (beside,) = (activity.text for activity in seen if activity.event is LoopEvent.BLOCK_REPLY)
    assert beside == "I'll look, with [REDACTED]."
    _, verbose = await watched(script(), verbose=True)
    arguments = next(activity.call.arguments for activity in verbose if activity.call is not None)
    assert json.loads(arguments or "") == {"name": "A", "api_key": "[REDACTED]"}
    assert KEY not in "".join(activity.model_dump_json() for activity in verbose)


async def test_the_last_event_of_a_run_that_fails_says_why() -> None:  # CL-23
    run, seen = await watched(ScriptedModel(last="I'd rather not."))
    assert (seen[-1].event, seen[-1].text) == (LoopEvent.RUN_FAILED, run.execution.error)
    assert [activity.retrying.attempt for activity in seen if activity.retrying] == [1, 2]
