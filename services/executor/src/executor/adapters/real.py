"""The adapters of production."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial

from executor.adapters.entry_point_hooks import load_hooks
from executor.adapters.guarded_get import GuardedGet, web_client
from executor.adapters.guarded_transport import GuardedTransport
from executor.adapters.httpx_pages import HttpxPages
from executor.adapters.httpx_pictures import HttpxPictures
from executor.adapters.litellm_model import LitellmModel
from executor.adapters.litellm_prices import LitellmPrices
from executor.adapters.mcp_servers import load_servers, teams_of
from executor.adapters.mcp_tools import McpTools
from executor.adapters.mongo_budget import MongoBudget
from executor.adapters.mongo_calls import MongoCalls
from executor.adapters.mongo_runs import MongoRuns
from executor.adapters.nats_processes import NatsProcesses
from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.adapters.rehearsal_model import RehearsalModel
from executor.adapters.stored_forms import DATABASE
from executor.adapters.team_documents import MongoRunsOfTeam
from executor.adapters.team_files import TeamFiles
from executor.agents.connectors import REHEARSAL
from executor.ports import Adapters
from executor.settings import Settings
from rota_common.runtime.followed_robots import followed_definitions, followed_robots
from rota_common.runtime.service import Service
from rota_common.spans.httpx_receiver import receiver_of
from rota_common.stores.attachments import Attachments
from rota_common.stores.blobs import Blobs
from rota_common.stores.mongo import Mongo
from rota_common.team_secrets import asked_of_the_gateway
from rota_common.urls import networks


def real(settings: Settings, service: Service, *, environ: Mapping[str, str] | None = None) -> Adapters:
    """MongoDB, NATS, litellm and the MCP servers, prepared and probed by `service`."""
    mongo = Mongo.of(settings, DATABASE)
    runs, calls = MongoRuns(mongo.database, keep=timedelta(days=settings.keep_days)), MongoCalls(mongo.database)
    guard = partial(GuardedTransport, allowed=networks(settings.allow_private_targets))
    model, servers = LitellmModel(guard()), load_servers(settings.mcp_dir, os.environ if environ is None else environ)
    files = TeamFiles(attachments=Attachments(service.bus), ask=service.ask, clock=service.runtime.clock)
    web, secrets = GuardedGet(client=web_client()), asked_of_the_gateway(service.ask)
    tools = McpTools(servers, secrets=secrets, files=files, guard=guard)
    keys = sorted({key for server in servers.values() for key in server.keys})
    budget = MongoBudget(mongo.database)
    load = () if settings.connector == REHEARSAL else (model.load,)
    for prepare in (runs.prepare, calls.prepare, budget.prepare, *load):
        service.on_start(prepare)
    service.probe("mongo", mongo.ping)
    return Adapters(
        runs=runs,
        calls=calls,
        blobs=Blobs(service.bus),
        files=files,
        pictures=HttpxPictures(web),
        pages=HttpxPages(web),
        robots=followed_robots(service),
        definitions=followed_definitions(service),
        secrets=secrets,
        model=model,
        rehearsal=RehearsalModel(),
        tools=tools,
        processes=NatsProcesses(service.bus),
        recording_tools=RecordingTools(teams_of(servers)),
        recording_processes=RecordingProcesses(),
        budget=budget,
        prices=LitellmPrices(model),
        team_documents=MongoRunsOfTeam(mongo.database),
        hooks=load_hooks(settings.hooks),
        servers=teams_of(servers),
        spans=receiver_of(settings),
        known_secrets=lambda team: (*secrets.known(team), *keys),
        close=partial(_close, tools.close, mongo.close, web.client.aclose, model.close),
    )


async def _close(*closes: Callable[[], Awaitable[object]]) -> None:
    await asyncio.gather(*(close() for close in closes), return_exceptions=True)
