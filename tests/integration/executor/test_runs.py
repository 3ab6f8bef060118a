"""Whole executions over a real bus and a real database, with rehearsed answers."""

import json

import pytest
import structlog

from rota_common.testing.bus import Listener, stored
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus, ListExecutions, TaskStatus
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import MemoryEntry, RecalledEntry, RecallReply
from rota_contracts.messages.validation import RulesReply, ValidationResult
from rota_contracts.robots.robot import Phase
from tests.integration.executor.harness import Harness

BAD = ValidationResult(passed=False, score=0.1, issues=["no figures"])


async def test_an_event_run_goes_from_goals_to_lessons(system: Harness) -> None:  # EX-01 EX-05
    async with system.executor():
        await system.request()
        done = await system.over()
    assert (done.status, done.phase, done.error, done.notes) == (ExecStatus.COMPLETED, Phase.LEARNING, None, [])
    assert done.inspiration is None
    assert done.goals is not None
    assert [(task.executor_id, task.source) for task in done.tasks or []] == [
        ("experts.scorer", "event"),
        ("experts.writer", "event"),
    ]
    assert [result.status for result in done.results] == [TaskStatus.COMPLETED] * 2
    assert done.content is not None
    assert done.delivery is not None
    assert done.learning is not None
    assert (done.robot_rev, done.progress.tasks_done) == (1, 2)


async def test_a_clock_run_begins_with_its_report(system: Harness) -> None:  # EX-01 EX-10
    async with system.executor():
        await system.request(type="clock")
        done = await system.over()
    assert done.inspiration is not None
    assert (done.inspiration.clock.day_of_week, done.inspiration.clock.hour) == ("Monday", 12)
    sections = ["Summary", "Highlights", "Opportunities", "Risks", "World News", "Pending"]
    assert [line[3:] for line in done.inspiration.content.splitlines() if line.startswith("## ")] == sections


async def test_each_fact_of_a_run_is_published_once_and_in_one_trace(system: Harness) -> None:
    async with system.executor():
        await system.request()
        await system.finished()
    started = await stored(system.nats_url, catalog.EXECUTION_STARTED)
    finished = await stored(system.nats_url, catalog.EXECUTION_FINISHED)
    delivered = await stored(system.nats_url, catalog.DELIVERY_REQUESTED)
    verdicts = await stored(system.nats_url, catalog.VALIDATION_REQUESTED)
    assert [len(facts) for facts in (started, finished, delivered, verdicts)] == [1, 1, 1, 1]
    assert {fact.traceparent.split("-")[1] for fact in (*started, *finished, *delivered, *verdicts)} == {"a" * 32}
    assert (finished[0].data.trigger_id, finished[0].data.status) == ("t-e1", ExecStatus.COMPLETED)


async def test_a_request_that_comes_again_runs_nothing_again(system: Harness) -> None:  # EX-04
    async with system.executor():
        await system.request()
        before = await system.over()
        await system.services["scheduler"].publish(
            catalog.EXECUTION_REQUESTED, (await stored(system.nats_url, catalog.EXECUTION_REQUESTED))[0].data,
            caused_by="t-e1", again=1,
        )  # fmt: skip
        await system.request("e2")
        await system.finished(2)
        assert await system.execution() == before
    assert len(await stored(system.nats_url, catalog.EXECUTION_STARTED)) == 2


@pytest.mark.once
async def test_a_robot_runs_several_executions_at_once(system: Harness) -> None:  # EX-04
    async with system.executor():
        for number in range(6):
            await system.request(f"e{number}")
        done = await system.finished(6)
    assert sorted((fact.execution_id, fact.status) for fact in done) == [(f"e{n}", "completed") for n in range(6)]


async def test_a_team_sees_its_own_runs_only(system: Harness) -> None:  # TG-23
    async with system.executor():
        await system.request()
        await system.finished()
        assert await system.execution(team="initech") is None
        assert await system.execution("unknown") is None
        ask = system.services["trigger-gateway"].ask
        ours = await ask(catalog.LIST_EXECUTIONS, ListExecutions(team_id=TEAM))
        theirs = await ask(catalog.LIST_EXECUTIONS, ListExecutions(team_id="initech"))
    assert [line.execution_id for line in ours.executions] == ["e1"]
    assert theirs.total == 0


async def test_a_broken_rule_ends_the_run_without_a_delivery(system: Harness) -> None:  # EX-25, DEC-33
    system.rules = lambda asked: RulesReply(verdict=BAD)
    async with system.executor():
        await system.request()
        done = await system.over()
    assert (done.status, done.delivery, done.content) == (ExecStatus.FAILED, None, None)
    assert done.error is not None
    assert "no figures" in done.error
    assert [result.status for result in done.results] == [TaskStatus.FAILED]
    assert await stored(system.nats_url, catalog.DELIVERY_REQUESTED) == []
    (lesson,) = await stored(system.nats_url, catalog.LEARNING_REQUESTED)
    assert (lesson.data.summary.status, lesson.data.summary.error) == ("failed", done.error)


async def test_a_semantic_no_ends_the_run_without_a_delivery(system: Harness) -> None:  # EX-25, DEC-33
    system.verdict = lambda asked: BAD
    async with system.executor():
        await system.request()
        done = await system.over()
    assert [result.status for result in done.results] == [TaskStatus.COMPLETED, TaskStatus.FAILED]
    assert (done.status, await stored(system.nats_url, catalog.DELIVERY_REQUESTED)) == (ExecStatus.FAILED, [])


