"""What the endpoints use: made once by `app.py`, found through the request."""

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from nats.js import JetStreamContext

from rota_common.bus.connection import Bus
from rota_common.bus.live import LiveEvents
from rota_common.bus.rpc import Ask
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.stores.attachments import Attachments
from rota_common.urls import Network
from rota_contracts.catalog import Question
from rota_contracts.model import Part
from trigger_gateway import rpc
from trigger_gateway.databases.change_streams import Readings
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.robots.view_robots import ViewRobots
from trigger_gateway.runs.control_executions import ControlExecutions
from trigger_gateway.runs.control_robots import ControlRobots
from trigger_gateway.runs.intervene_robot import InterveneRobot
from trigger_gateway.runs.request_run import RequestRun
from trigger_gateway.sources.manage_sources import ManageSources
from trigger_gateway.teams.authenticate import Authenticate
from trigger_gateway.teams.manage_teams import ManageTeams
from trigger_gateway.webhooks.inbound_log import InboundLog
from trigger_gateway.webhooks.rate_limits import Rates
from trigger_gateway.webhooks.receive_webhook import ReceiveWebhook

A = TypeVar("A", bound=Part)


@dataclass(frozen=True)
class Parts:
    authenticate: Authenticate
    teams: ManageTeams
    sources: ManageSources
    view_robots: ViewRobots
    save_robot: SaveRobot
    receive_webhook: ReceiveWebhook
    request_run: RequestRun
    intervene_robot: InterveneRobot
    control: ControlExecutions
    control_robots: ControlRobots
    inbound: InboundLog
    readings: Readings
    rates: Rates
    trusted_proxies: tuple[Network, ...]
    attachments: Attachments
    attachment_limit: int
    ask: Ask
    watch: LiveEvents
    bus: Bus
    clock: Clock
    heartbeat: float


def parts_of(request: Request) -> Parts:
    return cast(Parts, request.app.state.parts)


PartsDep = Annotated[Parts, Depends(parts_of)]


def jetstream_of(parts: Parts) -> JetStreamContext:
    """Raises Transient when NATS is away, where the client would wait for it."""
    if not parts.bus.connected:
        raise Transient("NATS: not connected")
    return parts.bus.jetstream


async def asked(parts: Parts, question: Question[Any, A], request: Part, *, tell: bool = False) -> A:
    """A service's answer, or why there is none; `tell` the caller in the service's words."""
    return await rpc.asked(parts.ask, question, request, tell=tell)
