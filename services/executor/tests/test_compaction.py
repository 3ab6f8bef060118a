"""The compaction of a conversation in its loop: when, where it is cut, and what its model reads from then on."""

from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, a_task, at, new_run, with_tasks
from services.executor.tests.harness import ScriptedModel, StepHarness, calls
from services.executor.tests.test_replay import again

from executor.domain import lifecycle
from executor.domain.context.budget import limit_of
from executor.domain.context.compaction import (
    KEEP_WITHOUT_SUMMARY,
    OVERFLOW_NOTE,
    next_place,
    place_of_last,
    place_without_summary,
    shown,
)
from executor.domain.context.contexts import MAX_OVERFLOWS
from executor.domain.context.tokens import conversation_tokens, tool_tokens
from executor.domain.conversation.chat import ChatMessage, ModelReply
from executor.domain.outcomes import Compacted, Overflowed
from executor.domain.run import Context, Run
from executor.domain.steps import Compact
from executor.model_port import ContextOverflow, Prompt
from executor.steps.compact_conversation import TRIES
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.conversation import Round, ToolUse, Turn
from rota_contracts.messages.text import BlobRef, Text
from rota_contracts.messages.trigger import TriggerInput
from rota_contracts.robots.robot import Phase

PHASES = {
    "goals": "## Goals\n1. Look them all up",
    "tasks": '{"tasks": [{"id": "a", "description": "Look them all up", "executor_id": "experts.writer"}]}',
    "delivery": '{"summary": "Done.", "body": "# Done"}',
}
SUMMARY = "- Globex was found\n- Initech is open"


def a_round(size: int) -> Round:
    return Round(uses=[ToolUse(step_id="s", call_id="c", name="look", output=Text(inline="x" * size))])


def turn(number: int, *sizes: int, output: str | None = "done", **fields: str) -> Turn:
    said = None if output is None else Text(inline=output)
    return Turn(number=number, rounds=[a_round(size) for size in sizes], output=said, **fields)


def test_a_conversation_is_cut_at_the_border_of_a_turn_or_else_between_rounds() -> None:  # DEC-36 DEC-50
    fresh, long = Context(of="task t"), turn(1, *[4_000] * 10, output=None)
    two = [turn(1, *[4_000] * 6), turn(2, *[4_000] * 4, told="more", output=None)]
    later = [turn(1, *[4_000] * 6), turn(2, 4_000, told="more"), turn(3, *[10] * 2, told="go on", output=None)]
    cases: dict[str, tuple[list[Turn], Context, tuple[int, int] | None]] = {
        "30 % stay, between rounds": ([long], fresh, (1, 7)),
        "30 % of what is still sent": ([long], Context(of="task t", rounds=4), (1, 9 - 1)),
        "between rounds, as no turn begins in the last 30 %": (two, fresh, (2, 1)),
        "the border of a turn, where one begins in them": (later, fresh, (2, 0)),
        "at least four messages": ([turn(1, *[4_000] * 3, output=None)], fresh, (1, 1)),
        "four messages and no more": ([turn(1, 400_000, 400_000, output=None)], fresh, None),
        "a question that waits for its first answer": ([turn(1, told="hello", output=None)], fresh, None),
        "nothing": ([], fresh, None),
    }
    found = {name: next_place(turns, context) for name, (turns, context, _) in cases.items()}
    assert found == {name: place for name, (_, _, place) in cases.items()}


def test_sizes_of_texts_kept_by_reference_count_as_they_are_stored() -> None:
    ref = Text(ref=BlobRef(bucket="b", name="n", size=1_000_000, sha256=""))
    big = Round(uses=[ToolUse(step_id="s", name="look", output=ref)])
    turns = [Turn(number=1, rounds=[a_round(10), big, *[a_round(10)] * 4])]
    assert next_place(turns, Context(of="task t")) == (1, 2)


def test_without_a_summary_the_last_twenty_messages_stay_and_never_all_that_was_there() -> None:  # DEC-2
    assert KEEP_WITHOUT_SUMMARY == 20
    turns, fresh = [turn(1, *[10] * 30, output=None)], Context(of="task t")
    assert place_without_summary(turns, fresh, (1, 21)) == (1, 20)
    assert place_without_summary(turns, Context(of="task t", rounds=22), (1, 28)) == (1, 28)
    many = Round(uses=[ToolUse(step_id="s", name="look")] * 16)
    assert place_of_last([Turn(number=1, rounds=[many, many])], fresh, 12) == (1, 1)  # a round stays whole


def test_what_opens_a_turn_is_sent_even_where_its_first_rounds_are_not() -> None:  # DEC-50
    turns = [turn(1, 1), turn(2, 1, 2, 3, told="Compare them.", output=None)]
    (left,) = shown(turns, Context(of="task t", turn=2, rounds=2))
    assert (left.told, len(left.rounds)) == ("Compare them.", 1)


