"""Running a stored execution again: the same words lead to the same execution, or the first difference is named."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, new_run
from services.executor.tests.harness import StepHarness, calls

from executor.adapters.in_memory import InMemoryBlobs, ScriptedModel
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain.answers.understand import VERSION
from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import Outcome
from executor.domain.planning import interpret as interpreting
from executor.domain.run import JournalEntry, Run
from executor.domain.tasks import tasks
from executor.reads import replay as replaying
from executor.reads.replay import Replay, first_difference
from executor.reads.replay import replay as replay_journal
from rota_common.testing.samples import TEAM
from rota_contracts.messages.replay import ReplayExecution, ReplayReply

TRAILS = Path(__file__).parent / "trails"
PLAN = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "writer", "expected_output": "a score"}]}'
WORDS = [
    "## Goals\n1. Score it",
    "I'd rather not.",
    PLAN,
    calls(("crm__lookup", {"name": "A"}), ("shell", {}), text="I'll look."),
    "87 of 100",
    '{"summary": "Done.", "body": "# Done"}',
]


async def advance_until() -> Run:
    """A run with tools, an answer that couldn't be used, and a plan that was mended."""
    return await StepHarness(ScriptedModel(*WORDS)).over(new_run(robot=EQUIPPED))


def again(run: Run, **instead: str) -> ReplayReply:
    """The replay of a run; `instead` are other words of the model, by the number of the entry."""
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    for number, words in instead.items():
        said[int(number.removeprefix("at_"))] = ModelReply(text=words).model_dump_json()
    return replay_journal(run, run.unsaved, said)


async def test_a_run_replays_to_the_same_execution() -> None:  # F24
    run = await advance_until()
    answer = again(run)
    assert (answer.same, answer.difference) == (True, "")
    kinds = [decision.outcome for decision in answer.decisions]
    assert kinds == [
        "Recalled", "GoalsSet", "Unusable", "Planned", "Thought", "CallsBegun", "Used", "TaskAnswered", "RulesAnswered",
        "VerdictGiven", "Written", "DeliveryTaken", "Learnt", "finished",
    ]  # fmt: skip
    assert {decision.replayed for decision in answer.decisions} == {None}


async def test_model_replies_are_journalled_unparsed() -> None:  # F24
    run = await advance_until()
    said = [ModelReply.model_validate_json(entry.said.inline or "").text for entry in run.unsaved if entry.said]
    assert said == ["## Goals\n1. Score it", "I'd rather not.", PLAN, "I'll look.", "87 of 100", WORDS[-1]]


async def test_a_changed_answer_is_found_at_its_step() -> None:  # F24
    run = await advance_until()
    answer = again(run, at_3='{"nothing_to_do": "no leads"}')
    assert not answer.same
    assert answer.decisions[-1].replayed is not None
    assert answer.decisions[-1].replayed.endswith(": NothingToDo")
    assert answer.difference.startswith("it was decided: ask tasks (")
    assert ": Planned; the replay decides: ask tasks (" in answer.difference
    assert len(answer.decisions) == 4


async def test_a_changed_answer_of_the_same_kind_is_found_in_the_execution() -> None:  # F24
    run = await advance_until()
    answer = again(run, at_1="## Goals\n1. Do something else")
    assert not answer.same
    assert answer.difference.startswith('goals: stored {"goals":{"content":"## Goals\\n1. Score it"')
    assert "Do something else" in answer.difference


async def test_the_trail_of_an_earlier_version_is_replayed_as_it_was_understood() -> None:  # F24
    run = await advance_until()
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    old = [entry.model_copy(update={"understanding": 0}) for entry in run.unsaved]
    assert replay_journal(run, old, said).same
    thinking = [each.replace("87 of 100", "<think>hm</think>87 of 100") for each in said]
    assert replay_journal(run, run.unsaved, thinking).same
    assert "<think>hm</think>87" in replay_journal(run, old, thinking).difference


