"""The trail of a run: what the models wrote, and what was made of it."""

from services.executor.tests.fixtures import EQUIPPED, new_run
from services.executor.tests.harness import StepHarness, calls

from executor.adapters.in_memory import ScriptedModel
from executor.domain.conversation.chat import ModelReply
from executor.reads.read_steps import SHORT, steps_of
from executor.reads.replay import replay
from rota_contracts.messages.usage import ModelCall, Usage

PLAN = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "writer", "expected_output": "a score"}]}'
CALL = ModelCall(model="small", usage=Usage(tokens_in=10, tokens_out=5), seconds=0.5)


async def test_a_trail_has_words_outcome_and_usage_of_every_step() -> None:  # EX-62 EX-77
    model = ScriptedModel(
        ModelReply(text="## Goals\n1. Score it", reasoning="What first?", call=CALL),
        "I'd rather not.",
        ModelReply(text=PLAN, call=CALL.model_copy(update={"usage": None})),
        calls(("crm__lookup", {"name": "A"}), ("shell", {}), text="I'll look."),
        "87 of 100 " * 100,
        '{"summary": "Done.", "body": "# Done"}',
    )
    run = await StepHarness(model).over(new_run(robot=EQUIPPED))
    replies = [entry.said.inline or "" if entry.said else "" for entry in run.unsaved]
    decisions = replay(run, run.unsaved, replies).decisions
    steps = steps_of(run.unsaved, replies, decisions)
    made = [step.made[:30].strip() for step in steps if step.wrote]
    assert made == [
        "goals: ## Goals 1. Score it",
        "can't be used: expected a plan",
        "1 tasks: Look",
        "calls crm__lookup, shell (there"[:30].strip(),
        "result: 87 of 100 87 of 100 87",
        "to deliver: Done.",
    ]
    first, fourth = steps[1], next(step for step in steps if step.calls)
    assert (first.wrote, first.reasoning, first.call) == ("## Goals\n1. Score it", "What first?", CALL)
    assert fourth.calls == ['crm__lookup {"name": "A"}', "shell {}"]
    long = next(step for step in steps if step.characters == 1000)
    assert len(long.wrote) == SHORT
    (whole,) = steps_of(run.unsaved, replies, decisions, only=long.number)
    assert len(whole.wrote) == 1000
    used = run.execution.usage
    assert (used.calls, used.unmeasured, used.tokens_in, used.tokens_out, used.seconds) == (2, 1, 10, 5, 1.0)
