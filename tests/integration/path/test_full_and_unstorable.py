"""Webhooks that can not be kept, and more than the bus can hold: what was accepted ends, whatever others send."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import nats as nats_client
import pytest

from rota.api_error import ApiError
from rota.signing import signed_event
from rota_common.bus.stream_usage import read_usage
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.bus import keep_none
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.streams import consumers
from tests.integration.path.harness import LEAD, SOURCE, StackWithMail, System, a_stack, a_team, example

pytestmark = pytest.mark.soak

ROBOT = "lead-processor"
ROUNDS, FLOOD = 27, 120
TEAMS, EACH = 8, 7
"""Each team is below its share, a quarter, and all together have more than the bus can hold."""

AT_ONCE = 16
TOGETHER = 10
FACTOR = 400
LARGE = LEAD | {"text": "x" * 20_000}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


async def post(system: System, data: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    try:
        return 202, await system.post_lead(f"msg_{secrets.token_hex(8)}", data)
    except ApiError as error:
        return error.status, {}


async def completed(answers: Sequence[tuple[System, dict[str, Any]]]) -> int:
    """How many of these teams' runs completed; each `TOGETHER` of them have their own time."""
    started = [(system, trigger) for system, answer in answers for trigger in answer["triggers"]]
    assert len(started) == len(answers)
    ended = list[Execution]()
    for first in range(0, len(started), TOGETHER):
        some = started[first : first + TOGETHER]
        ended += await asyncio.gather(*(system.ended(trigger) for system, trigger in some))
    return sum(each.status is ExecStatus.COMPLETED for each in ended)


def robot(system: System) -> dict[str, Any]:
    made = example(ROBOT, system.hooks.url)
    made["robot_config"]["quota"] = {"max": 100, "queue": 1000}
    return made


