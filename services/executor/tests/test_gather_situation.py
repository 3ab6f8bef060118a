"""Looking around before a report is made: whom it asks, what it does without, and that it is done once (EX-11)."""

from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    AROUND,
    REPORT,
    a_task,
    advance_until,
    at,
    new_run,
    with_outcome,
    with_tasks,
)
from services.executor.tests.harness import TIMEOUTS, ScriptedModel, StepHarness, WorkerHarness
from services.executor.tests.test_plain_requests import asked as request
from services.executor.tests.test_prompts import asked
from services.executor.tests.test_replay import again

from executor.adapters.in_memory import InMemoryBlobs
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.agents.facts import facts
from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_task
from executor.domain import lifecycle
from executor.domain.outcomes import Outcome, Recalled
from executor.domain.run import Run, Situation
from executor.domain.steps import AskAgent, RecallLessons, Step, describe
from executor.steps.gather_situation import ASK_TIMEOUT_S, GatherSituation
from rota_common.bus.rpc import NoReply
from rota_common.errors import Permanent
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import ListWaiting, Waiting, WaitingPage
from rota_contracts.messages.plan import ListPlans, PlanItem, PlanPage
from rota_contracts.messages.trigger import Message, TriggerInput, TriggerType
from rota_contracts.model import Part
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.robot import Phase

PAST = timedelta(0)
OWNER: dict[str, Any] = {"team_id": TEAM, "member_id": MEMBER}
PLAN = PlanItem(**OWNER, plan_id="p1", messages=[{"content": "Call Globex"}], created_at=NOON)
QUEUED = Waiting(execution_id="q1", type=TriggerType.EVENT, about="lead.created: Initech", queued_at=NOON)


class Scheduler:
    """Answers both questions; `away`: it doesn't answer this one."""

    def __init__(self, *away: catalog.Question[Any, Any], error: Exception | None = None) -> None:
        self.asked = list[tuple[Part, float | None]]()
        self._away, self._error = away, error or NoReply("scheduler isn't there")

    async def __call__(self, question: Any, request: Part, *, timeout: float | None = None) -> Part:
        self.asked.append((request, timeout))
        if question in self._away:
            raise self._error
        return PlanPage(items=[PLAN]) if question is catalog.LIST_PLANS else WaitingPage(waiting=[QUEUED])


async def looked(run: Run, *, runs: InMemoryRuns | None = None, scheduler: Scheduler | None = None) -> Situation:
    ask: Any = scheduler or Scheduler()
    return await GatherSituation(runs=runs or InMemoryRuns(), blobs=InMemoryBlobs(), ask=ask)(run)


async def test_what_is_planned_and_what_waits_is_asked_of_the_scheduler() -> None:  # EX-11
    scheduler = Scheduler()
    around = await looked(new_run("clock"), scheduler=scheduler)
    assert [line.rpartition(": ")[2] for line in around.pending.splitlines()] == ["Call Globex", "Initech"]
    assert scheduler.asked == [
        (ListPlans(**OWNER, limit=20), ASK_TIMEOUT_S),
        (ListWaiting(**OWNER, limit=20), ASK_TIMEOUT_S),
    ]
    assert (around.since, around.happened, around.missing) == (NOON - timedelta(days=7), "", [])


async def test_what_has_begun_and_what_has_ended_is_in_the_robots_own_store() -> None:  # EX-11
    runs = InMemoryRuns()
    earlier = new_run("human").with_execution(execution_id="e0", created_at=NOON - timedelta(hours=1))
    over = lifecycle.finish(
        earlier.with_execution(execution_id="e9"), ExecStatus.COMPLETED, now=NOON - timedelta(minutes=1)
    )
    for run in (earlier, over):
        assert await runs.create(run, owner="first", lease=timedelta(0)) == 1
    around = await looked(new_run("clock"), runs=runs)
    assert around.pending.splitlines()[-1].startswith("- at work since Monday 2026-03-02 11:00: task.add")
    assert around.happened == "- Monday 2026-03-02 11:59, completed: task.add: Look at Globex"


