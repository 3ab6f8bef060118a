"""The use cases on fakes: failures of other parts, and concurrent requests."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from rota_common.errors import Transient
from rota_contracts.messages.execution import ExecStatus, TriggerReply, TriggerState
from rota_contracts.messages.trigger import Message, TriggerAdmittedV1, TriggerType
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role
from trigger_gateway.adapters import in_memory_stores, scripted
from trigger_gateway.problems import Conflict, NotFound, StoredNotApplied
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.robots.routes import KEPT_FOR, Route, Routes
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.request_run import RequestRun, RunRequest
from trigger_gateway.sources.source import Source, WebhookSettings

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WEBHOOK = WebhookSettings(secrets=["$ENV.X"])
LEADS = {"type": "webhook", "source": "leads"}
DEFINITION: dict[str, Any] = {"member_id": "leader", "robot_config": {"identity": {"role": "x"}, "events": [LEADS]}}
HELLO = RunRequest(TriggerType.HUMAN, messages=[Message(content="hello")])


@dataclass
class Harness:
    """Everything a use case touches, in memory."""

    now: datetime = AT
    robots: in_memory_stores.InMemoryRobots = field(default_factory=in_memory_stores.InMemoryRobots)
    sources: in_memory_stores.InMemorySources = field(default_factory=in_memory_stores.InMemorySources)
    definitions: in_memory_stores.InMemoryDefinitions = field(default_factory=in_memory_stores.InMemoryDefinitions)
    triggers: in_memory_stores.InMemoryTriggers = field(default_factory=in_memory_stores.InMemoryTriggers)
    outcomes: scripted.ScriptedOutcomes = field(default_factory=scripted.ScriptedOutcomes)
    requests: in_memory_stores.InMemoryRequests = field(default_factory=in_memory_stores.InMemoryRequests)

    def __post_init__(self) -> None:
        ids = count(1)
        self.routes = Routes(sources=self.sources, robots=self.robots, clock=lambda: self.now)
        self.sync = SyncRobots(records=self.robots, definitions=self.definitions, events=self.definitions)
        self.save = SaveRobot(
            records=self.robots,
            sync=self.sync,
            routes=self.routes,
            clock=lambda: self.now,
            new_id=lambda: f"id-{next(ids)}",
            history=in_memory_stores.InMemoryRobotHistory(),
        )
        request_run = RequestRun(
            robots=self.robots,
            triggers=self.triggers,
            outcomes=self.outcomes,
            requests=self.requests,
            backlogs=Backlogs(),
            clock=lambda: self.now,
            new_id=lambda: f"id-{next(ids)}",
        )
        self.run = partial(request_run, role=Role.MEMBER)

    async def route(self) -> Route:
        route = await self.routes.find("acme", "leads")
        assert route is not None
        return route


@pytest.fixture
async def harness() -> Harness:
    made = Harness()
    await made.sources.add(Source("acme", "leads", AT, WEBHOOK))
    return made


async def test_nothing_is_saved_while_nothing_can_be_published(harness: Harness) -> None:
    harness.definitions.away = True
    with pytest.raises(Transient):
        await harness.save.create("acme", DEFINITION)
    assert await harness.robots.find("acme", "leader") is None


async def test_an_interrupted_creation_may_be_repeated(harness: Harness) -> None:  # TG-17
    harness.definitions.breaks = True
    for _ in range(2):
        with pytest.raises(StoredNotApplied):
            await harness.save.create("acme", DEFINITION)
    with pytest.raises(Conflict):
        await harness.save.create("acme", DEFINITION | {"display_name": "another"})
    harness.definitions.breaks = False
    assert (await harness.save.create("acme", DEFINITION)).rev == 1
    assert harness.definitions.published == [("leader", 1, True)]
    with pytest.raises(Conflict):
        await harness.save.create("acme", DEFINITION)


async def test_a_creation_that_the_sweep_finished_may_still_be_repeated_once(harness: Harness) -> None:
    harness.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await harness.save.create("acme", DEFINITION)
    harness.definitions.breaks = False
    assert await harness.sync.sweep() == 1
    assert await harness.sync.sweep() == 0
    assert (await harness.save.create("acme", DEFINITION)).rev == 1
    with pytest.raises(Conflict):
        await harness.save.create("acme", DEFINITION)
    assert harness.definitions.published == [("leader", 1, True)]


async def test_a_creation_is_published_although_only_a_later_revision_was(harness: Harness) -> None:
    harness.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await harness.save.create("acme", DEFINITION)
    with pytest.raises(StoredNotApplied):
        await harness.save.change("acme", "leader", {"display_name": "Leo"})
    harness.definitions.breaks = False
    await harness.sync.sweep()
    assert harness.definitions.published == [("leader", 2, True)]


async def test_an_interrupted_deletion_may_be_repeated(harness: Harness) -> None:  # TG-20
    await harness.save.create("acme", DEFINITION)
    harness.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await harness.save.delete("acme", "leader")
    harness.definitions.breaks = False
    await harness.save.delete("acme", "leader")
    assert harness.definitions.robots["acme", "leader"].deleted
    with pytest.raises(NotFound):
        await harness.save.delete("acme", "leader")


async def test_a_deletion_is_published_before_the_name_is_reused(harness: Harness) -> None:
    await harness.save.create("acme", DEFINITION)
    harness.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await harness.save.delete("acme", "leader")
    with pytest.raises(Transient):
        await harness.save.create("acme", DEFINITION)
    harness.definitions.breaks = False
    assert (await harness.save.create("acme", DEFINITION)).rev == 3
    assert harness.definitions.published == [("leader", 1, True), ("leader", 2, False), ("leader", 3, True)]


async def test_a_route_is_looked_up_once_in_a_while(harness: Harness) -> None:
    await harness.save.create("acme", DEFINITION)
    for _ in range(3):
        assert [each.member for each in (await harness.route()).subscribers] == ["leader"]
    assert harness.sources.asked == 1
    harness.now += KEPT_FOR
    await harness.route()
    assert harness.sources.asked == 2


async def test_a_route_is_looked_up_again_after_each_change(harness: Harness) -> None:
    assert (await harness.route()).subscribers == ()
    await harness.save.create("acme", DEFINITION)
    assert [each.rev for each in (await harness.route()).subscribers] == [1]
    await harness.save.change("acme", "leader", {"display_name": "Leo"})
    assert [each.rev for each in (await harness.route()).subscribers] == [2]
    await harness.save.delete("acme", "leader")
    assert (await harness.route()).subscribers == ()


async def test_concurrent_requests_share_one_look_up(harness: Harness) -> None:
    await asyncio.gather(*(harness.route() for _ in range(20)))
    assert harness.sources.asked == 1


async def test_a_look_up_under_way_during_a_change_is_not_cached(harness: Harness) -> None:
    asking = asyncio.create_task(harness.routes.find("acme", "leads"))
    await asyncio.sleep(0)
    harness.routes.forget("acme")
    await asking
    await harness.route()
    assert harness.sources.asked == 2


async def test_an_unknown_source_is_not_cached(harness: Harness) -> None:
    assert await harness.routes.find("acme", "crm") is None
    await harness.sources.add(Source("acme", "crm", AT, WEBHOOK))
    assert await harness.routes.find("acme", "crm") is not None


async def test_a_failed_look_up_is_not_cached(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(team: str, name: str) -> None:
        raise ConnectionError("away")

    with monkeypatch.context() as broken:
        broken.setattr(harness.sources, "find", fails)
        with pytest.raises(ConnectionError):
            await harness.routes.find("acme", "leads")
    assert await harness.routes.find("acme", "leads") is not None


async def test_a_cancelled_request_leaves_the_look_up_to_the_others(harness: Harness) -> None:
    first, second = (asyncio.create_task(harness.routes.find("acme", "leads")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is not None
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_request_that_was_not_stored_is_stored_by_its_repeat(harness: Harness) -> None:  # DEC-6
    await harness.save.create("acme", DEFINITION)
    request = RunRequest(TriggerType.HUMAN, messages=HELLO.messages, key="k1")
    harness.triggers.away = True
    with pytest.raises(Transient):
        await harness.run("acme", "leader", request)
    harness.triggers.away = False
    harness.outcomes.knows = TriggerReply(trigger_id="x", state=TriggerState.UNKNOWN)
    answer = await harness.run("acme", "leader", request)
    assert (answer.status, answer.repeated) == (ExecStatus.PENDING, False)
    assert list(harness.triggers.published) == [answer.trigger_id]


@pytest.mark.parametrize(
    ("state", "status", "expected"),
    [
        (TriggerState.QUEUED, None, ExecStatus.PENDING),
        (TriggerState.ADMITTED, None, ExecStatus.PENDING),
        (TriggerState.RUNNING, None, ExecStatus.RUNNING),
        (TriggerState.DONE, ExecStatus.FAILED, ExecStatus.FAILED),
    ],
)
async def test_a_repeat_is_answered_with_the_state_of_the_first(
    harness: Harness, state: TriggerState, status: ExecStatus | None, expected: ExecStatus
) -> None:  # TG-15
    await harness.save.create("acme", DEFINITION)
    request = RunRequest(TriggerType.HUMAN, messages=HELLO.messages, key="k1")
    first = await harness.run("acme", "leader", request)
    harness.outcomes.knows = TriggerReply(trigger_id=first.trigger_id, state=state, status=status)
    again = await harness.run("acme", "leader", request)
    assert (again.trigger_id, again.status, again.repeated) == (first.trigger_id, expected, True)
    assert again.execution_id == first.execution_id


async def test_an_admission_is_answered_with_the_schedulers_execution(harness: Harness) -> None:
    await harness.save.create("acme", DEFINITION)
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader", "trigger_id": "t", "execution_id": "e9"}
    harness.outcomes.says = TriggerAdmittedV1(type=TriggerType.HUMAN, admitted_at=AT, **whose)
    answer = await harness.run("acme", "leader", HELLO)
    assert (answer.execution_id, answer.status, answer.message) == ("e9", ExecStatus.PENDING, "queued")


async def test_idempotency_keys_are_per_robot(harness: Harness) -> None:
    await harness.save.create("acme", DEFINITION)
    await harness.save.create("acme", DEFINITION | {"member_id": "second"})
    request = RunRequest(TriggerType.HUMAN, messages=HELLO.messages, key="k1")
    ids = {(await harness.run("acme", member, request)).trigger_id for member in ("leader", "second")}
    assert len(ids) == 2


async def test_guessed_names_are_not_cached(harness: Harness) -> None:
    for number in range(50):
        await harness.routes.find(f"team{number}", "leads")
    await harness.route()
    assert len(harness.routes._kept) == 1


async def test_a_robot_that_can_not_be_published_keeps_no_other_from_it(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigger_gateway.robots.sync_robots.BATCH", 3)
    put, members = harness.definitions.put, [f"bad-{number}" for number in range(3)] + ["good"]

    async def refusing(robot: Robot) -> None:
        if robot.member_id.startswith("bad"):
            raise Transient("maximum bytes exceeded")
        await put(robot)

    harness.definitions.put = refusing  # type: ignore[method-assign]  # as a full bucket does
    for seconds, member in enumerate(members):
        robot = Robot.model_validate(DEFINITION | {"team_id": "acme", "rev": 1} | {"member_id": member})
        await harness.robots.insert(RobotRecord(robot, AT + timedelta(seconds=seconds)))
    assert await harness.sync.sweep()
    assert await harness.sync.sweep()
    assert list(harness.definitions.robots) == [("acme", "good")]
    assert not await harness.sync.sweep()  # all were tried: the next sweep begins anew, after a pause
    harness.definitions.put = put  # type: ignore[method-assign]  # there is room again
    while await harness.sync.sweep():
        pass
    assert len(harness.definitions.robots) == 4
