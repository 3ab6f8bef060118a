"""Webhooks that can not be kept, and more than the bus can hold: what was accepted ends, whatever others send."""

import asyncio
import secrets
from pathlib import Path
from typing import Any

import nats as nats_client
import pytest

from rota.client import ApiError
from rota_common.bus.stream_usage import read_usage
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.harness import LEAD, System, a_stack, a_team, example

pytestmark = pytest.mark.soak

ROBOT = "lead-processor"
ROUNDS, FLOOD = 27, 120
AT_ONCE = 16
FACTOR = 400


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


async def completed(system: System, answers: list[dict[str, Any]]) -> int:
    started = [trigger for answer in answers for trigger in answer["triggers"]]
    ended = await asyncio.gather(*(system.ended(each) for each in started))
    assert len(started) == len(answers)
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
        a_stack(tmp_path / "rota", **given, runtime=Runtime(fetch_timeout=0.3)) as on,
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
        assert await completed(beta, accepted) == len(refused) == 81
        assert await beta.admin.dead() == []


async def shrink(url: str, factor: int) -> None:
    """Streams hold so many times less."""
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
    body = LEAD | {"text": "x" * 20_000}
    async with (
        a_stack(tmp_path / "rota", **given, runtime=Runtime(fetch_timeout=0.3)) as on,
        a_team(on, "gamma") as gamma,
    ):
        await gamma.api.create_robot(robot(gamma))
        await shrink(nats.url, FACTOR)
        turns, found = asyncio.Semaphore(AT_ONCE), list[tuple[int, dict[str, Any]]]()

        async def one() -> None:
            async with turns:
                found.append(await post(gamma, body))

        await asyncio.gather(*(one() for _ in range(FLOOD)))
        accepted = [answer for status, answer in found if status == 202]
        refused = [status for status, _ in found if status != 202]
        assert set(refused) <= {429, 503}
        assert refused, len(accepted)
        assert accepted
        assert await completed(gamma, accepted) == len(accepted)
        async with asyncio.timeout(PATIENCE_S):
            while (await post(gamma, body))[0] != 202:  # the door is open again
                await asyncio.sleep(0.5)