@pytest.mark.parametrize("error", [NoReply("scheduler isn't there"), Permanent("scheduler isn't there")])
async def test_what_the_scheduler_does_not_answer_is_listed_as_missing(error: Exception) -> None:  # EX-11
    around = await looked(new_run("clock"), scheduler=Scheduler(catalog.LIST_PLANS, error=error))
    assert ("Call Globex" in around.pending, "Initech" in around.pending) == (False, True)
    assert around.missing == ["scheduler isn't there"]
    run = lifecycle.apply(new_run("clock"), Recalled([], surroundings=around), now=NOON)
    assert run.execution.notes == ["inspiration: scheduler isn't there"]
    assert "(not known: scheduler isn't there)" in asked(run, Phase.INSPIRATION)[1]


async def test_all_instants_are_in_the_robots_zone() -> None:  # EX-11
    given = TriggerInput(clock=clock_context(NOON, "Asia/Tokyo"))
    around = await looked(new_run("clock", input=given))
    assert "waits to begin since Monday 2026-03-02 21:00" in around.pending
    run = with_outcome(new_run("clock", input=given), Recalled([], surroundings=around))
    again = Run.model_validate_json(run.model_dump_json())
    assert "Since Monday 2026-02-23 21:00, newest first" in asked(again, Phase.INSPIRATION)[1]


async def test_goals_of_people_and_events_are_set_with_the_robots_recent_runs_in_view() -> None:  # EX-95
    runs, scheduler = InMemoryRuns(), Scheduler()
    earlier = new_run("human").with_execution(execution_id="e9", created_at=NOON - timedelta(hours=1))
    assert await runs.create(lifecycle.finish(earlier, ExecStatus.COMPLETED, now=NOON), owner="first", lease=PAST) == 1
    for run in (request(action="goal.add"), new_run("event")):
        step: Any = lifecycle.next_step(run)
        assert step.with_history
        gather: Any = GatherSituation(runs=runs, blobs=InMemoryBlobs(), ask=scheduler)
        around = await gather.recent(run.with_execution(created_at=NOON - timedelta(minutes=1)))
        question = asked(with_outcome(run, Recalled([], surroundings=around)), Phase.GOALS)[1]
        assert "- Monday 2026-03-02 12:00, completed: task.add: Look at Globex" in question
        assert 'name="pending"' not in question
    assert scheduler.asked == []
    plain: Any = lifecycle.next_step(request("Translate into Spanish: it rains"))
    assert not plain.with_history


async def test_a_run_knows_the_goals_results_and_delivery_of_the_run_that_it_follows() -> None:  # EX-93
    runs = InMemoryRuns()
    before = advance_until(new_run("human"))[0]
    theirs = advance_until(new_run("human"))[0].with_execution(execution_id="e8", member_id="another")
    for run in (before, theirs):
        assert await runs.create(run, owner="first", lease=PAST) == 1
    gather: Any = GatherSituation(runs=runs, blobs=InMemoryBlobs(), ask=Scheduler())
    given = TriggerInput(messages=[Message(content="Also prepare similar case studies")], follows="e1")
    run = new_run("human", input=given).with_execution(execution_id="e2")
    step: Any = lifecycle.next_step(run)
    assert step.follows == "e1"
    followed, note = await gather.followed(run, "e1")
    assert note == ""
    known = ["task.add: Look at Globex (completed)", "1. Score it", "### Step 1\nresult of task-1", "Done.\n\n# Done"]
    assert [each for each in known if each not in followed] == []
    run = with_outcome(run, Recalled([], followed=followed))
    for phase in (Phase.GOALS, Phase.TASKS):
        question = asked(at(phase, run=run), phase)[1]
        assert f'name="the run that this one goes on from">\n{followed}\n</material' in question
    task = with_tasks(a_task(1), run=run)
    prompt = for_task(task, (task.execution.tasks or [])[0], Agents().of(TEAM).assistant("experts.writer"), {})
    assert followed in "\n".join(message.text() for message in prompt)
    assert await gather.followed(run, "e8") == ("", "follows: this robot has no execution e8")


def test_only_a_clock_run_gathers_its_situation() -> None:  # EX-11
    first = {type: lifecycle.next_step(new_run(type)) for type in ("clock", "human", "event")}
    assert {type: isinstance(step, RecallLessons) and step.with_situation for type, step in first.items()} == {
        "clock": True, "human": False, "event": False,
    }  # fmt: skip
    assert {describe(step) for step in first.values()} == {"RecallLessons"}  # as older journals have it


