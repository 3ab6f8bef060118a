"""Goals are given to runs under way: only to one that accepts them, and once (SC-13)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    MERGE,
    an_earlier,
    at,
    comparing,
    failed,
    merging,
    new_run,
    signalled,
    with_outcome,
)
from services.executor.tests.harness import Published

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain import lifecycle
from executor.domain.outcomes import (
    GoalsCompared,
    GoalsGiven,
)
from executor.domain.planning.prepare import accepts_goals
from executor.domain.run import Merge, Run
from executor.domain.steps import (
    RequestDelivery,
    RequestLearning,
    RunTurn,
)
from executor.steps.merge_goals import MergeGoals
from rota_common.bus.rpc import NoReply
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock
from rota_contracts.messages.execution import ExecStatus, Goals
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, MergeReply, Waiting, WaitingPage
from rota_contracts.messages.learning import CheckGoals
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.model import Part
from rota_contracts.roles import Role

SOON = NOON + timedelta(seconds=10)


class Others:
    """The learner and the scheduler. `lost`: questions whose answer got lost on the way."""

    def __init__(self) -> None:
        self.asked = list[Part]()
        self.waiting: list[Waiting] | Exception = []
        self.answer = MERGE
        self.merged = MergeReply(done=True)
        self.lost = 0

    async def __call__(self, question: Any, request: Part, *, timeout: float | None = None) -> Part:
        self.asked.append(request)
        match request:
            case CheckGoals():
                return self.answer
            case ListWaiting():
                if isinstance(self.waiting, Exception):
                    raise self.waiting
                return WaitingPage(waiting=self.waiting)
            case MergeInto():
                if self.lost:
                    self.lost -= 1
                    raise NoReply("no answer")
                return self.merged
        raise AssertionError(question)

    def question(self) -> CheckGoals:
        return next(request for request in self.asked if isinstance(request, CheckGoals))


class Team:
    """The robot's runs in a store, and their merging."""

    def __init__(self) -> None:
        self.runs, self.others = InMemoryRuns(), Others()
        self.clock = SetClock(SOON)
        self.published = Published(self.runs)
        ask: Any = self.others
        announce: Any = self.published
        self.merging = MergeGoals(runs=self.runs, ask=ask, publisher=announce, clock=self.clock)

    async def keep(self, *runs: Run) -> None:
        for run in runs:
            assert await self.runs.create(run, owner="first", lease=timedelta(0)) == 1

    async def words(self, run_id: str) -> list[tuple[str, str]]:
        run = await self.runs.find(run_id)
        return [(word.text(), word.merged) for word in run.inbox] if run else []


def waits(run_id: str) -> Waiting:
    return Waiting(execution_id=run_id, type=TriggerType.CLOCK, about="the clock", queued_at=NOON)


async def test_the_learners_question_names_runs_under_way() -> None:  # SC-13
    team = Team()
    others = [an_earlier(f"e-{n:02}", minutes=n) for n in range(1, 13)]
    await team.keep(*others)
    team.others.waiting = [waits("q1")]
    await team.merging.compare(comparing(), Goals(content="Sell"))
    shown = team.others.question().under_way
    assert [each.execution_id for each in shown] == [*(f"e-{n:02}" for n in range(1, 11)), "q1"]
    assert (shown[0].status, shown[0].goals, shown[0].about) == (
        "running",
        "## Goals\n1. Score it",
        "lead.created: Globex",
    )
    assert (shown[-1].status, shown[-1].goals, shown[-1].about) == ("queued", "", "the clock")
    (listing,) = [request for request in team.others.asked if isinstance(request, ListWaiting)]
    assert (listing.team_id, listing.member_id, listing.limit) == (TEAM, MEMBER, 10)


async def test_without_the_scheduler_the_learner_is_asked_all_the_same() -> None:  # SC-13
    team = Team()
    team.others.waiting = NoReply("no responder")
    outcome = await team.merging.compare(comparing(), Goals(content="Sell"))
    assert outcome == GoalsCompared(MERGE, queued=False)


NO_TAKERS: dict[str, Callable[[], Run]] = {
    "over": lambda: lifecycle.finish(at(RunTurn), ExecStatus.COMPLETED, now=NOON),
    "about to stop": lambda: signalled(at(RunTurn), "stop"),
    "failed": lambda: failed(at(RunTurn)),
    "delivering": lambda: at(RequestDelivery),
    "learning": lambda: at(RequestLearning),
    "giving its own away": merging,
    "a dry run": lambda: at(RunTurn, run=new_run(executor_mode="dryrun")),
}


