"""The inspiration agent looks up what is new outside, with tools that may be called again (EX-11)."""

from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, REPORT, at, inside, new_run, with_outcome
from services.executor.tests.harness import LOOKUP, NOTE, ScriptedModel, StepHarness, calls
from services.executor.tests.test_replay import again

from executor.agents.operator_files import ALL_TEAMS
from executor.agents.prompt_files import parse
from executor.domain import journal, lifecycle
from executor.domain.conversation.chat import ChatMessage, ModelReply
from executor.domain.outcomes import AskedAbout, LookedUp, Unusable, Used
from executor.domain.planning.looks import CAP, OUTPUT_LIMIT, refused
from executor.domain.run import Run
from executor.domain.spans.record import Record
from executor.domain.spans.trace import spans_of
from executor.domain.steps import AskAgent, MakeCalls
from executor.tool_ports import NotBegun, ToolFailed
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.run_trace import SpanKind
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Phase

LOOKS = calls(("crm__lookup", {"name": "Initech"}), text="What do they do?")
WORDS = [LOOKS, REPORT, "## Goals\n1. Score it", '{"nothing_to_do": "all is well"}']


async def test_a_report_without_its_sections_is_asked_for_again_once() -> None:  # EX-10
    harness = StepHarness(ScriptedModel("## Summary\nquiet", "## Risks\nnone known"))
    run = await harness.until(reporting(), lambda run: run.execution.inspiration is not None)
    assert run.execution.inspiration is not None
    assert run.execution.inspiration.content == "## Risks\nnone known"
    assert "missing: ['Highlights', 'Opportunities', 'Risks', 'World News', 'Pending']" in run_prompts(harness)[1]


def run_prompts(harness: StepHarness) -> list[str]:
    return [prompt.messages[-1].text() for prompt in harness.model.prompts]


def reporting(**trigger: Any) -> Run:
    return at(Phase.INSPIRATION, run=new_run("clock", robot=EQUIPPED, **trigger))


async def reported(shop: StepHarness, run: Run | None = None) -> Run:
    return await shop.until(run or reporting(), lambda run: run.execution.inspiration is not None)


def uses(run: Run) -> list[ToolUse]:
    return [use for each in run.looked_up for use in each.uses]


async def test_the_agent_sees_the_tools_answers_before_it_reports() -> None:  # EX-11
    shop = StepHarness(ScriptedModel(*WORDS))
    run = await reported(shop)
    assert run.execution.inspiration is not None
    assert run.execution.inspiration.content == REPORT
    ((use,), (called,)) = uses(run), shop.tools.calls
    assert (use.status, use.output and use.output.inline) == (ToolStatus.COMPLETED, "lookup answered")
    assert (called.step_id, called.arguments) == (use.step_id, {"name": "Initech"})
    first, second = shop.model.prompts
    wanted, answered = second.messages[len(first.messages) :]
    assert isinstance(wanted, ChatMessage)
    assert isinstance(answered, ChatMessage)
    assert (wanted.text(), [call.name for call in wanted.tool_calls]) == ("What do they do?", ["crm__lookup"])
    assert (answered.role, inside(answered.text()), answered.tool_call_id) == ("tool", "lookup answered", "c1")
    assert first.step_id != second.step_id


async def test_it_gets_the_robots_tools_that_may_be_called_again_and_no_others() -> None:  # EX-11 EX-26
    shop = StepHarness(ScriptedModel(REPORT), tools=[LOOKUP, NOTE])
    await reported(shop)
    assert [tool.name for tool in shop.model.prompts[0].tools] == ["crm__lookup"]
    bounded = StepHarness(
        ScriptedModel(REPORT), agent=parse("rota.inspiration", "---\ntools: [web]\n---\nLook.", teams=ALL_TEAMS)
    )
    await reported(bounded)
    assert bounded.model.prompts[0].tools == []


async def test_a_tool_that_it_does_not_have_is_not_called() -> None:  # EX-11
    shop = StepHarness(ScriptedModel(calls(("crm__note", {"text": "x"}), ("crm__lookup", {})), REPORT))
    run = await reported(shop)
    assert [use.tool for use in shop.tools.calls] == ["lookup"]
    assert [use.error for use in uses(run)] == ["there is no tool crm__note: expected one of crm__lookup", None]


