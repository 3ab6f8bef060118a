"""The executor, put together."""

import os
from collections.abc import Mapping
from uuid import uuid4

from executor.adapters.litellm_model import LitellmModel
from executor.adapters.mongo_calls import MongoCalls
from executor.adapters.mongo_runs import MongoRuns
from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents import Agents
from executor.announce import Announce
from executor.call_agent import CallAnAgent
from executor.connectors import Connectors
from executor.drive import Drive, Pace
from executor.perform import Models, Perform
from executor.ports import Model
from executor.settings import Settings
from executor.start_execution import StartExecution
from executor.stop_robot import StopRobot
from executor.subscribers import build_answers, build_router
from executor.sweep import Sweep
from rota_common.blobs import Blobs
from rota_common.mongo import OUTAGES, Mongo
from rota_common.robots import Robots
from rota_common.service import Runtime, Service
from rota_common.serving import App, plain_app


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    environ: Mapping[str, str] | None = None,
    model: Model | None = None,
    rehearsal: Model | None = None,
) -> App:
    """`environ` is where `$ENV.` references are looked up; `model` and `rehearsal` replace the adapters in tests."""
    runtime = runtime or Runtime()
    service = Service("executor", settings.nats_url, runtime=runtime, outages=OUTAGES)
    mongo = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_executor")
    runs, calls = MongoRuns(mongo.database), MongoCalls(mongo.database)
    agents = Agents(settings.agents_dir)
    connectors = Connectors(
        settings.connector, environ=os.environ if environ is None else environ, folder=settings.connectors_dir
    )
    models = Models(connectors, real=model or LitellmModel(), rehearsal=rehearsal or RehearsalModel())
    blobs = Blobs(service.bus)
    drive = Drive(
        runs,
        Perform(models, agents, blobs, service.ask),
        Announce(service.publish, blobs, runtime.clock),
        owner=f"executor-{uuid4().hex[:8]}",
        pace=Pace(settings.lease, settings.answer_patience),
        clock=runtime.clock,
        random=runtime.random,
    )
    start = StartExecution(runs, drive, Robots(service.bus), service.publish, runtime.clock)
    call = CallAnAgent(calls, runs, models, agents, runtime.clock)
    service.include(build_router(start=start, drive=drive, stop=StopRobot(runs, drive), slots=settings.slots))
    service.include(build_answers(runs=runs, call=call))
    service.on_start(runs.prepare)
    service.on_start(calls.prepare)
    service.background("sweep", Sweep(runs, drive, runtime.clock, interval=settings.sweep_interval).run)
    service.probe("mongo", mongo.ping)
    service.on_stop(mongo.close)
    return plain_app(service, settings)
