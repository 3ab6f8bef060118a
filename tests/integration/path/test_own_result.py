"""Results for programs, from the webhook to the receiver: the owner's form is filled, and tasks go along."""

import asyncio
import json

import pytest

from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.harness import System

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEMA = {
    "type": "object",
    "properties": {
        "category": {"enum": ["bug", "question"]},
        "fields": {"type": "object", "examples": [{"$set": {"a.b": 1}}]},
    },
    "required": ["category", "fields"],
}
RESULT = {"category": "bug", "fields": {"$set": {"a.b": 1}}}


async def test_a_result_in_the_owners_form_and_outputs_of_tasks_reach_a_receiver(system: System) -> None:  # DC-03
    target = {"url": system.hooks.url, "secret": "$ENV.OUT_SECRET"}
    delivery = {"type": "webhook", "opts": target, "schema": SCHEMA, "include": ["tasks"]}
    config = {
        "identity": {"role": "Ticket Sorter", "duties": ["Sort tickets", "Thank those who wrote"]},
        "resources": {"agents": ["classifier"]},
        "events": [{"type": "webhook", "source": "leads"}],
        "delivery": delivery,
    }
    await system.api.create_robot({"member_id": "ticket-sorter", "robot_config": config})
    over = await system.ended((await system.post_lead())["triggers"][0])
    assert over.status is ExecStatus.COMPLETED, over.error
    (hook,) = system.hooks.received
    assert (hook.verified, hook.body["data"]["result"]) == (True, RESULT)
    (task,) = hook.body["data"]["tasks"]
    assert (task["id"], task["status"], task["truncated"]) == ("task-1", "completed", False)
    assert task["output"]["by"] == "classifier"
    subject = f"rota.v1.delivery.completed.{system.team}.ticket-sorter"
    await asyncio.wait_for(system.facts.wait(3), PATIENCE_S)  # attempted, completed, settled
    (fact,) = [fact for fact in system.facts.received if fact.subject == subject]
    content = json.loads(fact.body)["result"]["content"]
    assert (content["result"], content["tasks"]) == (RESULT, [task])
    assert over.content is not None
    assert over.delivery is not None
    assert (over.content.result, over.delivery.content.tasks) == (RESULT, [])