def test_the_agents_that_look_around_and_set_goals_see_the_situation() -> None:  # EX-11, EX-95
    for phase in (Phase.INSPIRATION, Phase.GOALS):
        question = asked(at(phase, run=new_run("clock")), phase)[1]
        assert 'name="pending">\n- paused: Globex\n</material' in question
        assert 'name="since then">\nSince Sunday 2026-03-01 12:00, newest first:\n- it rained\n</material' in question
    assert "it rained" not in asked(at(Phase.TASKS, run=new_run("clock")), Phase.TASKS)[1]


def test_an_empty_situation_is_shown_as_such() -> None:  # EX-11
    run = with_outcome(new_run("clock"), Recalled([], surroundings=Situation(since=NOON)))
    _, question = asked(run, Phase.INSPIRATION)
    assert 'name="pending">\n(nothing)\n</material' in question
    assert 'name="since then">\nSince Monday 2026-03-02 12:00, newest first:\n(nothing)\n</material' in question


def test_a_run_that_was_begun_before_there_were_surroundings_loads_and_goes_on() -> None:
    run = with_outcome(new_run("clock"), Recalled([]))
    old = run.model_dump(mode="json")
    del old["surroundings"]
    loaded = Run.model_validate(old)
    assert loaded.surroundings is None
    assert isinstance(lifecycle.next_step(loaded), AskAgent)
    assert 'name="pending"' not in asked(loaded, Phase.INSPIRATION)[1]
    assert "pending" not in facts(loaded, "inspiration")


WORDS = [REPORT, "## Goals\n1. Score it", '{"nothing_to_do": "all is well"}']


async def test_a_clock_run_replays_to_the_same_execution() -> None:  # F24 EX-11
    run = await StepHarness(ScriptedModel(*WORDS)).over(new_run("clock"))
    assert run.surroundings == AROUND
    answer = again(run)
    assert (answer.same, answer.difference) == (True, "")
    assert [decision.outcome for decision in answer.decisions][:2] == ["Recalled", "Inspired"]


async def test_a_journal_from_before_situations_replays_too() -> None:  # F24
    run = await StepHarness(ScriptedModel(*WORDS)).over(new_run("clock"))
    first, *rest = run.unsaved
    assert isinstance(first.data, dict)
    data = {name: value for name, value in first.data.items() if name != "surroundings"}
    older = run.model_copy(update={"unsaved": [first.model_copy(update={"data": data}), *rest], "surroundings": None})
    assert again(older).same


def looking(harness: WorkerHarness, seen: list[Situation | None]) -> None:
    """Each look shows something else; `seen` are those that a report was made from."""

    async def step(run: Run, step: Step) -> Outcome:
        if isinstance(step, RecallLessons):
            return Recalled([], surroundings=AROUND.model_copy(update={"happened": f"look {len(harness.steps)}"}))
        if isinstance(step, AskAgent) and step.phase is Phase.INSPIRATION:
            seen.append(run.surroundings)
            if len(seen) == 1:
                raise ConnectionError("this worker dies")
        return await harness.succeed(run, step)

    harness.run_step = step


async def test_what_was_seen_is_saved_before_the_report_is_made() -> None:  # EX-11 F9
    harness, seen = WorkerHarness(), list[Situation | None]()
    looking(harness, seen)
    with pytest.raises(ConnectionError):
        await harness.worker.start(new_run("clock"))
    assert (await harness.run()).surroundings is not None
    harness.clock.forward(TIMEOUTS.lease)
    await harness.new_worker("second").start(new_run("clock"))
    assert [around and around.happened for around in seen] == ["look 1"] * 2
    assert harness.steps.count("RecallLessons") == 1
    assert (await harness.run()).execution.inspiration is not None


async def test_a_dry_clock_run_gathers_its_situation_too() -> None:  # EX-08 EX-11
    dry = new_run("clock", robot=a_robot(config={"executor": {"mode": "dryrun"}}))
    step = lifecycle.next_step(dry)
    assert isinstance(step, RecallLessons)
    assert step.with_situation
