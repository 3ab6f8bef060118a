"""Kill -9 of the executor in the middle of P3: the execution completes, and its receiver gets it once (EX-05)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats as nats_client
import pytest
from nats.aio.msg import Msg

from executor.adapters import mongo_run_documents
from rota.client import Api
from rota.demo.external_systems import Hook, Inbox, webhook_receiver
from rota.signing import new_secret, signed_event
from rota.waiting import until_finished
from rota_common.bus.barrier import barrier
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
from rota_common.testing.processes import Processes
from rota_common.testing.team_secrets import secrets_folder
from rota_contracts.messages.activity import ActivityKind, ActivityV1
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.robots.robot import Phase
from tests.integration.path.harness import LEAD, SOURCE, TEAM, example

pytestmark = pytest.mark.soak

SLOW = """label: Rehearsal at a model's pace
teams: ["*"]
type: rehearsal
options:
  parameters: {seconds: 0.7}
"""


@dataclass
class System:
    """The seven services as processes, a receiver, and the started tasks, as a plain NATS client receives them."""

    services: Processes
    api: Api
    receiver: Inbox[Hook]
    secret: str
    started_tasks: asyncio.Queue[str]

    async def post_lead(self) -> dict[str, Any]:
        body, headers = signed_event(self.secret, message_id="msg_1", at=now(), type="lead.created", data=LEAD)
        answer = await self.api.hook(TEAM, SOURCE, body, headers)
        started: dict[str, Any] = answer["triggers"][0]
        return started


@pytest.fixture
async def system(tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[System]:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "slow.yaml").write_text(SLOW)
    incoming, outgoing, admin = new_secret(), new_secret(), "admin-of-the-test"
    settings = {
        "ROTA_MONGO_PREFIX": mongo_prefix,
        "ROTA_ADMIN_KEY": admin,
        "ROTA_CONNECTOR": "slow",
        "ROTA_CONNECTORS_DIR": str(tmp_path / "connectors"),
        "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
        **secrets_folder(tmp_path, TEAM, IN_SECRET=incoming, OUT_SECRET=outgoing),
    }
    services = Processes(tmp_path, nats_url=nats.url, mongo_url=mongo_url, settings=settings)
    started_tasks: asyncio.Queue[str] = asyncio.Queue()

    async def watch(message: Msg) -> None:
        activity = ActivityV1.model_validate_json(message.data)
        if activity.kind is ActivityKind.TASK_STARTED:
            await started_tasks.put(activity.task_id or "")

    watcher = await nats_client.connect(nats.url)
    await watcher.subscribe(f"rota.v1.activity.observed.{TEAM}.>", cb=watch)
    await barrier(watcher)
    async with AsyncExitStack() as ends:
        ends.push_async_callback(watcher.close)
        receiver = await ends.enter_async_context(webhook_receiver(outgoing))
        ends.push_async_callback(services.stop_all)
        await services.start_all()
        api = await ends.enter_async_context(Api(services.gateway, TEAM, key=admin))
        await api.create_team(TEAM)
        await api.add_source(SOURCE, "$ENV.IN_SECRET")
        robot = example("lead-processor", receiver.url)
        del robot["robot_config"]["delivery"]["preferences"]["email"]
        await api.create_robot(robot)
        yield System(services, api, receiver, incoming, started_tasks)


async def stored_execution(mongo_url: str, mongo_prefix: str, execution_id: str) -> Execution:
    """The execution as the dead executor left it."""
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    document = await mongo.database["executions"].find_one({"_id": execution_id})
    await mongo.close()
    assert document is not None
    return mongo_run_documents.read(document).execution


async def test_an_execution_survives_its_executor(system: System, mongo_url: str, mongo_prefix: str) -> None:
    started = await system.post_lead()
    assert [await asyncio.wait_for(system.started_tasks.get(), 30) for _ in range(2)] == ["task-1", "task-2"]
    await system.services.kill("executor")
    left = await stored_execution(mongo_url, mongo_prefix, started["execution_id"])
    assert left.phase is Phase.RUN
    assert [(result.task_id, result.output is not None) for result in left.results] == [("task-1", True)]

    await system.services.start("executor")
    await system.services.ready("executor")
    over = Execution.model_validate(await until_finished(system.api, started, timeout=60))
    assert over.status is ExecStatus.COMPLETED, over.error
    assert [system.started_tasks.get_nowait() for _ in range(system.started_tasks.qsize())] == [
        "task-2"
    ]  # task-1 wasn't run again
    assert over.results[0].output == left.results[0].output
    assert [hook.verified for hook in system.receiver.received] == [True]
