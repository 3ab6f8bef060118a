"""Budgets and sums of spending in memory keep the same promises as those in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from executor.adapters.in_memory_budget import InMemoryBudget
from executor.adapters.mongo_budget import MongoBudget
from executor.domain import spending
from executor.domain.run import Need
from executor.domain.spending import Limit
from executor.ports import Runs
from executor.spending.budget_port import Amount, Budget, NoRoom
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.spend import ReadSpend, SpendBy
from rota_contracts.messages.usage import ModelCall, Usage
from tests.conformance.executor_store import MINUTE, a_run, created

RUN = Limit("run:e1:USD", "this run", daily=False, currency="USD", money=100, tokens=1000)
DAY = replace(RUN, key="team:acme:USD", daily=True)
CALL = Amount(tokens=10, money=40)
HOLD, ENDED = timedelta(minutes=10), timedelta(0)


@dataclass
class World:
    budget: Budget
    memory: InMemoryBudget | None = None
    mongo: Mongo | None = None

    async def next_day(self) -> None:
        """As the store's clock sees it."""
        if self.memory is not None:
            tomorrow = datetime.now(UTC) + timedelta(days=1)
            self.memory.clock = lambda: tomorrow
        if self.mongo is not None:
            yesterday = {"$dateSubtract": {"startDate": "$day", "unit": "day", "amount": 1}}
            await self.mongo.database["budgets"].update_many({}, [{"$set": {"day": yesterday}}])

    async def reserve(
        self, name: str, limit: Limit = RUN, amount: Amount = CALL, hold: timedelta = HOLD
    ) -> NoRoom | None:
        return await self.budget.reserve(limit, amount, reservation=name, hold=hold)


@pytest.fixture(params=["memory", "mongo"])
async def world(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[World]:
    if request.param == "memory":
        store = InMemoryBudget()
        yield World(store, memory=store)
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    made = MongoBudget(mongo.database)
    await made.prepare()
    yield World(made, mongo=mongo)
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


async def test_of_many_at_once_only_those_below_the_ceiling_reserve(world: World) -> None:  # F12
    found = await asyncio.gather(*(world.reserve(f"r{number}") for number in range(20)))
    assert (found.count(None), found.count(NoRoom(open=True))) == (2, 18)
    assert await world.budget.room(RUN) == Amount(980, 20)
    assert await world.reserve("small", amount=Amount(tokens=980, money=20)) is None  # up to the last bit
    assert await world.reserve("none", amount=Amount(tokens=1)) == NoRoom(open=True)
    assert await world.reserve("other", replace(RUN, key="run:e2:USD")) is None


async def test_what_is_settled_counts_as_it_was_and_only_once(world: World) -> None:  # F12
    await world.reserve("r1")
    taken = Amount(tokens=7, money=15)
    for _ in range(2):
        await world.budget.settle(RUN, CALL, taken, reservation="r1")
    await world.budget.settle(RUN, CALL, taken, reservation="never")
    assert await world.budget.room(RUN) == Amount(993, 85)


async def test_what_is_never_settled_stays_spent_but_promises_no_room(world: World) -> None:  # F12
    for name in ("r1", "r2"):
        assert await world.reserve(name, hold=ENDED) is None
    assert await world.reserve("r3") == NoRoom(open=False)
    raised = replace(RUN, money=120)
    assert await world.reserve("r3", raised) is None
    assert (await world.budget.room(replace(raised, tokens=None))).money == 0


async def test_a_daily_counter_begins_anew_each_day_and_a_runs_never(world: World) -> None:  # F12
    for limit in (RUN, DAY):
        for name in ("r1", "r2"):
            await world.reserve(name, limit)
    await world.next_day()
    assert await world.budget.room(DAY) == Amount(1000, 100)
    assert await world.reserve("r3", DAY) is None
    await world.budget.settle(DAY, CALL, Amount(), reservation="r1")  # of yesterday
    assert await world.budget.room(DAY) == Amount(990, 60)
    assert await world.budget.room(RUN) == Amount(980, 20)
    assert isinstance(await world.reserve("r3"), NoRoom)


async def test_runs_that_wait_at_a_ceiling_are_found_until_they_go_on(runs: Runs) -> None:  # F12
    for number, name in enumerate(("late", "early", "free", "held")):
        run = a_run(name, at=NOON - timedelta(minutes=number))
        epoch = await created(runs, run)
        if name != "free":
            run = spending.at_ceiling(run, "room?", Need(tokens=5, money=7, currency="USD"), NOON)
        if name != "held":
            await runs.release(run, epoch, check_in=None)
    assert [run.id async for run in runs.at_ceiling(limit=10)] == ["early", "late"]
    assert [run.id async for run in runs.at_ceiling(limit=1)] == ["early"]
    claimed = await runs.claim("early", owner="w", lease=MINUTE)
    assert claimed is not None
    run, epoch, _ = claimed
    assert (run.ceiling, run.expires_at) == (Need(tokens=5, money=7, currency="USD"), None)
    await runs.release(spending.tries_again(run), epoch, check_in=None)
    assert [run.id async for run in runs.at_ceiling(limit=10)] == ["late"]


async def test_a_teams_spending_is_summed_by_what_is_asked_for(runs: Runs) -> None:  # EX-63
    def call(model: str, cost: float | None, agent: str = "writer") -> ModelCall:
        used = Usage(tokens_in=10, tokens_out=2, tokens_cached=1)
        return ModelCall(model=model, agent=agent, usage=used, cost=cost, currency="" if cost is None else "USD")

    made = [
        (a_run("e1"), [call("big", 0.5), call("small", 0.1, "judge")]),
        (a_run("e2", member="bob"), [call("small", 0.1), call("free", None)]),
        (a_run("old", at=NOON - timedelta(days=9)), [call("big", 5.0)]),
        (a_run("theirs", team="globex"), [call("big", 9.0)]),
    ]
    for run, calls in made:
        usage = run.execution.usage
        for each in calls:
            usage = usage.plus(each, day="2026-03-02")
        await created(runs, run.with_execution(usage=usage))
    asked = ReadSpend(team_id=TEAM, since=NOON - timedelta(days=1))
    found = await runs.spend(asked, limit=10)
    rows = [(row.robot, row.model, row.currency, row.calls, row.cost, row.tokens_in) for row in found.rows]
    assert rows == [(MEMBER, "", "USD", 2, 0.6, 20), ("bob", "", "USD", 1, 0.1, 10), ("bob", "", "", 1, 0.0, 10)]
    assert (found.unpriced, found.left_out) == (1, 0)
    by = asked.model_copy(update={"by": [SpendBy.MODEL, SpendBy.AGENT, SpendBy.DAY], "member_id": MEMBER})
    rows_by = [(row.model, row.agent, row.day, row.cost) for row in (await runs.spend(by, limit=1)).rows]
    assert rows_by == [("big", "writer", "2026-03-02", 0.5)]
    assert (await runs.spend(by, limit=1)).left_out == 1
