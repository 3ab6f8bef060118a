"""Robots that are stored and could not be published at once."""

from rota_contracts.catalog import ROBOT_CHANGED
from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.adapters.in_memory_stores import InMemoryDefinitions

from .harness import TEAM, error_of, gateway, robot, settings

ROBOTS = f"{TEAM}/robots"


async def test_a_robot_that_could_not_be_published_is_stored_and_published_later() -> None:
    definitions = InMemoryDefinitions()
    adapters = in_memory(definitions=definitions)
    async with gateway(settings(sweep_interval=60), adapters=adapters) as first:
        first.key = await first.make_team()
        definitions.breaks = True
        answer = await first.call("POST", ROBOTS, json=robot())
        assert error_of(answer) == (503, "stored_not_applied")
        assert int(answer.headers["retry-after"]) > 0
        assert definitions.robots == {}
    definitions.breaks = False
    async with gateway(bus=first.bus, adapters=adapters) as other:
        other.key = first.key
        async with other.bus.changed:  # published by its sweep
            await other.bus.changed.wait_for(lambda: bool(other.bus.facts(ROBOT_CHANGED)))
        assert definitions.robots["acme", "leader"].rev == 1
        # Its owner never got the answer, so the repeat is no conflict. Then it is.
        assert (await other.call("POST", ROBOTS, json=robot())).status_code == 201
        assert error_of(await other.call("POST", ROBOTS, json=robot())) == (409, "robot_exists")
        assert len(other.bus.facts(ROBOT_CHANGED)) == 1