@pytest.mark.parametrize("error", [ToolFailed("404"), NotBegun("away")])
async def test_the_agent_sees_the_error_of_a_failed_tool(error: Exception) -> None:  # EX-11
    shop = StepHarness(ScriptedModel(*WORDS))

    async def fails(use: ToolUse) -> str:
        raise error

    shop.tools._answer = fails
    run = await reported(shop)
    assert [(use.status, use.error) for use in uses(run)] == [(ToolStatus.FAILED, str(error))]
    assert inside(shop.model.prompts[1].messages[-1].text()) == f"error: {error}"


async def test_a_long_answer_is_kept_in_its_beginning() -> None:
    shop = StepHarness(ScriptedModel(replace_text(LOOKS, "y" * 99_999), REPORT))

    async def talkative(use: ToolUse) -> str:
        return "x" * 99_999

    shop.tools._answer = talkative
    (made,) = (await reported(shop)).looked_up
    (use,) = made.uses
    assert (len(made.text), len(use.output.inline or "") if use.output else 0) == (OUTPUT_LIMIT, OUTPUT_LIMIT)


def replace_text(said: ModelReply, text: str) -> ModelReply:
    return said.model_copy(update={"text": text})


async def test_it_looks_things_up_only_so_often() -> None:  # EX-11 EX-32
    shop = StepHarness(ScriptedModel(*[LOOKS] * CAP, REPORT))
    await reported(shop)
    *before, last = shop.model.prompts
    assert [len(prompt.tools) for prompt in before] == [1] * CAP
    assert last.tools == ()
    assert f"(maximum tool iterations: {CAP})" in last.messages[-1].text()
    assert len({prompt.step_id for prompt in shop.model.prompts}) == CAP + 1
    short = StepHarness(
        ScriptedModel(LOOKS, REPORT),
        agent=parse("rota.inspiration", "---\nmax_iterations: 1\n---\nLook.", teams=ALL_TEAMS),
    )
    await reported(short)
    assert [len(prompt.tools) for prompt in short.model.prompts] == [1, 0]


async def test_arguments_that_can_not_be_kept_are_asked_for_again() -> None:
    shop = StepHarness(ScriptedModel(calls(("crm__lookup", {"number": 2**70})), REPORT))
    run = await shop.step(reporting())
    assert run.feedback.startswith("expected whole numbers of at most 64 bits")
    assert shop.tools.calls == []
    assert (await reported(shop, run)).looked_up == []


async def test_a_run_that_looked_things_up_replays_to_the_same_execution() -> None:  # F24 EX-11
    run = await StepHarness(ScriptedModel(*WORDS)).over(new_run("clock", robot=EQUIPPED))
    answer = again(run)
    assert (run.execution.status, answer.same, answer.difference) == (ExecStatus.COMPLETED, True, "")
    made = [decision.outcome for decision in answer.decisions][:5]
    assert made == ["Recalled", "Thought", "CallsBegun", "Used", "Inspired"]


async def test_a_dry_run_asks_nothing_outside() -> None:  # EX-08
    shop = StepHarness(ScriptedModel(*WORDS))
    run = await reported(shop, reporting(executor_mode=ExecutorMode.DRYRUN))
    assert shop.tools.calls == []
    assert [use.output and '"recorded": true' in (use.output.inline or "") for use in uses(run)] == [True]


def test_what_was_looked_up_counts_once_and_only_before_the_report() -> None:
    run, made = reporting(), LookedUp(Round(text="hm"))
    once = with_outcome(run, made)
    assert once.looked_up == [made.round]
    step = lifecycle.next_step(once)
    assert isinstance(step, AskAgent)
    assert (step.phase, step.iteration) == (Phase.INSPIRATION, 1)
    later = at(Phase.GOALS, run=once)
    assert with_outcome(later, made) == later


