"""Requests and replies of two versions on one bus."""

import json
from typing import Any

import pytest

from rota_common.errors import Transient, Unreadable
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import READ_EXECUTION
from rota_contracts.messages.execution import ExecutionReply, ReadExecution


def answering(bus: InMemoryBus) -> list[ReadExecution]:
    asked: list[ReadExecution] = []

    async def answer(request: ReadExecution) -> ExecutionReply:
        asked.append(request)
        return ExecutionReply(execution=None)

    bus.answer(READ_EXECUTION, answer)
    return asked


async def sent(bus: InMemoryBus, **more: Any) -> Any:
    body = json.dumps({"team_id": "acme", "execution_id": "e1"} | more).encode()
    return await bus.connection("trigger-gateway").client.request(READ_EXECUTION.subject, body, timeout=5)


async def test_a_field_that_the_answering_service_does_not_know_is_refused_by_name() -> None:
    bus = InMemoryBus()
    asked = answering(bus)
    reply = await sent(bus, at_revision=3, redact=["keys"])
    assert (reply.headers, asked) == ({"rota-error": "transient"}, [])
    assert b"unknown field at_revision, redact: the answering service is older" in reply.data


@pytest.mark.parametrize("empty", [None, "", 0, False, [], {}])
async def test_a_new_field_that_asks_for_nothing_is_no_reason_to_refuse(empty: Any) -> None:
    bus = InMemoryBus()
    asked = answering(bus)
    reply = await sent(bus, redact=empty)
    assert (reply.headers, asked) == ({}, [ReadExecution(team_id="acme", execution_id="e1")])


async def test_an_answer_of_another_version_is_a_failure_that_passes() -> None:
    bus = InMemoryBus()

    async def answer(message: Any) -> None:
        await message.respond(b'{"execution": {"status": "dreaming"}}')

    bus.serve(READ_EXECUTION.subject, answer)
    with pytest.raises(Unreadable) as raised:
        await bus.ask(READ_EXECUTION, ReadExecution(team_id="acme", execution_id="e1"))
    assert isinstance(raised.value, Transient)