class Talker:
    """A model that calls `rounds` tools, one after the other, and then answers. `summary`: its answer, or its failures,
    when it is asked for one. `takes`: tokens of the longest prompt that its provider accepts."""

    def __init__(self, rounds: int, *, summary: Any = SUMMARY, takes: int = 10**9) -> None:
        self.left = rounds
        self.summary = summary
        self.takes = takes
        self.asked: list[Prompt] = []
        self.summed_up: list[Prompt] = []

    async def __call__(self, prompt: Prompt) -> ModelReply | str | Exception:
        if conversation_tokens(prompt.messages) + tool_tokens(prompt.tools) > self.takes:
            return ContextOverflow("model m of connector c: ContextWindowExceededError")
        if prompt.facts["kind"] == "summary":
            self.summed_up.append(prompt)
            return self.summary if isinstance(self.summary, Exception) else str(self.summary)
        if prompt.facts["kind"] in PHASES:
            return PHASES[prompt.facts["kind"]]
        self.asked.append(prompt)
        self.left -= 1
        return "done" if self.left < 0 else calls(("crm__lookup", {"n": self.left}))


def harness(talker: Talker, *, window: int, size: int = 4_000) -> StepHarness:
    made = StepHarness(ScriptedModel(answer=talker), window=window)

    async def found(use: ToolUse) -> str:
        return f"{use.arguments['n']} " + "x" * size

    made.tools._answer = found
    return made


def compactions(run: Run) -> list[Compacted]:
    return [Compacted(**entry.data) for entry in run.unsaved if entry.kind == "Compacted"]


async def test_a_long_conversation_is_compacted_each_time_it_fills_its_window() -> None:  # EX-73 DEC-50
    talker, window = Talker(19), 12_000
    made = harness(talker, window=window)
    run = await made.over(new_run(robot=EQUIPPED))
    assert run.execution.status == "completed"
    done = compactions(run)
    assert len(done) == len(talker.summed_up) == len([step for step in made.steps if isinstance(step, Compact)]) >= 2
    assert [each.rounds for each in done] == sorted({each.rounds for each in done})  # each goes further
    assert {each.summary for each in done} == {SUMMARY}
    kinds = [entry.kind for entry in run.unsaved]
    first = kinds.index("Overflowed")
    assert kinds[first : first + 3] == ["Overflowed", "Compacted", "Thought"]
    texts = [message.text() for message in talker.asked[-1].messages]
    assert "[Summary of earlier conversation]\n" in texts[2]
    assert SUMMARY in texts[2]
    assert texts[3].startswith("I understand the context...")
    assert len(texts) < 20
    sizes = [conversation_tokens(prompt.messages) + tool_tokens(prompt.tools) for prompt in talker.asked]
    assert max(sizes) <= limit_of(window)
    assert len({prompt.step_id for prompt in talker.asked}) == len(talker.asked)
    assert again(run).same


async def test_a_summary_is_asked_for_as_the_documents_say_and_holds_the_one_before() -> None:  # ME-09
    talker = Talker(19)
    await harness(talker, window=12_000).over(new_run(robot=EQUIPPED))
    prompt, later = talker.summed_up[0], talker.summed_up[1].messages[1].text()
    system, question = (message.text() for message in prompt.messages)
    assert question.startswith("Summarize the following conversation history in max 12 bullet points.")
    assert (prompt.options["temperature"], prompt.options["max_tokens"], prompt.timeout) == (0.3, 1024, 120)
    assert "Look them all up" in question
    assert 'assistant: calls crm__lookup {"n": 18}' in question
    assert "comes from outside" in system
    assert f"summary so far: {SUMMARY}" in later
    assert '"n": 18}' not in later


async def test_a_conversation_below_three_quarters_of_its_window_is_left_alone() -> None:  # EX-73
    talker = Talker(8)
    run = await harness(talker, window=60_000).over(new_run(robot=EQUIPPED))
    assert (compactions(run), run.context, talker.summed_up) == ([], None, [])
    assert sum(len(message.text()) > 4_000 for message in talker.asked[-1].messages) == 8


