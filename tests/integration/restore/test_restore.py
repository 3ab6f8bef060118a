"""The loss of all servers, and a restore of the last backup: what it knows goes on, and nothing is done twice."""

import asyncio
import json
import shutil
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js.api import ConsumerConfig

from rota.client import Api
from rota.waiting import until_finished
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.envelope import SEQUENCE
from rota_contracts.messages.execution import ExecStatus, Execution
from tests.integration.restore import backup
from tests.integration.restore.house import SOURCE, TEAM, Around, House, Receiver, surroundings

# litellm makes the coroutine of a call in a thread: cancelled at that moment, it is never awaited.
CUT_OFF = "ignore:coroutine 'OpenAIChatCompletion.acompletion' was never:RuntimeWarning"
pytestmark = [pytest.mark.soak, pytest.mark.integration, pytest.mark.filterwarnings(CUT_OFF)]

SUPERVISED = {"autonomy": "supervised", "approvals": {"wait": "1h"}}
CLOCK = {"clock": {"mode": "interval", "every": "2s"}}
STYLE = "You write in the style of this house."
RETRY_S = 15
"""Shorter than the test's patience, and so long that the circuit is still closed once all servers are back."""
READER, FEED = "crm-reader", "DELIVERIES"


async def until(reached: Callable[[], Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await reached():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"it never came to this: {what}") from None


async def ended(api: Api, started: dict[str, Any]) -> Execution:
    return Execution.model_validate(await until_finished(api, started, timeout=60))


async def ids(api: Api, member: str, *, over: bool) -> set[str]:
    found = (await api.executions({"member_id": member, "page_size": 100}))["executions"]
    return {each["execution_id"] for each in found if not over or ExecStatus(each["status"]).over}


async def set_up(api: Api, around: Around) -> None:
    """The team's robots, definition, secrets, person, knowledge and file."""
    await api.of_team("PUT", "/secrets/OUT", json={"value": around.receiver.secret})
    await api.of_team("PUT", "/secrets/IN", json={"value": around.incoming})
    await api.add_source(SOURCE, "$SECRET.IN")
    await api.of_team("POST", "/members", json={"member_id": "ada", "email": "ada@example.com"})
    await api.put_knowledge("policies", [{"id": "refunds", "content": "Refunds take 14 days."}])
    style = {"kind": "Agent", "id": "house.style", "spec": {"prompt": STYLE}}
    await api.of_team("POST", "/definitions", json={"definitions": [style]})
    pays = {"resources": {"agents": ["experts.writer"], "processes": [{"name": "crm.pay"}]}}
    for robot in (
        around.robot("lead"),
        around.robot("flaky", path="/flaky"),
        around.robot("holder", resources={"agents": ["experts.writer", "experts.scorer"]}),
        around.robot("payer", **pays, **SUPERVISED),
        around.robot("writer", resources={"agents": ["house.style"]}),
        around.robot("ticker", path="/ticks", **CLOCK),
    ):
        await api.create_robot(robot)


async def read_feed(url: str) -> list[tuple[str, str]]:
    """What a program of the team finds in the feed since it last read: subjects and ids."""
    client = await nats.connect(url)
    feed = await client.jetstream().pull_subscribe_bind(READER, FEED)
    found = []
    while messages := await feed.fetch(100, timeout=1) if (await feed.consumer_info()).num_pending else []:
        for message in messages:
            found.append((message.subject, (message.headers or {})["ce-id"]))
            await message.ack_sync()
    await client.close()
    return found


async def whole_feed(url: str) -> dict[str, list[tuple[int, str]]]:
    """Numbers and ids by subject."""
    client = await nats.connect(url)
    feed = await client.jetstream().pull_subscribe("rota.v1.delivery.>", stream=FEED)
    found = defaultdict(list)
    for _ in range((await feed.consumer_info()).num_pending):
        [message] = await feed.fetch(1, timeout=5)
        headers = message.headers or {}
        found[message.subject].append((int(headers[SEQUENCE]), headers["ce-id"]))
    await client.close()
    return found


async def some(holds: Callable[[], bool]) -> bool:
    return holds()


async def waiting(api: Api) -> bool:
    return bool((await api.of_team("GET", "/approvals"))["approvals"])


async def approve(api: Api) -> None:
    [call] = (await api.of_team("GET", "/approvals"))["approvals"]
    body = {"decision": "approve", "arguments_sha256": call["arguments_sha256"], "note": ""}
    await api.of_team("POST", f"/approvals/{call['approval_id']}", json=body)


async def ticked(api: Api, known: set[str]) -> bool:
    return len(await ids(api, "ticker", over=True) - known) > 1


@dataclass(kw_only=True)
class Known:
    """What a backup knows: the triggers that were started, by what became of them, the ticks that are delivered, and
    what a program has read of the feed."""

    key: str
    file: str
    finished: list[dict[str, Any]]
    flaky: dict[str, Any]
    waiting: list[dict[str, Any]]
    ticks: set[str] = field(default_factory=set)
    read: list[tuple[str, str]] = field(default_factory=list)


async def lived(house: House, around: Around) -> Known:
    """Runs that have finished, one under way, one that waits for approval, a delivery that fails, and a clock."""
    async with around.api(house) as admin:
        key = str((await admin.create_team(TEAM))["api_key"])
    async with around.api(house, key) as api:
        await set_up(api, around)
        client = await nats.connect(house.nats.url)
        await client.jetstream().add_consumer(FEED, ConsumerConfig(durable_name=READER))
        await client.close()
        file = await api.of_team("POST", "/attachments", params={"name": "a.txt"}, content=b"some text")
        finished = [await around.post(api, "lead", f"before {n}") for n in range(3)]
        flaky = await around.post(api, "flaky", "Deliver it")
        for started in (*finished, flaky):
            assert (await ended(api, started)).status is ExecStatus.COMPLETED
        under_way = [await around.post(api, "holder", "Hold on"), await around.post(api, "payer", "Pay for it")]
        await asyncio.wait_for(around.model.holding.wait(), PATIENCE_S)
        await until(lambda: waiting(api), "a call waits for approval")
        receiver = around.receiver
        await until(lambda: some(lambda: len(receiver.by("/ticks")) > 1), "the clock has ticked twice")
        await until(lambda: some(lambda: bool(receiver.refused)), "a delivery has failed")
        ticks = await ids(api, "ticker", over=True)
        await until(lambda: some(lambda: ticks <= receiver.by("/ticks").keys()), "ticks are delivered")
    return Known(key=key, file=str(file["file_id"]), finished=finished, flaky=flaky, waiting=under_way, ticks=ticks)


async def backed_up(house: House, around: Around, known: Known, folder: Path) -> backup.Backup:
    """While an event is accepted that no scheduler has taken; more happens afterwards."""
    await crash(house.apps["scheduler"].service)
    async with around.api(house, known.key) as api:
        known.waiting.append(await around.post(api, "lead", "accepted"))
        known.read = await read_feed(house.nats.url)
        taken = await backup.take(folder, **house.servers)
        await house.start_again("scheduler")
        await api.create_robot(around.robot("late"))
        await ended(api, await around.post(api, "lead", "late"))
    return taken


async def everything_is_there(api: Api, known: Known) -> None:
    robots = {each["member_id"] for each in await api.robots()}
    assert robots == {"lead", "flaky", "holder", "payer", "writer", "ticker"}
    assert await api.search_knowledge({"query": "refunds", "limit": 1})
    assert [each["member_id"] for each in (await api.of_team("GET", "/members"))["members"]] == ["ada"]
    async with api.download(f"/attachments/{known.file}") as answer:
        assert await answer.aread() == b"some text"


async def everything_goes_on(api: Api, known: Known, around: Around) -> None:
    around.model.released.set()
    around.receiver.up = True
    await approve(api)
    for started in (*known.waiting, await around.post(api, "lead", "after")):
        over = await ended(api, started)
        assert over.status is ExecStatus.COMPLETED, (over.member_id, over.error)
    around.model.systems.clear()
    assert (await ended(api, await around.post(api, "writer", "Write it down"))).status is ExecStatus.COMPLETED
    assert any(STYLE in system for system in around.model.systems), "its definition is read again"
    delivered = known.flaky["execution_id"]
    await until(lambda: some(lambda: delivered in around.receiver.by("/flaky")), "the retry")
    await until(lambda: ticked(api, known.ticks), "the clock goes on")
    again = await around.post(api, "lead", "before 0")
    assert again["execution_id"] == known.finished[0]["execution_id"], "the sender's repeat is known"


def nothing_that_it_knows_was_sent_twice(receiver: Receiver, known: Known) -> None:
    done, ticks = receiver.by("/done"), receiver.by("/ticks")
    finished = {each["execution_id"] for each in known.finished}
    assert {execution: len(done[execution]) for execution in finished} == dict.fromkeys(finished, 1)
    waited = {each["execution_id"] for each in known.waiting}  # what was delivered after the backup is repeated
    assert {execution: len({*done[execution]}) for execution in waited} == dict.fromkeys(waited, 1), "with its id"
    assert {execution: len(ticks[execution]) for execution in known.ticks} == dict.fromkeys(known.ticks, 1)
    assert {*receiver.by("/flaky")[known.flaky["execution_id"]]} == receiver.refused, "all attempts have one id"


async def the_feed_goes_on(url: str, known: Known) -> None:
    numbered = await whole_feed(url)
    for subject, facts in numbered.items():
        numbers, names = [number for number, _ in facts], [name for _, name in facts]
        assert numbers == [*range(numbers[0], numbers[0] + len(numbers))], subject
        assert len({*names}) == len(names), subject
    read = {*await read_feed(url)}
    everything = {(subject, name) for subject, facts in numbered.items() for _, name in facts}
    assert (everything - {*known.read} <= read, read & {*known.read}) == (True, set()), "its reader goes on"


async def test_what_a_backup_knows_goes_on_after_the_loss_of_all_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_RETRY_SCHEDULE", json.dumps([RETRY_S] * 30))
    monkeypatch.setenv("ROTA_ANSWER_PATIENCE", "3")
    monkeypatch.setenv("ROTA_REPUBLISH_AFTER", "3")
    for name in ("lost", "new", "backup"):
        (tmp_path / name).mkdir()
    async with surroundings() as around, House(tmp_path / "new", around.environ) as new:
        async with House(tmp_path / "lost", around.environ) as lost:
            await lost.open()
            known = await lived(lost, around)
            taken = await backed_up(lost, around, known, tmp_path / "backup")
            await lost.lose()
        shutil.copy(tmp_path / "lost" / "secrets.key", tmp_path / "new")  # kept elsewhere than the backup
        await backup.restore(taken, **new.servers)
        await new.open()
        async with around.api(new, known.key) as api:
            await everything_is_there(api, known)
            await everything_goes_on(api, known, around)
        nothing_that_it_knows_was_sent_twice(around.receiver, known)
        assert (len(lost.paid), len(new.paid)) == (0, 1)
        await the_feed_goes_on(new.nats.url, known)
        async with around.api(new) as admin:
            assert await admin.dead() == []
