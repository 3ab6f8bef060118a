"""Kill -9 of the executor in the middle of P3: the execution completes, and its receiver gets it once (EX-05)."""

import asyncio
from pathlib import Path

import nats as nats_client
from nats.aio.msg import Msg

from rota.client import Api
from rota.demo.parties import webhook_receiver
from rota.signing import signed_event
from rota.waiting import until_over
from rota_common.clock import now
from rota_common.embedded import EmbeddedServer
from rota_common.mongo import Mongo
from rota_common.testing.processes import Processes
from rota_contracts.activity import ActivityKind, ActivityV1
from rota_contracts.execution import ExecStatus, Execution
from rota_contracts.robot import Phase
from tests.integration.path.whole import LEAD, SOURCE, TEAM, example, new_secret

SLOW = """label: Rehearsal at a model's pace
type: rehearsal
options:
  parameters: {seconds: 0.7}
"""


async def test_an_execution_outlives_its_executor(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "slow.yaml").write_text(SLOW)
    incoming, outgoing = new_secret(), new_secret()
    settings = {
        "ROTA_MONGO_PREFIX": mongo_prefix,
        "ROTA_ADMIN_KEY": "admin-of-the-test",
        "ROTA_CONNECTOR": "slow",
        "ROTA_CONNECTORS_DIR": str(tmp_path / "connectors"),
        "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
        "IN_SECRET": incoming,
        "OUT_SECRET": outgoing,
    }
    services = Processes(tmp_path, nats_url=nats.url, mongo_url=mongo_url, settings=settings)
    watcher = await nats_client.connect(nats.url)
    turns: asyncio.Queue[ActivityV1] = asyncio.Queue()

    async def watch(message: Msg) -> None:
        activity = ActivityV1.model_validate_json(message.data)
        if activity.kind is ActivityKind.TASK_STARTED:
            await turns.put(activity)

    async with webhook_receiver(outgoing) as receiver:
        try:
            await services.start_all()
            async with Api(services.gateway, TEAM, "admin-of-the-test") as api:
                await api.create_team(TEAM)
                await api.add_source(SOURCE, "$ENV.IN_SECRET")
                robot = example("lead-processor", receiver.where)
                del robot["robot_config"]["delivery"]["preferences"]["email"]
                await api.create_robot(robot)
                await watcher.subscribe(f"rota.v1.activity.observed.{TEAM}.>", cb=watch)
                await watcher.flush()
                body, headers = signed_event(incoming, message_id="msg_1", at=now(), type="lead.created", data=LEAD)
                answer = await api.hook(TEAM, SOURCE, body, headers)
                woken = answer["triggers"][0]

                first, second = [await asyncio.wait_for(turns.get(), 30) for _ in range(2)]
                await services.kill("executor")
                assert (first.task_id, second.task_id) == ("task-1", "task-2")
                mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
                document = await mongo.database["executions"].find_one({"_id": woken["execution_id"]})
                await mongo.close()
                assert document is not None
                in_p3 = document["run"]["execution"]
                assert in_p3["phase"] == Phase.RUN
                assert [(result["task_id"], result["output"] is not None) for result in in_p3["results"]] == [
                    ("task-1", True)
                ]

                await services.start("executor")
                await services.ready("executor")
                over = Execution.model_validate(await until_over(api, woken, timeout=60))
                assert over.status is ExecStatus.COMPLETED, over.error
                assert over.results[0].finished_at is not None
                again = [turns.get_nowait().task_id for _ in range(turns.qsize())]
                assert again == ["task-2"]  # the finished task wasn't run again, the broken-off one was
                assert [hook.verified for hook in receiver.got] == [True]
        finally:
            await watcher.close()
            await services.stop_all()
