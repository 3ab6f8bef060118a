"""The gateway's fake ports keep the same promises as MongoDB and NATS."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota_common.bus.robots import Robots
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import stored
from rota_contracts.catalog import ROBOT_CHANGED, ROBOT_DELETED
from rota_contracts.robots.events import EventSubscription
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role
from trigger_gateway.adapters import in_memory_stores
from trigger_gateway.adapters.mongo_requests import MongoRequests
from trigger_gateway.adapters.mongo_robot_history import MongoRobotHistory
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.mongo_teams import MongoKeys, MongoTeams
from trigger_gateway.adapters.nats_definitions import NatsDefinitions, NatsRobotEvents
from trigger_gateway.robots.ports import (
    HISTORY,
    Definitions,
    RobotEvents,
    RobotHistory,
    RobotRecords,
    RobotRevision,
)
from trigger_gateway.robots.record import RobotRecord, Subscriber
from trigger_gateway.runs.ports import EarlierRequest, Requests
from trigger_gateway.teams.api_keys import ApiKey, Holder
from trigger_gateway.teams.ports import Keys, Removal, RemovedTeam, Team, Teams

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LEADS = {"type": "webhook", "source": "/webhook/leads"}


def record(member: str = "leader", *, team: str = "acme", rev: int = 1, **robot: Any) -> RobotRecord:
    config = {"identity": {"role": "Greeter"}, "events": [LEADS, {"type": "database", "source": "crm"}]}
    given = {"member_id": member, "team_id": team, "rev": rev, "robot_config": config} | robot
    return RobotRecord(Robot.model_validate(given), AT)


@pytest.fixture(params=["memory", "mongo"])
async def store(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo | None]:
    if request.param == "memory":
        yield None
    else:
        server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
        yield server
        await server.close()


@pytest.fixture
async def teams(store: Mongo | None) -> Teams:
    if store is None:
        return in_memory_stores.InMemoryTeams()
    made = MongoTeams(store.database)
    await made.prepare()
    return made


@pytest.fixture
def keys(store: Mongo | None) -> Keys:
    return MongoKeys(store.database) if store else in_memory_stores.InMemoryKeys()


@pytest.fixture
async def robots(store: Mongo | None) -> RobotRecords:
    if store is None:
        return in_memory_stores.InMemoryRobots()
    made = MongoRobots(store.database)
    await made.prepare()
    return made


@pytest.fixture
def requests(store: Mongo | None) -> Requests:
    return MongoRequests(store.database, lambda: AT) if store else in_memory_stores.InMemoryRequests()


async def test_a_team_is_added_once(teams: Teams) -> None:
    assert not await teams.exists("acme")
    assert await teams.add("acme", "Acme") is True
    assert await teams.add("acme", "Acme") is False
    assert await teams.exists("acme")


async def test_teams_are_listed_by_id(teams: Teams) -> None:
    for team in ("b", "a", "c"):
        await teams.add(team, team.upper())
    assert await teams.page(after="", limit=2) == [Team("a", "A"), Team("b", "B")]
    assert await teams.page(after="b", limit=2) == [Team("c", "C")]


async def test_a_team_remembers_which_robots_its_pause_has_paused(teams: Teams) -> None:  # TG-16
    await teams.add("acme", "Acme")
    await teams.forget_paused("acme", ["missing"])
    assert await teams.paused("acme") == []
    await teams.note_paused("acme", ["b", "a"])
    await teams.note_paused("acme", ["b", "c"])
    assert await teams.paused("acme") == ["a", "b", "c"]
    await teams.forget_paused("acme", ["a", "c", "d"])
    await teams.note_paused("acme", [])
    assert await teams.paused("acme") == ["b"]
    await teams.note_paused("missing", ["a"])
    assert await teams.paused("missing") == []
    assert not await teams.exists("missing")


async def test_a_removed_team_leaves_a_tombstone_on_its_name(teams: Teams) -> None:
    free_at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=90)  # MongoDB removes what is over
    for team in ("acme", "other"):
        await teams.add(team, team)
    await teams.note_paused("acme", ["a"])
    removed = RemovedTeam("acme", AT, free_at, next_at=AT)
    assert await teams.remove(removed) == removed
    assert await teams.remove(replace(removed, removed_at=AT + timedelta(hours=1))) == removed
    assert await teams.remove(replace(removed, id="missing")) is None
    assert (await teams.removed("acme"), await teams.removed("other")) == (removed, None)
    assert (await teams.exists("acme"), await teams.add("acme", ""), await teams.paused("acme")) == (False, False, [])
    assert await teams.page(after="", limit=2) == [Team("other", "other")]


async def test_the_rounds_of_a_removal_are_noted_once(teams: Teams) -> None:
    free_at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=90)
    first, second = (RemovedTeam(team, AT, free_at, next_at=AT + timedelta(minutes=n)) for n, team in enumerate("ab"))
    for each in (second, first):
        await teams.add(each.id, "")
        await teams.remove(each)
    assert await teams.removals_due(AT + timedelta(minutes=1), limit=2) == [first, second]
    assert await teams.removals_due(AT + timedelta(minutes=1), limit=1) == [first]
    noted = replace(first, rounds=1, next_at=AT + timedelta(hours=1))
    await teams.note_round(first, noted)
    await teams.note_round(first, replace(noted, next_at=AT))  # another replica's
    await teams.note_round(second, replace(second, rounds=1, next_at=None))
    assert await teams.removals_due(AT + timedelta(days=1), limit=2) == [noted]


async def test_all_keys_of_a_team_go_at_once_and_no_others(keys: Keys) -> None:
    for number, team in enumerate(("acme", "acme", "other")):
        await keys.add(ApiKey(f"k{number}", team, "hash", AT))
    await keys.remove_all("acme")
    assert (await keys.of_team("acme"), [key.key_id for key in await keys.of_team("other")]) == ([], ["k2"])


async def test_a_key_belongs_to_its_team(keys: Keys) -> None:
    second, first = (ApiKey(f"k{n}", "acme", "hash", AT + timedelta(minutes=n)) for n in (2, 1))
    for key in (second, first, ApiKey("k3", "other", "hash", AT)):
        await keys.add(key)
    assert await keys.find("k1") == first
    assert await keys.find("k9") is None
    assert await keys.of_team("acme") == [first, second]
    assert await keys.remove("other", "k1") is Removal.UNKNOWN
    assert await keys.remove("acme", "k1") is Removal.DONE
    assert await keys.remove("acme", "k1") is Removal.UNKNOWN
    assert await keys.of_team("acme") == [second]


async def test_a_key_keeps_its_role_its_name_and_its_person(keys: Keys) -> None:  # TG-24
    for number, role in enumerate(Role):
        key = ApiKey(f"k{number}", "acme", "hash", AT, role, f"of {role}", Holder("ann", AT) if number else None)
        await keys.add(key)
        assert await keys.find(f"k{number}") == key


async def test_the_last_key_of_an_owner_stays(keys: Keys) -> None:  # TG-24
    owners = [ApiKey(f"o{number}", "acme", "hash", AT + timedelta(minutes=number)) for number in range(3)]
    for key in (*owners, ApiKey("m", "acme", "hash", AT, Role.MEMBER), ApiKey("o9", "other", "hash", AT)):
        await keys.add(key)
    done = await asyncio.gather(*(keys.remove("acme", key.key_id) for key in owners))
    assert sorted(each.name for each in done) == ["DONE", "DONE", "LAST_OWNER"]
    [kept] = [key for key in await keys.of_team("acme") if key.role is Role.OWNER]
    assert await keys.remove("acme", kept.key_id) is Removal.LAST_OWNER
    assert await keys.remove("acme", "m") is Removal.DONE
    await keys.add(ApiKey("o4", "acme", "hash", AT))
    assert await keys.remove("acme", kept.key_id) is Removal.DONE


async def test_a_record_is_inserted_once_and_read_as_it_was(robots: RobotRecords) -> None:
    free = {"kb": {"options": {"$where": {"a.b": 2**70}, "": None}}, "identity": {"role": "x"}}
    odd = record(robot_config=free)
    assert await robots.insert(odd) is True
    assert await robots.insert(record(display_name="other")) is False
    assert await robots.find("acme", "leader") == odd
    assert await robots.find("other", "leader") is None


async def test_a_record_is_replaced_only_at_the_expected_revision(robots: RobotRecords) -> None:
    await robots.insert(record())
    assert await robots.replace(record(rev=2), expected=record()) is True
    assert await robots.replace(record(rev=2, display_name="late"), expected=record()) is False
    assert await robots.replace(record("missing"), expected=record("missing")) is False
    found = await robots.find("acme", "leader")
    assert found is not None
    assert (found.robot.rev, found.robot.display_name) == (2, "")


async def test_a_judgement_is_kept_to_the_microsecond_and_counts_as_a_change(robots: RobotRecords) -> None:  # TG-18
    first, then = record(), AT + timedelta(microseconds=1)
    await robots.insert(first)
    await robots.mark_synced(first.robot, confirmed=True)
    assert await robots.note_health(first, then) is True
    found = await robots.find("acme", "leader")
    assert found is not None
    assert (found.robot, found.health_at, found.synced, found.confirmed) == (first.robot, then, True, True)
    assert await robots.note_health(first, AT) is False
    assert await robots.replace(record(rev=2), expected=first) is False
    error = {"execution_id": "e1", "message": "no model", "at": then}
    after = replace(record(rev=2, error=error), health_at=then)
    assert await robots.replace(after, expected=found) is True
    assert await robots.find("acme", "leader") == after
    assert await robots.note_health(record("missing"), AT) is False


async def test_an_unpublished_robot_is_found_until_it_is_published(robots: RobotRecords) -> None:
    late, early = record("late"), replace(record("early"), changed_at=AT - timedelta(hours=1))
    for each in (late, early):
        await robots.insert(each)
    assert [each.robot.member_id for each in await robots.unsynced(10)] == ["early", "late"]
    assert len(await robots.unsynced(1)) == 1
    await robots.mark_synced(early.robot, confirmed=False)
    await robots.mark_synced(late.robot.model_copy(update={"rev": 7}), confirmed=True)  # it has moved on: not this one
    assert await robots.unsynced(10) == [late]
    found = await robots.find("acme", "early")
    assert found is not None
    assert (found.synced, found.announced, found.confirmed) == (True, True, False)
    await robots.mark_synced(early.robot, confirmed=True)
    await robots.mark_synced(early.robot, confirmed=False)
    found = await robots.find("acme", "early")
    assert found is not None
    assert found.confirmed
    await robots.forget_synced()
    assert [(each.robot.member_id, each.confirmed) for each in await robots.unsynced(10)] == [
        ("early", True),
        ("late", False),
    ]


async def test_robots_come_in_pages_without_the_deleted(robots: RobotRecords) -> None:
    for name in ("c", "a", "b"):
        await robots.insert(record(name))
    await robots.insert(record("d", deleted=True))
    await robots.insert(record("a", team="other"))
    first, total = await robots.page("acme", page=1, page_size=2)
    second, _ = await robots.page("acme", page=2, page_size=2)
    assert ([each.member_id for each in (*first, *second)], total) == (["a", "b", "c"], 3)
    assert await robots.page("acme", page=9, page_size=2) == ([], 3)


async def test_subscribers_are_found_by_the_source_they_name(robots: RobotRecords) -> None:
    await robots.insert(record())
    await robots.insert(record("gone", deleted=True))
    await robots.insert(record("foreign", team="other"))
    crm = EventSubscription(type="database", source="crm")
    expected = Subscriber("leader", 1, (EventSubscription.model_validate(LEADS), crm))
    assert await robots.subscribers("acme", "leads") == [expected]
    assert await robots.subscribers("acme", "crm") == []


async def test_the_first_digest_of_a_request_stays(requests: Requests) -> None:
    assert await requests.remember("r1", "a") is None
    assert await requests.remember("r1", "b") == EarlierRequest("a")
    assert await requests.remember("r1", "a") == EarlierRequest("a")
    assert await requests.remember("r2", "b") is None


async def test_a_request_is_recalled_without_being_remembered(requests: Requests) -> None:
    assert await requests.recall("r1") is None
    assert await requests.remember("r1", "a") is None
    assert await requests.recall("r1") == EarlierRequest("a")


async def test_the_answer_to_a_request_is_kept_for_its_repeats(requests: Requests) -> None:  # DEC-6
    await requests.note("r1", "too early")
    assert await requests.remember("r1", "a") is None
    await requests.note("r1", "done")
    assert await requests.remember("r1", "a") == EarlierRequest("a", "done")


@pytest.fixture
async def history(store: Mongo | None) -> RobotHistory:
    if store is None:
        return in_memory_stores.InMemoryRobotHistory()
    made = MongoRobotHistory(store.database)
    await made.prepare()
    return made


async def test_of_a_robots_definitions_the_newest_are_kept_once(history: RobotHistory) -> None:
    for rev in range(1, HISTORY + 3):
        await history.keep(RobotRevision(record(rev=rev, display_name=f"of {rev}").robot, AT, "ci"))
    newest = HISTORY + 2
    await history.keep(RobotRevision(record(rev=newest, display_name="again").robot, AT, "another"))
    await history.keep(RobotRevision(record("other").robot, AT, canary=True))
    kept = await history.revisions("acme", "leader")
    assert [each.robot.rev for each in kept] == [*range(newest, 2, -1)]
    assert (kept[0].robot.display_name, kept[0].by, kept[0].at) == (f"of {newest}", "ci", AT)
    await history.forget("acme", "leader")
    assert await history.revisions("acme", "leader") == []
    assert [each.canary for each in [kept[0], *await history.revisions("acme", "other")]] == [False, True]


class Readers:
    """What everybody else sees of a robot."""

    def __init__(
        self, definitions: Definitions, events: RobotEvents, *, url: str = "", service: Service | None = None
    ) -> None:
        self.definitions, self.events = definitions, events
        self._url, self._service = url, service

    async def robot(self) -> Robot | None:
        if isinstance(self.definitions, in_memory_stores.InMemoryDefinitions):
            return self.definitions.robots.get(("acme", "leader"))
        assert self._service is not None
        return await Robots(self._service.bus).find("acme", "leader")

    async def facts(self) -> list[tuple[int, bool]]:
        """Revisions, and whether they said that it was created."""
        if isinstance(self.definitions, in_memory_stores.InMemoryDefinitions):
            return [(rev, created) for _, rev, created in self.definitions.published]
        changed = [(fact.data.rev, fact.data.created) for fact in await stored(self._url, ROBOT_CHANGED)]
        return changed + [(fact.data.rev, False) for fact in await stored(self._url, ROBOT_DELETED)]


@pytest.fixture(params=["memory", "nats"])
async def readers(request: pytest.FixtureRequest, nats: EmbeddedServer) -> AsyncIterator[Readers]:
    if request.param == "memory":
        fake = in_memory_stores.InMemoryDefinitions()
        yield Readers(fake, fake)
        return
    service = Service("trigger-gateway", nats.url)
    await service.start()
    await service.started.wait()
    yield Readers(
        NatsDefinitions(service.bus), NatsRobotEvents(service.bus, service.publish), url=nats.url, service=service
    )
    await service.stop(1)


async def test_a_lower_revision_never_takes_the_place_of_a_higher(readers: Readers) -> None:
    put = readers.definitions.put
    for rev in (1, 3, 2, 3):
        await put(record(rev=rev, display_name=f"of {rev}").robot)
    there = await readers.robot()
    assert there is not None
    assert (there.rev, there.display_name) == (3, "of 3")
    await put(record(rev=4, deleted=True).robot)
    there = await readers.robot()
    assert there is not None
    assert there.deleted


async def test_the_definitions_of_a_team_go_together_and_no_others(readers: Readers) -> None:
    for each in (record().robot, record("second").robot, record(team="acme-2").robot):
        await readers.definitions.put(each)
    await readers.definitions.remove_team("acme-2")
    assert await readers.robot() is not None
    for _ in range(2):
        await readers.definitions.remove_team("acme")
    assert await readers.robot() is None


async def test_a_fact_of_one_revision_is_said_once(readers: Readers) -> None:
    publish = readers.events.publish
    for _ in range(2):
        await publish(record().robot, created=True)
        await publish(record(rev=2).robot, created=False)
        await publish(record(rev=3, deleted=True).robot, created=False)
    assert await readers.facts() == [(1, True), (2, False), (3, False)]


async def test_a_key_and_a_robot_of_the_time_before_roles_and_judgements_are_read(
    mongo_url: str, mongo_prefix: str
) -> None:  # TG-24
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    keys, robots = MongoKeys(server.database), MongoRobots(server.database)
    old = {"_id": "k1", "team": "acme", "sha256": "hash", "created_at": AT}
    await server.database["keys"].insert_one(old)
    assert await keys.find("k1") == ApiKey("k1", "acme", "hash", AT, Role.OWNER)
    assert await keys.remove("acme", "k1") is Removal.LAST_OWNER
    await robots.insert(record())
    await server.database["robots"].update_one({}, {"$unset": {"health_at": ""}})
    assert await robots.find("acme", "leader") == record()
    assert await robots.replace(record(rev=2), expected=record()) is True
    await server.close()