async def test_no_stored_text_is_read_to_decide_and_none_that_is_summed_up_afterwards() -> None:
    talker, read, texts = Talker(60), list[str](), list[int]()
    made = harness(talker, window=100_000, size=19_000)
    stored = made.blobs.read

    async def counted(text: Text) -> str:
        read.append(text.ref.name if text.ref else "")
        return await stored(text)

    made.blobs.read = counted  # type: ignore[method-assign]  # it counts, and is the same otherwise
    agents = made.run_step.models.views.agents
    run, agent = with_tasks(a_task(1)), agents.of("acme").assistant("experts.writer")
    agents._built_in["experts.writer"] = type(agent)("experts.writer", agent.prompt, max_iterations=60)
    while not run.execution.results or run.execution.results[0].status == "running":
        before = len(read)
        run = await made.step(run)
        if run.unsaved[-1].kind == "Overflowed":
            assert len(read) == before
        texts.append(len(read) - before)
    assert len(compactions(run)) >= 2
    assert max(texts) < 20


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (" ", ["Compacted"]),
        (Permanent("refused"), ["Compacted"]),
        (Transient("busy"), ["StepDelayed"] * (TRIES - 1) + ["Compacted"]),
    ],
)
async def test_without_a_usable_summary_the_conversation_goes_on_with_its_last_messages(
    answer: Any, kinds: list[str]
) -> None:  # DEC-2
    talker = Talker(15, summary=answer)
    run = await harness(talker, window=12_000).over(new_run(robot=EQUIPPED))
    assert run.execution.status == "completed"
    entries = [entry.kind for entry in run.unsaved]
    first = entries.index("Overflowed") + 1
    assert entries[first : first + len(kinds)] == kinds
    assert {each.summary for each in compactions(run)} == {""}
    assert not any("[Summary" in message.text() for message in talker.asked[-1].messages)
    assert again(run).same


async def test_an_overflow_that_the_provider_reports_compacts_and_goes_on() -> None:  # EX-60
    talker = Talker(9, takes=9_000)
    run = await harness(talker, window=200_000).over(new_run(robot=EQUIPPED))
    assert run.execution.status == "completed"
    assert run.execution.notes.count(OVERFLOW_NOTE) == 1
    assert OVERFLOW_NOTE == "[Context limit reached, history compacted]"
    reported = [entry.data["window"] for entry in run.unsaved if entry.kind == "Overflowed" and entry.data["window"]]
    assert reported
    after = next(prompt for prompt in talker.asked if any(_short(message) for message in prompt.messages))
    shortened = [message for message in after.messages if message.role in ("assistant", "tool")]
    assert len(shortened) == 12
    assert max(len(message.text()) for message in shortened) < 600 + 100  # with the frame of the material
    assert again(run).same


def _short(message: Any) -> bool:
    return isinstance(message, ChatMessage) and "x…\n" in message.text()


async def test_a_provider_that_takes_nothing_is_asked_so_many_times_and_no_more() -> None:  # EX-60
    talker = Talker(3, takes=0)
    made = harness(talker, window=200_000)
    run = await made.task_done(with_tasks(a_task(1)))
    assert (run.execution.results[0].status, len(made.model.prompts)) == ("failed", MAX_OVERFLOWS + 1)
    assert "ContextWindowExceededError" in (run.execution.results[0].error or "")


async def test_the_inspiration_agents_rounds_are_compacted_too() -> None:  # EX-73
    talker = Talker(5)
    made = harness(talker, window=8_000, size=7_000)
    run = await made.until(at(Phase.INSPIRATION, run=new_run("clock", robot=EQUIPPED)), _reported)
    assert (len(run.looked_up), len(compactions(run)) >= 1) == (5, True)
    assert any("[Summary of earlier conversation]" in message.text() for message in talker.asked[-1].messages)


def _reported(run: Run) -> bool:
    return run.execution.inspiration is not None


async def test_reasoning_that_is_kept_by_reference_counts_by_its_size() -> None:  # EX-45 EX-73
    wanted = [calls(("crm__lookup", {"n": n})).model_copy(update={"reasoning": "x" * 300_000}) for n in range(4)]
    made = StepHarness(ScriptedModel(*wanted, "done"), window=50_000)
    run = await made.task_done(with_tasks(a_task(1)))
    assert run.execution.results[0].status == "completed"
    sizes = [conversation_tokens(prompt.messages) + tool_tokens(prompt.tools) for prompt in made.model.prompts]
    assert max(sizes) <= limit_of(50_000)


async def test_an_overflow_that_belongs_to_no_step_in_hand_changes_nothing() -> None:
    run = with_tasks(a_task(1))
    made = harness(Talker(0), window=1_000)
    for outcome in (Overflowed("task other"), Overflowed("phase goals", 500), Compacted("task task-1", "s", 1, 0)):
        assert lifecycle.apply(run, outcome, now=made.clock()) is run


async def test_a_run_at_a_model_that_takes_little_ends_well_in_every_phase() -> None:  # EX-60
    data = {"company": "Globex", "mail": "x" * 15_000}
    talker = Talker(6, takes=3_000)
    made = harness(talker, window=200_000, size=9_000)
    run = await made.over(new_run(robot=EQUIPPED, input=TriggerInput(event_type="lead", data=data)))
    assert run.execution.status == "completed"
    reported = {entry.data["of"] for entry in run.unsaved if entry.kind == "Overflowed" and entry.data["window"]}
    assert reported == {"phase goals", "phase tasks", "task a", "phase delivery"}
    assert len([prompt for prompt in made.model.prompts if prompt not in talker.asked]) < 20
    assert again(run).same
