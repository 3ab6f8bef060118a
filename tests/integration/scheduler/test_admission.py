"""From a trigger to a slot, over a real bus and a real database."""

from typing import Any

from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.streams import ROBOTS_BUCKET
from tests.integration.scheduler.harness import Harness


async def test_a_trigger_becomes_a_request_for_an_execution(harness: Harness) -> None:  # TG-05 SC-11
    async with harness.scheduler():
        await harness.trigger("t1", locale="fr-FR")
        await harness.slots(1)
        await harness.admitted(1)
    (request,) = await harness.events(catalog.EXECUTION_REQUESTED)
    (admitted,) = await harness.events(catalog.TRIGGER_ADMITTED)
    left = await harness.gateway.bus.jetstream.stream_info("TRIGGERS")
    assert left.state.messages == 0  # a work queue: what was dealt with is gone
    assert request.data.execution_id == admitted.data.execution_id == execution_id("t1")
    assert (request.data.trigger.locale, admitted.data.trigger_id) == ("fr-FR", "t1")
    assert request.traceparent.split("-")[1] == admitted.traceparent.split("-")[1]


async def test_what_a_gateway_let_through_holds_up_no_other_trigger(harness: Harness) -> None:
    await harness.keep(a_robot(config={"quota": {"max": 50}}))
    poison: list[dict[str, Any]] = [{"wei": 10**21}, {"a\0b": 1}, {"$where": {"a.b": 2**64}}]
    async with harness.scheduler(pool=50):
        for number in range(9):
            given = {"source": "leads", "data": poison[number % 3]}
            await harness.trigger(f"bad{number}", input=given)
            await harness.trigger(f"good{number}")
        await harness.slots(18)
    requests = {
        event.data.trigger.trigger_id: event.data for event in await harness.events(catalog.EXECUTION_REQUESTED)
    }
    assert sorted(requests) == sorted(f"{kind}{number}" for kind in ("bad", "good") for number in range(9))
    assert requests["bad0"].trigger.input.data == {"wei": 10**21}


async def test_a_definition_that_can_not_be_read_harms_its_own_robot_only(harness: Harness) -> None:
    bucket = await harness.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
    await bucket.put("acme.broken", b'{"team_id": "acme"}')
    async with harness.scheduler():
        for number in range(2):
            await harness.trigger(f"broken-{number}", member_id="broken")
            await harness.trigger(f"t{number}")
        await harness.slots(2)
        assert (await harness.read("broken-0")).execution_id is None
    assert sorted(await harness.given_slots()) == ["t0", "t1"]
