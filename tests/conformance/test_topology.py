"""Every service listens to exactly the channels that the catalog gives it, and answers exactly its questions."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rota.server.build import build_all
from rota.server.services import StackSettings
from rota_common.nats_admin.permissions import ANSWERS_PROGRAMS
from rota_common.runtime.service import Runtime, Service
from rota_contracts.catalog import CHANNELS, QUESTIONS, SERVICES
from rota_contracts.streams import consumers


@pytest.fixture
async def built(tmp_path: Path) -> AsyncIterator[dict[str, Service]]:
    """All services, built and never started: there is no server to connect to."""
    nowhere = {"nats_url": "nats://127.0.0.1:9", "mongo_url": "mongodb://127.0.0.1:9/?connectTimeoutMS=1"}
    choices = StackSettings(**nowhere, folder=tmp_path, admin_key="the-administrators-key", connector="rehearsal")
    services = {name: app.service for name, app in build_all(choices, Runtime(), {}, {}).items()}
    yield services
    for service in services.values():
        for hook in service._hooks_down:
            await hook()


def answered(service: Service) -> list[str]:
    return [each.subject for each in service.bus.answering]


async def test_there_is_a_service_for_every_name_of_the_catalog(built: dict[str, Service]) -> None:
    assert sorted(built) == sorted(SERVICES)
    assert [name for name, service in built.items() if service.name != name] == []


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_listens_to_exactly_what_the_catalog_says(built: dict[str, Service], name: str) -> None:
    given = {channel.name for channel in CHANNELS.values() if name in channel.consumers and channel.stream}
    assert built[name].channels == given


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_has_one_handler_for_each_of_its_durable_consumers(
    built: dict[str, Service], name: str
) -> None:
    held = [worker.config.durable for worker in built[name]._workers]
    assert sorted(held) == sorted(consumer.durable for consumer in consumers() if consumer.service == name)


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_answers_exactly_the_questions_that_are_put_to_it(built: dict[str, Service], name: str) -> None:
    mine = [question.subject for question in QUESTIONS.values() if question.answered_by == name]
    to_programs, _ = ANSWERS_PROGRAMS.get(name, ((), 0))
    assert sorted(answered(built[name])) == sorted([*mine, *to_programs])
