"""The executor, put together."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from executor.adapters.litellm_model import LitellmModel
from executor.adapters.mcp_servers import load_servers
from executor.adapters.mcp_tools import McpTools
from executor.adapters.mongo_calls import MongoCalls
from executor.adapters.mongo_runs import MongoRuns
from executor.adapters.nats_processes import NatsProcesses
from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.calls import CallAgents, LeaseSettings
from executor.handlers import build_answers, build_control, build_router
from executor.hear_broadcast import FollowBroadcast
from executor.heartbeat import Heartbeat
from executor.may_deliver import DecidePermission
from executor.ports import Calls, Model, Runs
from executor.publish import EventPublisher
from executor.replay import Replay
from executor.settings import Settings
from executor.signals import SendSignal
from executor.start_execution import StartExecution
from executor.steps.gather_situation import GatherSituation
from executor.steps.merge_goals import MergeGoals
from executor.steps.questions import Questions
from executor.steps.step_runner import Models, StepRunner, Toolset
from executor.stop_robot import StopRobot
from executor.sweeper import Sweeper
from executor.take_result import TakeResult
from executor.worker import RunWorker, Timeouts
from rota_common.bus.live import LiveEvents
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores.blobs import Blobs
from rota_common.stores.mongo import OUTAGES, Mongo

NAME = "executor"


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
    service = Service.of(NAME, settings, runtime=runtime, outages=OUTAGES)
    mongo = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_executor")
    runs, calls = MongoRuns(mongo.database), MongoCalls(mongo.database)
    owner, clock = f"{NAME}-{uuid4().hex[:8]}", runtime.clock
    environ = os.environ if environ is None else environ
    parts = _parts(settings, service, runs, environ, model, rehearsal)
    announce = parts.announce
    pace = Timeouts(settings.lease, settings.answer_patience)
    drive = RunWorker(runs, parts.perform, announce, owner=owner, pace=pace, clock=clock, random=runtime.random)
    give = SendSignal(runs, drive, announce, clock)
    start = StartExecution(runs, drive, Robots(service.bus), service.publish, clock)
    stop = StopRobot(runs, drive, give, clock)
    call = _agents_called(service, calls, runs, parts.perform, LeaseSettings(owner, settings.lease))
    service.include(build_router(start=start, drive=drive, stop=stop, slots=settings.slots))
    service.include(
        build_control(give=give, leave=DecidePermission(runs, clock), take=TakeResult(runs, parts.blobs, give, clock))
    )
    service.include(build_answers(runs=runs, call=call, replay=Replay(runs, parts.blobs)))
    service.on_start(runs.prepare)
    service.on_start(calls.prepare)
    service.background("sweep", Sweeper(runs, drive, give, clock, interval=settings.sweep_interval).run)
    report = Heartbeat(service.publish, clock, executor_id=owner, capacity=settings.capacity)
    service.background("report", report.run)
    service.background("control", FollowBroadcast(LiveEvents(service.bus, service=NAME), give))
    service.probe("mongo", mongo.ping)
    service.on_stop(report.stop)
    service.on_stop(call.close)
    service.on_stop(parts.tools.close)
    service.on_stop(mongo.close)
    return plain_app(service, settings)


def _agents_called(service: Service, calls: Calls, runs: Runs, perform: StepRunner, hold: LeaseSettings) -> CallAgents:
    robots, clock = Robots(service.bus), service.runtime.clock
    return CallAgents(calls, runs, perform.models, perform.agents, clock, hold, robot=robots.find)


@dataclass(frozen=True)
class Parts:
    """What a worker works with."""

    perform: StepRunner
    announce: EventPublisher
    blobs: Blobs
    tools: McpTools


def _parts(
    settings: Settings,
    service: Service,
    runs: Runs,
    environ: Mapping[str, str],
    model: Model | None,
    rehearsal: Model | None,
) -> Parts:
    connectors = Connectors(settings.connector, environ=environ, folder=settings.connectors_dir)
    servers = load_servers(settings.mcp_dir, environ)
    blobs, tools, clock = Blobs(service.bus), McpTools(servers), service.runtime.clock
    announce = EventPublisher(service.publish, blobs, clock)
    perform = StepRunner(
        Models(connectors, real=model or LitellmModel(), rehearsal=rehearsal or RehearsalModel()),
        Agents(settings.agents_dir),
        blobs,
        Questions(service.ask),
        MergeGoals(runs, service.ask, announce, clock),
        GatherSituation(runs, service.ask),
        real=Toolset(tools, NatsProcesses(service.bus)),
        recording=Toolset(RecordingTools(servers), RecordingProcesses()),
    )
    return Parts(perform, announce, blobs, tools)
