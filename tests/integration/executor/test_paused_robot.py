"""A robot that is paused between an execution's slot and its beginning: the execution holds, and no slot is lost."""

import asyncio

from rota_common.testing.bus import Listener
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.messages.control import Control, ControlAction
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.robot import RobotStatus
from tests.integration.executor.world import World


async def test_an_execution_of_a_paused_robot_holds_before_its_first_agent_and_goes_on_when_it_is_resumed(
    world: World,
) -> None:  # DEC-16
    await world.keep(a_robot(robot_status=RobotStatus.PAUSED))
    parked = await Listener.to(world.nats_url, catalog.EXECUTION_PARKED.pattern)
    async with world.executor():
        await world.request()
        await parked.heard()
        held = await world.execution()
        assert held is not None
        assert (held.status, held.goals) == (ExecStatus.PAUSED, None)
        assert [word.action for word in held.interventions] == ["pause"]

        gateway = world.services["trigger-gateway"]
        asked = Control(request_id="r1", team_id=TEAM, member_id=MEMBER, action=ControlAction.RESUME)
        told = await gateway.ask(catalog.CONTROL, asked)
        assert told.execution_ids == [held.execution_id]
        done = await asyncio.wait_for(world.over(), PATIENCE_S)
    assert done.status is ExecStatus.COMPLETED
    await parked.close()
