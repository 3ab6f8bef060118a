"""The five robots of the specification, each run to its end (CL-27). Clock robots are started by a manual trigger."""

import asyncio
import json

import pytest

from rota_common.clock import now
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus, Execution, TaskStatus
from rota_contracts.robots.robot import Phase
from tests.integration.path.harness import System, example

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def run(system: System, name: str, request: dict[str, object]) -> Execution:
    await system.api.create_robot(example(name, system.hooks.url))
    answer = await system.api.trigger(name, request)
    return await system.ended(answer)


def all_is_well(execution: Execution) -> None:
    assert execution.status is ExecStatus.COMPLETED, execution.error
    assert execution.phase is Phase.LEARNING
    assert execution.tasks
    assert {result.status for result in execution.results} == {TaskStatus.COMPLETED}
    assert execution.delivery is not None
    assert execution.delivery.success, execution.delivery.results
    assert execution.learning is not None
    assert execution.learning.lessons


@pytest.mark.parametrize("name", ["seo-content", "competitor-monitor", "research-analyst"])
async def test_a_clock_robot_goes_through_all_six_phases(system: System, name: str) -> None:  # EX-01 EX-10 CL-27
    execution = await run(system, name, {"type": "clock"})
    all_is_well(execution)
    assert execution.inspiration is not None
    for section in ("Summary", "Highlights", "Opportunities", "Risks", "World News", "Pending"):
        assert f"## {section}" in execution.inspiration.content
    assert [result.type for result in execution.delivery.results] == (  # type: ignore[union-attr]  # asserted above
        ["webhook"] if name == "competitor-monitor" else ["notify"]
    )


async def test_the_sales_assistant_works_on_an_intervention(system: System) -> None:  # EX-01 TG-06 CL-27
    await system.api.create_robot(example("sales-assistant", system.hooks.url))
    request = {
        "action": "task.add",
        "messages": [{"role": "user", "content": "Meeting with BigCorp CTO tomorrow. Prepare materials."}],
    }
    answer = await system.api.intervene("sales-assistant", request)
    execution = await system.ended(answer)
    all_is_well(execution)
    assert execution.inspiration is None
    assert execution.goals is not None
    assert "BigCorp" in execution.goals.content
    await asyncio.wait_for(system.mails.wait(1), PATIENCE_S)
    assert system.mails.received[0]["To"] == "sales-manager@company.com"
    assert len(system.mails.received) == 1


async def test_a_lead_is_qualified_delivered_and_recalled(system: System) -> None:  # EX-01 DC-08 LE-05 EX-12 CL-27
    await system.api.create_robot(example("lead-processor", system.hooks.url))
    first = await system.ended((await system.post_lead())["triggers"][0])
    all_is_well(first)
    assert first.recalled == []
    second = await system.ended((await system.post_lead())["triggers"][0])
    all_is_well(second)
    assert {lesson.execution_id for lesson in second.recalled} == {first.execution_id}
    assert [hook.verified for hook in system.hooks.received] == [True, True]
    assert len({hook.id for hook in system.hooks.received}) == 2
    assert len(system.mails.received) == 2
    completed = [
        fact
        for fact in system.facts.received
        if fact.subject == f"rota.v1.delivery.completed.{system.team}.lead-processor"
    ]
    delivered = {json.loads(fact.body)["context"]["execution_id"] for fact in completed}
    assert delivered == {first.execution_id, second.execution_id}


async def test_one_event_starts_every_subscribed_robot_once(system: System) -> None:  # TG-12
    for member in ("one", "two"):
        robot = example("lead-processor", system.hooks.url) | {"member_id": member}
        await system.api.create_robot(robot)
    at = now()
    answers = [await system.post_lead("msg_1", at=at), await system.post_lead("msg_1", at=at)]
    assert answers[0]["triggers"] == answers[1]["triggers"]
    assert {trigger["member_id"] for trigger in answers[0]["triggers"]} == {"one", "two"}
    for trigger in answers[0]["triggers"]:
        all_is_well(await system.ended(trigger))
    assert (await system.api.executions({}))["total"] == 2
    assert len(system.hooks.received) == 2


async def test_a_dry_run_ends_without_sending_anything(system: System) -> None:  # EX-08 TG-14
    execution = await run(
        system, "lead-processor", {"type": "event", "event_type": "lead.created", "executor_mode": "dryrun"}
    )
    assert execution.status is ExecStatus.COMPLETED, execution.error
    assert execution.delivery is not None
    assert execution.delivery.success
    assert {result.type for result in execution.delivery.results} == {"webhook", "email"}
    assert system.hooks.received == []
    assert system.mails.received == []
