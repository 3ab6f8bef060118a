"""An event that was accepted and rejected is retried: it runs once, and its run names the rejected one."""

import asyncio

import pytest

from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.harness import System, example

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENTS_OFF = {"intervene": {"enabled": True}, "event": {"enabled": False}}


async def test_a_rejected_event_runs_once_when_it_is_retried(system: System) -> None:  # DEC-48
    robot = example("lead-processor", system.hooks.url)
    off = robot | {"robot_config": robot["robot_config"] | {"triggers": EVENTS_OFF}}
    await system.api.create_robot(off)
    posted = (await system.post_lead("msg_1"))["triggers"][0]
    while (await system.api.trigger_state(posted["trigger_id"]))["state"] != "rejected":
        await asyncio.sleep(0.05)
    await system.api.replace_robot("lead-processor", robot)

    again = (await system.api.of_team("POST", "/executions/retry", json={"status": "rejected"}))["retried"]
    pressed = await system.api.of_team("POST", f"/executions/{posted['execution_id']}/retry")
    assert [each["execution_id"] for each in again] == [pressed["execution_id"]]
    assert pressed["repeated"]

    run = await system.ended(pressed)
    assert (run.status, run.trigger.retry_of) == (ExecStatus.COMPLETED, posted["execution_id"])
    assert run.robot_rev > 1
    assert (await system.api.executions({}))["total"] == 1
    assert len(system.hooks.received) == 1