def test_runs_that_each_earlier_version_has_stored_replay_to_the_same_execution(
    subtests: pytest.Subtests,
) -> None:  # F24
    """A version's files were written by a build that had it, and are never written anew. Of an earlier version one at
    least would be understood otherwise today."""
    for version in range(VERSION + 1):
        with subtests.test(version=version):
            alike = [_replays(path, version) for path in sorted(TRAILS.glob(f"understanding-{version}[.-]*"))]
            assert all(alike) is (version == VERSION)


def _replays(path: Path, version: int) -> bool:
    """Does the file's run replay to the same execution as if it were of today's version?"""
    kept = json.loads(path.read_text(encoding="utf-8"))
    run = Run.model_validate(kept["run"])
    entries = [JournalEntry.model_validate(each) for each in kept["journal"]]
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in entries]
    assert {entry.understanding for entry in entries if entry.said is not None} == {version}
    assert "LookedUp" in {entry.kind for entry in entries}
    assert replay_journal(run, entries, said).difference == ""
    today = [entry.model_copy(update={"understanding": VERSION}) for entry in entries]
    return replay_journal(run, today, said).same


async def test_a_changed_interpretation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:  # F24
    run = await advance_until()
    understood = interpreting.interpret

    def otherwise(run: Run, step: Any, said: ModelReply, *others: Any, **named: Any) -> Outcome:
        return understood(run, step, said.model_copy(update={"text": said.text.replace("87", "88")}), *others, **named)

    monkeypatch.setattr(replaying, "interpret", otherwise)
    answer = again(run)
    assert answer.difference.startswith("results: stored ")
    assert "88 of 100" in answer.difference


async def test_code_that_decides_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:  # F24
    run = await advance_until()
    answered = tasks.awaited

    def deaf(run: Run, answer: Any) -> bool:
        return type(answer).__name__ != "RulesAnswered" and answered(run, answer)

    monkeypatch.setattr(tasks, "awaited", deaf)
    answer = again(run)
    assert answer.difference.startswith(
        "it was decided: a: request verdict on turn 1: VerdictGiven; the replay decides"
    )


async def test_code_that_breaks_is_found_where_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:  # F24
    run = await advance_until()

    def broken(*given: Any, **named: Any) -> Outcome:
        raise KeyError("oh")

    monkeypatch.setattr(replaying, "interpret", broken)
    answer = again(run)
    assert answer.difference.endswith(": KeyError: 'oh'")
    assert [decision.outcome for decision in answer.decisions] == ["Recalled", "GoalsSet"]


async def test_an_execution_that_was_changed_by_hand_is_found() -> None:  # F24
    run = await advance_until()
    forged = run.with_execution(content=None)
    answer = replay_journal(
        forged, run.unsaved, [entry.said.inline or "" if entry.said else "" for entry in run.unsaved]
    )
    assert answer.difference.startswith('content: stored {"content":null}, replayed {"content":{"summary":"Done."')


async def test_a_run_under_way_replays_as_far_as_it_is() -> None:  # F24
    shop = StepHarness(ScriptedModel(*WORDS))
    run = await shop.until(new_run(robot=EQUIPPED), lambda run: len(run.unsaved) == 5)
    assert again(run).same


def test_equal_executions_have_no_difference() -> None:
    assert first_difference(new_run().execution, new_run().execution) == ""
    other = new_run().with_execution(error="x").execution
    assert first_difference(new_run().execution, other) == 'error: stored {"error":null}, replayed {"error":"x"}'


async def test_only_its_own_team_can_replay_an_execution_and_nothing_is_changed() -> None:  # F24 TG-23
    runs, blobs = InMemoryRuns(), InMemoryBlobs()
    fresh = new_run(robot=EQUIPPED)
    assert await runs.create(fresh, owner="first", lease=timedelta(0)) == 1
    run = await advance_until()
    stored = await runs.release(run, 1, check_in=None)
    replay = Replay(runs=runs, blobs=blobs)  # type: ignore[arg-type]  # texts are short
    asked = ReplayExecution(team_id=TEAM, execution_id="e1")
    assert (await replay(asked)).same
    assert not (await replay(asked.model_copy(update={"team_id": "initech"}))).found
    assert not (await replay(asked.model_copy(update={"execution_id": "unknown"}))).found
    assert await runs.find("e1") == stored
