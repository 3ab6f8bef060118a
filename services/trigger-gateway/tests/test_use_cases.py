"""The use cases on fakes: what happens when something else fails, or happens at the same moment."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from rota_common.errors import Transient
from rota_contracts.messages.execution import ExecStatus, TriggerReply, TriggerState
from rota_contracts.messages.trigger import Message, TriggerAdmittedV1, TriggerType
from trigger_gateway.adapters import in_memory_stores, scripted
from trigger_gateway.problems import Conflict, NotFound, StoredNotApplied
from trigger_gateway.robots.routes import KEPT_FOR, Route, Routes
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.runs.request_run import RequestRun, RunRequest
from trigger_gateway.sources.source import Source, WebhookSettings

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WEBHOOK = WebhookSettings(secrets=["$ENV.X"])
LEADS = {"type": "webhook", "source": "leads"}
DEFINITION: dict[str, Any] = {"member_id": "leader", "robot_config": {"identity": {"role": "x"}, "events": [LEADS]}}
HELLO = RunRequest(TriggerType.HUMAN, messages=[Message(content="hello")])


@dataclass
class World:
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
        )
        self.run = RequestRun(
            robots=self.robots,
            triggers=self.triggers,
            outcomes=self.outcomes,
            requests=self.requests,
            clock=lambda: self.now,
            new_id=lambda: f"id-{next(ids)}",
        )

    async def route(self) -> Route:
        route = await self.routes.find("acme", "leads")
        assert route is not None
        return route


@pytest.fixture
async def world() -> World:
    made = World()
    await made.sources.add(Source("acme", "leads", AT, WEBHOOK))
    return made


async def test_nothing_is_saved_while_nobody_can_be_told(world: World) -> None:
    world.definitions.away = True
    with pytest.raises(Transient):
        await world.save.create("acme", DEFINITION)
    assert await world.robots.find("acme", "leader") is None


async def test_a_creation_that_broke_off_may_be_repeated(world: World) -> None:  # TG-17
    world.definitions.breaks = True
    for _ in range(2):
        with pytest.raises(StoredNotApplied):
            await world.save.create("acme", DEFINITION)
    with pytest.raises(Conflict):
        await world.save.create("acme", DEFINITION | {"display_name": "another"})
    world.definitions.breaks = False
    assert (await world.save.create("acme", DEFINITION)).rev == 1
    assert world.definitions.published == [("leader", 1, True)]
    with pytest.raises(Conflict):
        await world.save.create("acme", DEFINITION)


async def test_a_creation_that_the_sweeper_finished_may_still_be_repeated_once(world: World) -> None:
    world.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await world.save.create("acme", DEFINITION)
    world.definitions.breaks = False
    assert await world.sync.sweep() == 1
    assert await world.sync.sweep() == 0
    assert (await world.save.create("acme", DEFINITION)).rev == 1
    with pytest.raises(Conflict):
        await world.save.create("acme", DEFINITION)
    assert world.definitions.published == [("leader", 1, True)]


async def test_a_robots_creation_is_announced_although_only_a_later_revision_was_told(world: World) -> None:
    world.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await world.save.create("acme", DEFINITION)
    with pytest.raises(StoredNotApplied):
        await world.save.change("acme", "leader", {"display_name": "Leo"})
    world.definitions.breaks = False
    await world.sync.sweep()
    assert world.definitions.published == [("leader", 2, True)]


async def test_a_deletion_that_broke_off_may_be_repeated(world: World) -> None:  # TG-20
    await world.save.create("acme", DEFINITION)
    world.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await world.save.delete("acme", "leader")
    world.definitions.breaks = False
    await world.save.delete("acme", "leader")
    assert world.definitions.robots["acme", "leader"].deleted
    with pytest.raises(NotFound):
        await world.save.delete("acme", "leader")


async def test_a_deletion_is_told_before_the_name_is_used_again(world: World) -> None:
    await world.save.create("acme", DEFINITION)
    world.definitions.breaks = True
    with pytest.raises(StoredNotApplied):
        await world.save.delete("acme", "leader")
    with pytest.raises(Transient):
        await world.save.create("acme", DEFINITION)
    world.definitions.breaks = False
    assert (await world.save.create("acme", DEFINITION)).rev == 3
    assert world.definitions.published == [("leader", 1, True), ("leader", 2, False), ("leader", 3, True)]


async def test_who_gets_events_is_asked_once_in_a_while(world: World) -> None:
    await world.save.create("acme", DEFINITION)
    for _ in range(3):
        assert [each.member for each in (await world.route()).subscribers] == ["leader"]
    assert world.sources.asked == 1
    world.now += KEPT_FOR
    await world.route()
    assert world.sources.asked == 2


async def test_who_gets_events_is_asked_again_after_each_change(world: World) -> None:
    assert (await world.route()).subscribers == ()
    await world.save.create("acme", DEFINITION)
    assert [each.rev for each in (await world.route()).subscribers] == [1]
    await world.save.change("acme", "leader", {"display_name": "Leo"})
    assert [each.rev for each in (await world.route()).subscribers] == [2]
    await world.save.delete("acme", "leader")
    assert (await world.route()).subscribers == ()


async def test_requests_at_the_same_moment_ask_once(world: World) -> None:
    await asyncio.gather(*(world.route() for _ in range(20)))
    assert world.sources.asked == 1


async def test_an_answer_that_was_under_way_during_a_change_is_not_kept(world: World) -> None:
    asking = asyncio.create_task(world.routes.find("acme", "leads"))
    await asyncio.sleep(0)
    world.routes.forget("acme")
    await asking
    await world.route()
    assert world.sources.asked == 2


async def test_a_source_nobody_knows_is_not_remembered(world: World) -> None:
    assert await world.routes.find("acme", "crm") is None
    await world.sources.add(Source("acme", "crm", AT, WEBHOOK))
    assert await world.routes.find("acme", "crm") is not None


async def test_a_failed_look_up_is_not_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(team: str, name: str) -> None:
        raise ConnectionError("away")

    with monkeypatch.context() as broken:
        broken.setattr(world.sources, "find", fails)
        with pytest.raises(ConnectionError):
            await world.routes.find("acme", "leads")
    assert await world.routes.find("acme", "leads") is not None


async def test_a_request_that_is_given_up_doesnt_take_the_answer_from_others(world: World) -> None:
    first, second = (asyncio.create_task(world.routes.find("acme", "leads")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is not None
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_request_whose_first_try_was_not_stored_is_stored_by_its_repeat(world: World) -> None:  # DEC-6
    await world.save.create("acme", DEFINITION)
    request = RunRequest(TriggerType.HUMAN, messages=HELLO.messages, key="k1")
    world.triggers.away = True
    with pytest.raises(Transient):
        await world.run("acme", "leader", request)
    world.triggers.away = False
    world.outcomes.knows = TriggerReply(trigger_id="x", state=TriggerState.UNKNOWN)
    answer = await world.run("acme", "leader", request)
    assert (answer.status, answer.repeated) == (ExecStatus.PENDING, False)
    assert list(world.triggers.published) == [answer.trigger_id]


@pytest.mark.parametrize(
    ("state", "status", "expected"),
    [
        (TriggerState.QUEUED, None, ExecStatus.PENDING),
        (TriggerState.ADMITTED, None, ExecStatus.PENDING),
        (TriggerState.RUNNING, None, ExecStatus.RUNNING),
        (TriggerState.DONE, ExecStatus.FAILED, ExecStatus.FAILED),
    ],
)
async def test_a_repeat_is_answered_with_what_became_of_the_first(
    world: World, state: TriggerState, status: ExecStatus | None, expected: ExecStatus
) -> None:  # TG-15
    await world.save.create("acme", DEFINITION)
    request = RunRequest(TriggerType.HUMAN, messages=HELLO.messages, key="k1")
    first = await world.run("acme", "leader", request)
    world.outcomes.knows = TriggerReply(trigger_id=first.trigger_id, state=state, status=status)
    again = await world.run("acme", "leader", request)
    assert (again.trigger_id, again.status, again.repeated) == (first.trigger_id, expected, True)
    assert again.execution_id == first.execution_id


async def test_an_admission_is_answered_with_the_schedulers_execution(world: World) -> None:
    await world.save.create("acme", DEFINITION)
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader", "trigger_id": "t", "execution_id": "e9"}
    world.outcomes.says = TriggerAdmittedV1(type=TriggerType.HUMAN, admitted_at=AT, **whose)
    answer = await world.run("acme", "leader", HELLO)
    assert (answer.execution_id, answer.status, answer.message) == ("e9", ExecStatus.PENDING, "queued")


async def test_a_key_of_one_robot_is_no_key_of_another(world: World) -> None:
    await world.save.create("acme", DEFINITION)
    await world.save.create("acme", DEFINITION | {"member_id": "second"})
    request = RunRequest(TriggerType.HUMAN, messages=HELLO.messages, key="k1")
    ids = {(await world.run("acme", member, request)).trigger_id for member in ("leader", "second")}
    assert len(ids) == 2


async def test_what_is_kept_about_guessed_names_is_dropped(world: World) -> None:
    for number in range(50):
        await world.routes.find(f"team{number}", "leads")
    await world.route()
    assert len(world.routes._kept) == 1