async def test_webhooks_that_can_not_be_kept_are_refused_and_those_beside_them_run(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    given: dict[str, Any] = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
    async with (
        a_stack(tmp_path / "rota", **given) as on,
        a_team(on, "alpha") as alpha,
        a_team(on, "beta") as beta,
    ):
        for system in (alpha, beta):
            await system.api.create_robot(robot(system))
        refused, accepted = list[int](), list[dict[str, Any]]()
        for _ in range(ROUNDS):
            for poison in ({"wei": 10**21}, {"a\u0000b": 1}, deep(180)):
                (status, _), (good, answer) = await asyncio.gather(post(alpha, poison), post(beta, LEAD))
                assert good == 202
                refused.append(status)
                accepted.append(answer)
        assert set(refused) == {422}
        assert await completed([(beta, answer) for answer in accepted]) == len(refused) == 81
        assert await beta.admin.dead() == []


async def shrink(url: str, factor: int) -> None:
    """Streams hold so many times less, and nothing that is handled."""
    await keep_none(url)
    client = await nats_client.connect(url)
    jetstream = client.jetstream()
    for usage in await read_usage(jetstream):
        if usage.stream in ("TRIGGERS", "EXECUTIONS", "FACTS", "DELIVERIES"):
            config = (await jetstream.stream_info(usage.stream)).config
            await jetstream.update_stream(config.evolve(max_bytes=usage.max_bytes // factor))
    await client.close()


async def test_a_flood_at_small_limits_is_refused_in_part_and_what_was_accepted_completes(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    given: dict[str, Any] = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
    async with (
        a_stack(tmp_path / "rota", **given) as on,
        a_team(on, "gamma") as gamma,
    ):
        await gamma.api.create_robot(robot(gamma))
        await shrink(nats.url, FACTOR)
        turns, found = asyncio.Semaphore(AT_ONCE), list[tuple[int, dict[str, Any]]]()

        async def one() -> None:
            async with turns:
                found.append(await post(gamma, LARGE))

        await asyncio.gather(*(one() for _ in range(FLOOD)))
        accepted = [answer for status, answer in found if status == 202]
        refused = [status for status, _ in found if status != 202]
        assert set(refused) <= {429, 503}
        assert refused, len(accepted)
        assert accepted
        assert await completed([(gamma, answer) for answer in accepted]) == len(accepted)
        async with asyncio.timeout(PATIENCE_S):
            while (await post(gamma, LARGE))[0] != 202:  # the door is open again
                await asyncio.sleep(0.5)


@asynccontextmanager
async def held_up(url: str) -> AsyncIterator[None]:
    """The bus gives the scheduler no trigger meanwhile."""
    client = await nats_client.connect(url)
    (taking,) = (each for each in consumers() if each.stream == "TRIGGERS")

    async def until(instant: str) -> None:
        subject = f"$JS.API.CONSUMER.PAUSE.{taking.stream}.{taking.durable}"
        answer = json.loads((await client.request(subject, json.dumps({"pause_until": instant}).encode())).data)
        assert "error" not in answer, answer

    await until("2999-01-01T00:00:00Z")
    try:
        yield
    finally:
        await until("0001-01-01T00:00:00Z")
        await client.close()


class Sent(NamedTuple):
    by: System
    message_id: str
    answer: httpx.Response


@dataclass(frozen=True)
class Senders:
    """Events of this size and instant, as teams send them."""

    http: httpx.AsyncClient
    at: datetime

    async def send(self, system: System, message_id: str = "") -> Sent:
        secret, message_id = system.environ["IN_SECRET"], message_id or f"msg_{secrets.token_hex(8)}"
        body, headers = signed_event(secret, message_id=message_id, at=self.at, type="lead.created", data=LARGE)
        path = f"/v1/hooks/{system.team}/{SOURCE}"
        return Sent(system, message_id, await self.http.post(path, content=body, headers=headers))

    async def flood(self, teams: Sequence[System]) -> list[Sent]:
        """So many of each team, many at once."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(team: System) -> Sent:
            async with turns:
                return await self.send(team)

        return await asyncio.gather(*(one(team) for _ in range(EACH) for team in teams))

    async def degraded(self, on: StackWithMail) -> dict[str, Any]:
        """What `/health/ready` says once the gateway has measured."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                answer = await self.http.get("/health/ready", headers={"Authorization": f"Bearer {on.stack.admin_key}"})
                if answer.json().get("degraded"):
                    found: dict[str, Any] = answer.json()
                    return found
                await asyncio.sleep(0.1)


async def test_teams_that_fill_the_bus_together_get_a_503_and_what_was_accepted_completes(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    given: dict[str, Any] = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
    async with AsyncExitStack() as ends:
        on = await ends.enter_async_context(a_stack(tmp_path / "rota", **given))
        teams = [await ends.enter_async_context(a_team(on, f"team-{number}")) for number in range(TEAMS)]
        http = await ends.enter_async_context(httpx.AsyncClient(base_url=on.stack.url, timeout=PATIENCE_S))
        for team in teams:
            await team.api.create_robot(robot(team))
        await shrink(nats.url, FACTOR)
        senders = Senders(http, now())
        async with held_up(nats.url):
            found = await senders.flood(teams)
            accepted = [each for each in found if each.answer.status_code == 202]
            refused = [each.answer for each in found if each.answer.status_code != 202]
            assert {each.status_code for each in refused} == {503}, "no team has its share, and the bus is full"
            assert all("retry-after" in each.headers for each in refused)
            ready = await senders.degraded(on)
            assert (ready["ready"], list(ready["degraded"])) == (True, ["stream TRIGGERS"])
            for team in teams:
                shut = (await senders.send(team)).answer
                assert (shut.status_code, shut.headers["retry-after"]) == (503, "30")
                assert "stream TRIGGERS holds" in shut.text
            for team, message_id, answer in accepted:  # reading goes on, and a repeat gets its stored answer
                assert (await team.api.executions({}))["total"] == 0
                again = (await senders.send(team, message_id)).answer
                assert (again.status_code, again.json().get("triggers")) == (200, answer.json()["triggers"])
        assert await completed([(each.by, each.answer.json()) for each in accepted]) == len(accepted) >= TEAMS
        async with asyncio.timeout(PATIENCE_S):
            while (await senders.send(teams[0])).answer.status_code != 202:  # the door is open again
                await asyncio.sleep(0.5)
