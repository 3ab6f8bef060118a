"""A robot that is paused between an execution's slot and its beginning: the execution holds, and no slot is lost."""

import asyncio

from rota_common.testing.bus import Listener
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.messages.control import Control, ControlAction
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.robot import RobotStatus
from tests.integration.executor.harness import Harness


async def test_an_execution_of_a_paused_robot_holds_before_its_first_agent_and_goes_on_when_it_is_resumed(
    system: Harness,
) -> None:  # DEC-16
    await system.keep(a_robot(robot_status=RobotStatus.PAUSED))
    parked = await Listener.to(system.nats_url, catalog.EXECUTION_PARKED.pattern)
    async with system.executor():
        await system.request()
        await parked.received()
        held = await system.execution()
        assert held is not None
        assert (held.status, held.goals) == (ExecStatus.PAUSED, None)
        assert [word.action for word in held.interventions] == ["pause"]

        gateway = system.services["trigger-gateway"]
        asked = Control(request_id="r1", team_id=TEAM, member_id=MEMBER, action=ControlAction.RESUME)
        shown = await gateway.ask(catalog.CONTROL, asked)
        assert shown.execution_ids == [held.execution_id]
        done = await asyncio.wait_for(system.over(), PATIENCE_S)
    assert done.status is ExecStatus.COMPLETED
    await parked.close()