def test_an_answer_that_could_not_be_used_keeps_what_was_looked_up() -> None:
    run = with_outcome(with_outcome(reporting(), LookedUp(Round(text="hm"))), Unusable("empty"))
    first, second = lifecycle.next_step(with_outcome(reporting(), LookedUp(Round(text="hm")))), lifecycle.next_step(run)
    assert isinstance(second, AskAgent)
    assert (len(run.looked_up), second.iteration, second != first) == (1, 1, True)


def statuses(run: Run) -> list[ToolStatus]:
    return [use.status for use in uses(run)]


async def begun(shop: StepHarness, run: Run) -> Run:
    """The run, the calls of whose agent are about to be made."""
    return await shop.until(run, lambda run: isinstance(lifecycle.next_step(run), MakeCalls))


async def test_a_crash_between_two_calls_repeats_the_one_that_has_no_answer_and_no_other() -> None:  # EX-11 EX-92
    shop = StepHarness(ScriptedModel(calls(("crm__lookup", {"n": 1}), ("crm__lookup", {"n": 2})), *WORDS[1:]))
    run = await begun(shop, new_run("clock", robot=EQUIPPED))
    assert statuses(run) == [ToolStatus.STARTED, ToolStatus.STARTED]
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    outcomes = [result.outcome async for result in shop.run_step(run, step)]
    first = next(each for each in outcomes if isinstance(each, Used) and each.step_id == step.uses[0].step_id)
    run = journal.record_outcome(run, first, now=shop.clock())
    run = await shop.over(journal.record_taken_over(run, now=shop.clock()))
    assert statuses(run) == [ToolStatus.COMPLETED, ToolStatus.COMPLETED]
    one, other = (use.step_id for use in uses(run))
    assert [call.step_id for call in shop.tools.calls] == [one, other, other]
    assert again(run).same


async def test_an_answer_that_comes_twice_counts_once() -> None:
    shop = StepHarness(ScriptedModel(LOOKS, REPORT))
    run = await begun(shop, reporting())
    step = lifecycle.next_step(run)
    assert isinstance(step, MakeCalls)
    used = Used("inspiration", step.uses[0].step_id, Text(inline="a customer"))
    once = with_outcome(run, used)
    assert [use.output for use in uses(once)] == [Text(inline="a customer")]
    assert with_outcome(once, used) == once
    assert with_outcome(run, Used("task-1", used.step_id, used.output)) == run


async def test_what_an_earlier_version_has_looked_up_is_gone_on_with() -> None:  # F24
    before = ToolUse(step_id="s0", call_id="c0", name="crm__lookup", server="crm", tool="lookup", arguments={"n": 0})
    answered = before.model_copy(update={"status": ToolStatus.COMPLETED, "output": Text(inline="the old answer")})
    shop = StepHarness(ScriptedModel(LOOKS, *WORDS[1:]))
    run = await shop.step(new_run("clock", robot=EQUIPPED))
    old = journal.record_outcome(run, LookedUp(Round(text="hm", uses=[answered])), now=shop.clock())
    run = await shop.over(Run.model_validate_json(old.model_dump_json()).model_copy(update={"unsaved": old.unsaved}))
    assert [len(each.uses) for each in run.looked_up] == [1, 1]
    assert "the old answer" in shop.model.prompts[0].messages[-1].text()
    answer = again(run)
    assert (answer.same, answer.difference) == (True, "")
    tools = [span for span in spans_of(Record(run, run.unsaved)) if span.kind is SpanKind.TOOL]
    assert {span.attributes["rota.step_id"] for span in tools} == {"s0", uses(run)[1].step_id}


def test_nothing_begins_that_can_not_be_made_again_or_waits_for_a_person() -> None:  # EX-11
    once = ToolUse(step_id="s1", call_id="c1", name="crm__note", server="crm", tool="note", arguments={})
    asked = AskedAbout("s2", "crm.lookup", "always_ask names it", "{}", "0")
    assert refused([once, once.model_copy(update={"step_id": "s2", "idempotent": True})], [asked]) == {
        "s1": "inspiration only makes calls that may be made again, and crm__note isn't declared idempotent",
        "s2": "it would need a person's approval (always_ask names it), and inspiration waits for none",
    }
