"""The quarantine: what it holds, decisions that count once, and their way out through kills."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import BAD, a_task, equipped, new_run, outcome_of, with_tasks
from services.executor.tests.harness import WorkerHarness

from executor.adapters.in_memory import InMemoryBlobs
from executor.domain import journal, lifecycle, quarantine
from executor.domain.outcomes import Outcome, RulesAnswered, StepFailed, VerdictGiven
from executor.domain.quarantine import Decided
from executor.domain.run import Run
from executor.domain.steps import CheckRules, Finish, RequestVerdict, RunTurn, Step
from executor.domain.texts import owner_of
from executor.reads.decide_permission import DecidePermission
from executor.reads.read_quarantine import OUTPUT_LIMIT, ReadQuarantine
from executor.reads.replay import replay
from executor.runs.decide_quarantined_result import DecideQuarantinedResult
from rota_common.errors import Transient
from rota_common.testing.samples import NOON, TEAM
from rota_contracts.messages.delivery import MayDeliver, Permission
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.quarantine import (
    DecideQuarantined,
    ListQuarantine,
    Quarantined,
    QuarantineDecision,
    QuarantineStatus,
    ReadQuarantined,
)
from rota_contracts.messages.validation import RulesReply, ValidationResult

GOING_ON = equipped(continue_on_failure=True)
RELEASE, DROP = QuarantineDecision.RELEASE, QuarantineDecision.DROP
PATIENCE = timedelta(seconds=60)
Answer = Callable[[Run, Step], Outcome]


def verdict(score: float, issue: str = "too short", **more: Any) -> RulesReply:
    return RulesReply(verdict=ValidationResult(passed=False, score=score, issues=[issue], **more))


def to_the_end(run: Run, answer: Answer) -> Run:
    """The run to its end, with its journal."""
    while not isinstance(step := lifecycle.next_step(run), Finish):
        if not isinstance(step, CheckRules | RunTurn | RequestVerdict):
            answered: Outcome = outcome_of(run, step)
        else:
            answered = answer(run, step)
        run = journal.record_outcome(waiting(run, step), answered, now=NOON)
    return journal.record_finished(run, step.status, now=NOON)


def waiting(run: Run, step: Any) -> Run:
    known = type(step) in lifecycle.WAITS
    return lifecycle.wait_for_answer(run, step, now=NOON, patience=PATIENCE) if known else run


def refused(run: Run, step: Step) -> Outcome:
    """The rules of each task refuse its result."""
    return (
        RulesAnswered(step.task.id, RulesReply(verdict=BAD)) if isinstance(step, CheckRules) else outcome_of(run, step)
    )


def fresh(**more: Any) -> Run:
    return new_run(**more)


def held(run: Run | None = None) -> Run:
    return to_the_end(run or fresh(), refused)


def test_a_run_that_failed_validation_holds_its_result() -> None:  # F13
    run = held()
    (result,) = run.execution.quarantine
    assert (run.execution.status, run.execution.delivery) == (ExecStatus.FAILED, None)
    assert (result.score, result.issues, result.status) == (BAD.score, BAD.issues, QuarantineStatus.HELD)
    assert (result.task_id, result.execution_id, result.held_at) == ("task-1", "e1", NOON)


def test_the_result_of_the_best_turn_is_held() -> None:  # F13
    verdicts = [
        verdict(0.2, "no figures", need_reply=True, reply_content="Add figures."),
        verdict(0.5, "no date", need_reply=True, reply_content="Add the date."),
        verdict(0.3, "no sender"),
    ]

    def answer(run: Run, step: Step) -> Outcome:
        return RulesAnswered(step.task.id, verdicts.pop(0)) if isinstance(step, CheckRules) else outcome_of(run, step)

    (result,) = to_the_end(fresh(), answer).execution.quarantine
    assert (result.score, result.issues) == (0.5, ["no date"])


def test_a_result_without_a_verdict_for_lack_of_a_judge_is_held_too() -> None:  # F13
    nothing = ValidationResult(passed=False, score=0, issues=["the judge gave no verdict"])

    def answer(run: Run, step: Step) -> Outcome:
        if isinstance(step, RequestVerdict):
            return VerdictGiven(step.validation_id, step.task.id, nothing, "the judge gave no verdict")
        return outcome_of(run, step)

    run = with_tasks(a_task(1, expected_output="a score"))
    (result,) = to_the_end(run, answer).execution.quarantine
    assert (result.score, result.issues) == (0, ["the judge gave no verdict"])


def test_no_other_failure_holds_anything(subtests: pytest.Subtests) -> None:  # F13
    def fails(run: Run, step: Step) -> Outcome:
        return StepFailed("no connector") if isinstance(step, RunTurn) else outcome_of(run, step)

    dry = new_run(executor_mode="dryrun")
    for name, run in (("a step", to_the_end(fresh(), fails)), ("a dry run", to_the_end(dry, refused))):
        with subtests.test(name):
            assert (run.execution.status, run.execution.quarantine) == (ExecStatus.FAILED, [])


def test_what_was_stopped_holds_nothing() -> None:  # F11 F13
    run = lifecycle.finish(held(), ExecStatus.CANCELLED, now=NOON).with_execution(quarantine=[])
    assert journal.record_finished(run, ExecStatus.CANCELLED, now=NOON).execution.quarantine == []


def test_a_run_that_goes_on_past_a_failure_delivers_the_rest_and_holds_that_result() -> None:  # F13
    def second(run: Run, step: Step) -> Outcome:
        bad = isinstance(step, CheckRules) and step.task.id == "task-2"
        return refused(run, step) if bad else outcome_of(run, step)

    run = to_the_end(with_tasks(a_task(1), a_task(2), robot=GOING_ON), second)
    assert run.execution.status is ExecStatus.COMPLETED
    assert run.execution.delivery is not None
    assert [result.task_id for result in run.execution.quarantine] == ["task-2"]


def decided(run: Run, decision: QuarantineDecision, by: str = "ann", note: str = "") -> Run:
    quarantine_id = run.execution.quarantine[0].quarantine_id
    return journal.record_decided(
        run, Decided(quarantine_id=quarantine_id, decision=decision, by=by, note=note), now=NOON
    )


def test_the_first_decision_counts() -> None:  # F13
    run = decided(held(), RELEASE, note="it is right")
    assert decided(run, DROP, by="bob") is run
    (result,) = run.execution.quarantine
    assert (result.status, result.decided_by, result.note) == (QuarantineStatus.RELEASED, "ann", "it is right")
    assert result.decided_at == NOON


@pytest.mark.parametrize("decision", [RELEASE, DROP])
def test_a_decision_is_replayed_with_its_run(decision: QuarantineDecision) -> None:  # F13 F24
    run = decided(held(), decision)
    answer = replay(run, run.unsaved, [""] * len(run.unsaved))
    assert answer.same, answer.difference
    last = answer.decisions[-1]
    assert (last.step, last.outcome, last.made) == ("Done", "decided", f"{decision} by ann")


def test_a_run_that_failed_before_there_was_a_quarantine_is_replayed_without_one() -> None:  # F13 F24
    run = held()
    entries = [entry for entry in run.unsaved if entry.kind != journal.QUARANTINED]
    old = run.with_execution(quarantine=[])
    assert len(entries) == len(run.unsaved) - 1
    assert replay(old, entries, [""] * len(entries)).same


def test_a_release_begins_the_time_that_the_run_is_kept_anew() -> None:  # F13
    run, later = held(), NOON + timedelta(days=3)
    first = run.execution.quarantine[0].quarantine_id
    for decision, kept_from in ((DROP, NOON), (RELEASE, later)):
        after = quarantine.decide(run, Decided(quarantine_id=first, decision=decision, by="ann"), now=later)
        assert quarantine.kept_from(after) == kept_from


class Announcing:
    """Records what is announced; while it is `away`, nothing is."""

    def __init__(self) -> None:
        self.away = False
        self.announced: list[list[str]] = []

    async def __call__(self, run: Run) -> None:
        if self.away:
            raise Transient("NATS is away")
        self.announced.append([str(each.status) for each in quarantine.decided(run)])


class Shop:
    """A run with two results in quarantine, stored."""

    def __init__(self) -> None:
        self.harness, self.announce = WorkerHarness(), Announcing()
        self.runs, self.clock = self.harness.runs, self.harness.clock
        announce: Any = self.announce
        self.decide = DecideQuarantinedResult(runs=self.runs, announce=announce, clock=self.clock, patience=PATIENCE)
        self.worker = replace(self.harness.worker, announce=announce)
        self.results: list[Quarantined] = []

    async def fill(self) -> None:
        run = held(with_tasks(a_task(1), a_task(2), robot=GOING_ON))
        self.results = run.execution.quarantine
        epoch = await self.runs.create(fresh(), owner="first", lease=timedelta(0))
        assert epoch is not None
        await self.runs.release(run, epoch, check_in=None)

    async def request(self, number: int, decision: QuarantineDecision, *, team: str = TEAM, by: str = "ann") -> Any:
        wanted = {"quarantine_id": self.results[number].quarantine_id, "decision": decision, "by": by}
        return await self.decide(DecideQuarantined(team_id=team, **wanted))

    async def sweep(self) -> None:
        for run_id in await self.harness.overdue():
            await self.worker.resume(run_id, from_sweeper=True)


@pytest.fixture
async def shop() -> Shop:
    made = Shop()
    await made.fill()
    return made


async def test_a_repeat_publishes_nothing_and_another_decision_is_refused(shop: Shop) -> None:  # F13
    first = await shop.request(0, RELEASE)
    again = await shop.request(0, RELEASE, by="bob")
    other = await shop.request(0, DROP, by="bob")
    assert (first.result.status, first.repeated, first.refused) == ("released", False, "")
    assert (again.result, again.repeated) == (first.result, True)
    assert other.refused == "this result was released before, by ann: the first decision counts"
    assert shop.announce.announced == [["released"]]
    shop.clock.forward(3600)
    await shop.sweep()
    assert shop.announce.announced == [["released"]]


async def test_a_decision_that_a_kill_left_unpublished_is_published_by_the_sweeper(shop: Shop) -> None:  # F13
    shop.announce.away = True
    assert (await shop.request(0, RELEASE)).result.status == "released"
    await shop.sweep()
    shop.announce.away = False
    shop.clock.forward(PATIENCE.total_seconds())
    await shop.sweep()
    assert shop.announce.announced == [["released"]]
    assert await shop.harness.overdue() == []


async def test_what_was_decided_meanwhile_stays_to_be_published(shop: Shop) -> None:  # F13
    await shop.request(0, RELEASE)
    shop.announce.away = True
    await shop.request(1, DROP)
    await shop.runs.mark_announced("e1", decided=1)  # by who has published the first
    shop.announce.away = False
    shop.clock.forward(PATIENCE.total_seconds())
    await shop.sweep()
    assert shop.announce.announced == [["released"], ["released", "dropped"]]


async def test_the_quarantine_is_its_teams_own(shop: Shop) -> None:  # TG-23 F13
    read = ReadQuarantine(runs=shop.runs, blobs=InMemoryBlobs())
    wanted = shop.results[0].quarantine_id
    assert (await shop.request(0, RELEASE, team="initech")).result is None
    assert (await read.one(ReadQuarantined(team_id="initech", quarantine_id=wanted))).result is None
    assert (await read.page(ListQuarantine(team_id="initech"))).results == []
    assert (await read.one(ReadQuarantined(team_id=TEAM, quarantine_id="unknown"))).result is None
    found = await read.one(ReadQuarantined(team_id=TEAM, quarantine_id=wanted))
    assert (found.result, found.cut) == (shop.results[0], False)
    assert found.output != ""


async def test_only_a_released_result_may_be_delivered(shop: Shop) -> None:  # F13
    permission = DecidePermission(runs=shop.runs, clock=shop.clock)
    await shop.request(0, RELEASE)
    await shop.request(1, DROP)
    ids = [quarantine.delivery_id(each) for each in shop.results]
    asked = [MayDeliver(team_id=TEAM, execution_id="e1", request_id=request_id) for request_id in (*ids, "")]
    deny, allow = Permission.DENY, Permission.ALLOW
    assert [(await permission(each)).leave for each in asked] == [allow, deny, deny]
    others = MayDeliver(team_id="initech", execution_id="e1", request_id=ids[0])
    assert (await permission(others)).leave is deny


async def test_a_long_output_is_read_where_it_is_kept_and_cut(shop: Shop) -> None:  # F13
    blobs = InMemoryBlobs()
    run = (await shop.harness.run()).model_copy()
    long = await blobs.keep("x" * (OUTPUT_LIMIT + 1), owner=owner_of(run))
    results = [each.model_copy(update={"output": long}) for each in run.execution.results]
    found = await shop.runs.by_quarantined(shop.results[0].quarantine_id)
    assert found is not None
    await shop.runs.release(run.with_execution(results=results), found[1], check_in=None)
    wanted = ReadQuarantined(team_id=TEAM, quarantine_id=shop.results[0].quarantine_id)
    read = await ReadQuarantine(runs=shop.runs, blobs=blobs).one(wanted)
    assert (len(read.output), read.cut) == (OUTPUT_LIMIT, True)