async def test_without_a_memory_a_run_goes_on_and_says_so(system: Harness) -> None:
    await system.services["memory"].stop(1)
    async with system.executor():
        await system.request()
        done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert done.notes == ["without lessons of earlier runs: memory is down: no responder on rota.v1.rpc.memory.recall"]


async def test_lessons_of_earlier_runs_reach_the_goals_and_the_execution(system: Harness) -> None:
    entry = MemoryEntry(
        id="l1", type=LessonType.INSIGHT, content="Globex pays late", execution_id="e0", created_at=NOON
    )
    system.recall = lambda asked: RecallReply(entries=[RecalledEntry(entry=entry, score=0.9)])
    async with system.executor():
        await system.request()
        done = await system.over()
    assert [(lesson.id, lesson.content) for lesson in done.recalled] == [("l1", "Globex pays late")]
    assert done.goals is not None
    assert "Globex pays late" in done.goals.content


async def test_without_a_validator_a_run_waits_for_it(system: Harness) -> None:
    await system.services["validator"].stop(1)
    async with system.executor():
        await system.request()
        steps = await Listener.to(system.nats_url, f"{catalog.ACTIVITY.type}.>")
        waiting = await _until(steps, "no responder")
        assert "check_rules" in waiting
        execution = await system.execution()
        assert execution is not None
        assert (execution.status, execution.error) == (ExecStatus.RUNNING, None)
        await steps.close()


async def _until(listener: Listener, words: str) -> str:
    """The first message with these words."""
    count = 0
    while True:
        count += 1
        messages = await listener.received(count)
        if words in messages[count - 1].data.decode():
            return messages[count - 1].data.decode()


async def test_a_robot_that_is_deleted_has_its_waiting_run_cancelled(system: Harness) -> None:  # TG-20
    system.silent.add("validator")
    asked = await Listener.to(system.nats_url, catalog.VALIDATION_REQUESTED.pattern)
    async with system.executor():
        await system.request()
        await asked.received()
        await system.delete()
        done = await system.over()
    await asked.close()
    assert (done.status, done.error) == (ExecStatus.CANCELLED, "the robot was deleted")
    (fact,) = await stored(system.nats_url, catalog.EXECUTION_FINISHED)
    assert (fact.data.status, fact.data.error) == (ExecStatus.CANCELLED, "the robot was deleted")


@pytest.mark.parametrize("deleted", [True, False])
async def test_an_execution_of_a_robot_that_is_gone_is_cancelled_at_once(system: Harness, deleted: bool) -> None:
    if deleted:
        await system.keep(a_robot(member_id="gone", deleted=True))
    async with system.executor():
        await system.request(member_id="gone")
        (fact,) = await system.finished()
    assert (fact.status, fact.error) == (ExecStatus.CANCELLED, "the robot was deleted before the execution began")


async def test_a_run_keeps_to_the_robot_it_began_with(system: Harness) -> None:
    system.silent.add("validator")
    asked = await Listener.to(system.nats_url, catalog.VALIDATION_REQUESTED.pattern)
    async with system.executor(answer_patience=0.2):
        await system.request()
        await asked.received()
        await system.keep(a_robot(config={"resources": {"phases": {"delivery": "unknown"}}}, rev=2))
        system.silent.clear()
        done = await system.over()
    await asked.close()
    assert (done.status, done.robot_rev) == (ExecStatus.COMPLETED, 1)


async def test_a_request_that_was_lost_is_sent_again(system: Harness) -> None:
    system.silent = {"validator", "delivery-center", "learner"}
    asked = await Listener.to(system.nats_url, f"{catalog.ROOT}.*.requested.>")
    async with system.executor(answer_patience=0.2):
        await system.request()
        for _ in range(3):
            system.silent.discard(await system.ignored.get())
        done = await system.over()
    await asked.close()
    assert done.status is ExecStatus.COMPLETED
    ids = [(message.subject.split(".")[2], (message.headers or {})["ce-id"]) for message in asked.messages]
    sent_again = {noun for noun, _ in ids if [each for each, _ in ids].count(noun) >= 2}
    assert sent_again == {"validation", "delivery", "learning"}
    assert len(set(ids)) == 4  # with the execution's own: the same facts, sent again


async def test_every_step_is_logged_with_its_execution_and_phase(system: Harness) -> None:  # EX-30
    with structlog.testing.capture_logs() as lines:
        async with system.executor():
            await system.request(type="clock")
            await system.finished()
    steps = [line for line in lines if line["event"] == "step"]
    assert {line["execution_id"] for line in steps} == {"e1"}
    assert {"inspiration", "goals", "tasks", "run", "delivery"} <= {line["phase"] for line in steps}
    handled = [line for line in lines if line["event"] == "handled" and line["service"] == "executor"]
    assert {line["execution_id"] for line in handled} == {"e1"}
    assert {line["trace_id"] for line in handled if line["channel"] == "execution.requested"} == {"a" * 32}


async def test_progress_is_there_to_be_watched(system: Harness) -> None:
    watched = await Listener.to(system.nats_url, catalog.ACTIVITY.subject(TEAM, MEMBER))
    async with system.executor():
        await system.request()
        await system.finished()
        seen = await watched.until(lambda activity: activity["kind"] == "run.completed")  # they are sent in groups
    kinds = [json.loads(message.data)["kind"] for message in seen]
    await watched.close()
    assert kinds[0] == "run.started"
    assert [kind for kind in kinds if kind.startswith("phase.")][:2] == ["phase.started", "phase.started"]
    assert (kinds.count("task.started"), kinds.count("task.finished")) == (2, 2)