async def test_goals_are_given_only_to_runs_that_accept_them(subtests: pytest.Subtests) -> None:  # SC-13
    for why in NO_TAKERS:
        with subtests.test(why=why):
            team, other = Team(), an_earlier("e0", run=NO_TAKERS[why]())
            assert not accepts_goals(other)
            await team.keep(other)
            await team.merging.compare(comparing(), Goals(content="Sell"))
            assert team.others.question().under_way == []
            assert await team.merging.give_goals(merging(), Merge(into="e0", goals="Sell")) == GoalsGiven(
                "e0", done=False
            )
            assert await team.words("e0") == []


async def test_only_the_robots_runs_that_began_before_are_given_goals(subtests: pytest.Subtests) -> None:  # SC-13
    cases = [
        (an_earlier("e0"), True),
        (an_earlier("e0", minutes=0), True),  # at the same instant the id decides
        (an_earlier("e2", minutes=0), False),
        (an_earlier("e0", minutes=-1), False),
        (an_earlier("e0").with_execution(member_id="bob"), False),
        (an_earlier("e0").with_execution(team_id="initech"), False),
    ]
    for other, named in cases:
        with subtests.test(other=other, named=named):
            team = Team()
            await team.keep(other)
            await team.merging.compare(comparing(), Goals(content="Sell"))
            assert [each.execution_id for each in team.others.question().under_way] == ([other.id] if named else [])
            given = await team.merging.give_goals(merging(), Merge(into=other.id, goals="Sell"))
            assert given == GoalsGiven(other.id, done=named)


async def test_two_runs_can_not_give_their_goals_to_each_other() -> None:  # SC-13
    team = Team()
    first, second = an_earlier("e0", run=comparing()), comparing()
    await team.keep(first, second)
    assert await team.merging.give_goals(second, Merge(into="e0", goals="B")) == GoalsGiven("e0", done=True)
    assert await team.merging.give_goals(first, Merge(into="e1", goals="A")) == GoalsGiven("e1", done=False)


async def test_goals_are_given_once_however_often_it_is_tried() -> None:  # SC-13
    team = Team()
    await team.keep(an_earlier("e0"))
    for _ in range(3):
        assert await team.merging.give_goals(merging(), Merge(into="e0", goals="Sell")) == GoalsGiven("e0", done=True)
    assert await team.words("e0") == [("Sell", "e1")]
    over = lifecycle.finish(an_earlier("e0"), ExecStatus.COMPLETED, now=NOON)
    await team.runs.release(over.model_copy(update={"applied": 1}), 1, check_in=None)
    assert await team.merging.give_goals(merging(), Merge(into="e0", goals="Sell")) == GoalsGiven("e0", done=True)


async def test_goals_for_a_run_that_waits_for_its_slot_go_to_the_scheduler() -> None:  # SC-13
    team = Team()
    team.others.waiting, team.others.answer = [waits("q1")], MERGE.model_copy(update={"into": "q1"})
    run = with_outcome(comparing(), await team.merging.compare(comparing(), Goals(content="Sell")))
    assert run.merging is not None
    team.others.lost = 1
    with pytest.raises(NoReply):
        await team.merging.give_goals(run, run.merging)
    assert await team.merging.give_goals(run, run.merging) == GoalsGiven("q1", done=True)
    first, again = [request for request in team.others.asked if isinstance(request, MergeInto)]
    assert (first, first.execution_id, first.goals) == (again, "q1", "the rest")
    team.others.merged = MergeReply(done=False)
    assert await team.merging.give_goals(run, run.merging) == GoalsGiven("q1", done=False)


async def test_goals_take_the_role_of_their_run_along() -> None:  # SC-13 EX-65
    team = Team()
    await team.keep(an_earlier("e0"))
    giver = signalled(comparing(type="human", role="owner"), "instruct", "Sell", role="admin")
    await team.merging.give_goals(giver, Merge(into="e0", goals="Sell"))
    await team.merging.give_goals(giver, Merge(into="q1", goals="Sell", queued=True))
    target = await team.runs.find("e0")
    assert target is not None
    (asked,) = [request for request in team.others.asked if isinstance(request, MergeInto)]
    assert [signal.role for signal in target.inbox] == [asked.role] == [Role.ADMIN]


async def test_a_dry_run_gives_no_goals() -> None:  # SC-13 EX-07
    team = Team()
    await team.keep(an_earlier("e0"))
    run = comparing(executor_mode="dryrun")
    run = with_outcome(run, await team.merging.compare(run, Goals(content="Sell")))
    assert team.others.question().under_way == []
    assert run.merging is None
    assert run.execution.goals == Goals(content="the rest")
