"""The use cases of the gateway."""

import math
from dataclasses import dataclass, replace
from secrets import token_bytes, token_urlsafe
from typing import Self

from rota_common.bus.connection import Bus
from rota_common.bus.live import LiveEvents
from rota_common.bus.room import BusRoom
from rota_common.bus.rpc import Ask
from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_common.runtime.service import Service
from rota_common.team_secrets import CachedSecrets
from rota_common.urls import Network, networks
from rota_contracts.sources import SourceKind
from trigger_gateway import wiring
from trigger_gateway.agents.call_team_agent import CallTeamAgent
from trigger_gateway.approvals.decide_approvals import DecideApprovals
from trigger_gateway.approvals.decide_by_link import DecideByLink
from trigger_gateway.approvals.notify_manager import NotifyManager
from trigger_gateway.approvals.read_recipient import ReadRecipient
from trigger_gateway.attachments.manage_attachments import ManageAttachments
from trigger_gateway.audit.record_changes import RecordChanges
from trigger_gateway.databases.assign_databases import AssignDatabases
from trigger_gateway.databases.change_streams import StreamLeases
from trigger_gateway.members.check_manager import CheckManager
from trigger_gateway.members.manage_members import ManageMembers
from trigger_gateway.ports import Adapters, Messaging
from trigger_gateway.robots.routes import Routes
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.robots.steer_robot_canary import SteerRobotCanary
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.robots.track_robot_health import TrackRobotHealth
from trigger_gateway.robots.view_robots import ViewRobots
from trigger_gateway.runs.admit_work import AdmittedTriggers, AdmitWork
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.control_executions import ControlExecutions
from trigger_gateway.runs.control_robots import ControlRobots
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.intervene_robot import InterveneRobot
from trigger_gateway.runs.request_run import RequestRun
from trigger_gateway.runs.retry_execution import RetryExecution
from trigger_gateway.runs.retry_executions import RetryExecutions
from trigger_gateway.secrets.manage_secrets import ManageSecrets
from trigger_gateway.secrets.read_secrets import ReadSecrets
from trigger_gateway.secrets.reseal_secrets import ResealSecrets
from trigger_gateway.settings import Settings
from trigger_gateway.sources.manage_sources import ManageSources
from trigger_gateway.team_removal.remove_team import ClearTeam, PublishRemovals, RemoveTeam
from trigger_gateway.teams.api_keys import KnownKeys
from trigger_gateway.teams.authenticate import Authenticate
from trigger_gateway.teams.manage_teams import ManageTeams
from trigger_gateway.teams.shares import OpenRequests
from trigger_gateway.webhooks.ports import InboundLog
from trigger_gateway.webhooks.rate_limits import RateLimiter
from trigger_gateway.webhooks.receive_webhook import ReceiveWebhook
from trigger_gateway.wiring import new_id


@dataclass(frozen=True, kw_only=True)
class UseCases:
    """What handlers, loops and HTTP endpoints call."""

    authenticate: Authenticate
    teams: ManageTeams
    remove_team: RemoveTeam
    publish_removals: PublishRemovals
    clear_team: ClearTeam
    members: ManageMembers
    people: wiring.PeopleCases
    secrets: ManageSecrets
    read_secrets: ReadSecrets
    reseal_secrets: ResealSecrets
    sources: ManageSources
    view_robots: ViewRobots
    save_robot: SaveRobot
    robot_canary: SteerRobotCanary
    buckets: wiring.BucketCases
    robot_health: TrackRobotHealth
    routes: Routes
    receive_webhook: ReceiveWebhook
    admit_work: AdmitWork
    request_run: RequestRun
    retry_execution: RetryExecution
    retry_executions: RetryExecutions
    intervene_robot: InterveneRobot
    control: ControlExecutions
    control_robots: ControlRobots
    assign_databases: AssignDatabases
    backlogs: Backlogs
    inbound: InboundLog
    stream_leases: StreamLeases
    rates: RateLimiter
    trusted_proxies: tuple[Network, ...]
    attachments: ManageAttachments
    streams: OpenRequests
    calls: OpenRequests
    call_agent: CallTeamAgent
    offered: wiring.OfferedCases
    definitions: wiring.DefinitionCases
    known_keys: KnownKeys
    audit: RecordChanges
    approvals: DecideApprovals
    decide_by_link: DecideByLink
    notify_manager: NotifyManager
    read_recipient: ReadRecipient
    ask: Ask
    live: LiveEvents
    bus: Bus
    clock: Clock
    heartbeat: float

    @classmethod
    def over(
        cls,
        adapters: Adapters,
        messaging: Messaging,
        settings: Settings,
        service: Service,
        *,
        outages: tuple[type[Exception], ...],
    ) -> Self:
        """`outages`: the exceptions of the stores when they are away."""
        clock, shares = service.runtime.clock, settings.shares
        log = logger(service=service.name)
        read_secrets = ReadSecrets(
            secrets=adapters.secrets, operator=adapters.operator_secrets, cipher=adapters.cipher, log=log
        )
        cached_secrets = CachedSecrets(read_secrets.values)
        admit_work = AdmitWork(BusRoom(usage=messaging.usage, degraded=service.degraded))
        patient = AdmittedTriggers(triggers=messaging.triggers, admit=admit_work, patient=True)
        databases = replace(messaging, triggers=patient)
        messaging = replace(messaging, triggers=AdmittedTriggers(triggers=messaging.triggers, admit=admit_work))
        admin_key = settings.admin_key.get_secret_value() if settings.admin_key else None
        routes = Routes(sources=adapters.sources, robots=adapters.robots, clock=clock)
        rates = wiring.rate_limiter(adapters, settings, clock=clock)
        sync = SyncRobots(records=adapters.robots, definitions=adapters.definitions, events=messaging.robot_events)
        backlogs = Backlogs()
        guard = GuardInput(mode=settings.input_guard, max_chars=settings.max_message_chars, log=log)
        save_robot = SaveRobot(
            records=adapters.robots,
            sync=sync,
            routes=routes,
            clock=clock,
            new_id=new_id,
            history=adapters.robot_history,
            allow=shares.robots.allow,
            check=CheckManager(members=adapters.members),
        )
        request_run = RequestRun(
            robots=adapters.robots,
            triggers=messaging.triggers,
            outcomes=messaging.outcomes,
            requests=adapters.requests,
            backlogs=backlogs,
            clock=clock,
            new_id=new_id,
            guard=guard,
        )
        retry_execution = RetryExecution(
            robots=adapters.robots,
            triggers=messaging.triggers,
            outcomes=messaging.outcomes,
            executions=messaging.executions,
            schedule=messaging.schedule,
            backlogs=backlogs,
            clock=clock,
        )
        audit = RecordChanges(
            log=adapters.audit, facts=messaging.audit_facts, clock=clock, new_id=new_id, days=settings.audit_days
        )
        approvals = wiring.approval_cases(adapters, messaging, settings, service, audit=audit)
        control = ControlExecutions(executions=messaging.executions, schedule=messaging.schedule, new_id=new_id)
        people = wiring.people_cases(adapters, settings, service)
        definitions = wiring.definition_cases((adapters, messaging, settings, service), end_files=people.end_files)
        calls = OpenRequests(shares.calls, "calls of agents under way", math.ceil(settings.heartbeat))
        call_agent = CallTeamAgent(
            robots=adapters.robots,
            agents=messaging.agents,
            requests=adapters.requests,
            guard=guard,
            new_id=new_id,
        )
        return cls(
            authenticate=Authenticate(teams=adapters.teams, keys=adapters.keys, admin_key=admin_key or None),
            teams=ManageTeams(
                teams=adapters.teams, keys=adapters.keys, clock=clock, new_id=new_id, new_secret=token_urlsafe
            ),
            remove_team=RemoveTeam(
                teams=adapters.teams,
                keys=adapters.keys,
                sources=adapters.sources,
                forget_routes=routes.forget,
                clock=clock,
            ),
            publish_removals=PublishRemovals(teams=adapters.teams, events=messaging.team_events, clock=clock),
            clear_team=ClearTeam(
                robots=adapters.robots,
                save_robot=save_robot,
                definitions=adapters.definitions,
                own_definitions=adapters.definition_copies,
                files=adapters.attachments,
                records=adapters.attachment_records,
                documents=adapters.team_documents,
            ),
            members=people.manage,
            people=people,
            secrets=ManageSecrets(
                secrets=adapters.secrets,
                operator=adapters.operator_secrets,
                cipher=adapters.cipher,
                clock=clock,
                on_change=cached_secrets.forget,
            ),
            read_secrets=read_secrets,
            reseal_secrets=ResealSecrets(
                secrets=adapters.secrets, sources=adapters.sources, cipher=adapters.cipher, log=log
            ),
            sources=ManageSources(
                sources=adapters.sources,
                on_change=routes.forget,
                cipher=adapters.cipher,
                clock=clock,
                new_bytes=token_bytes,
                own_databases=settings.own_databases,
                allow={SourceKind.WEBHOOK: shares.sources.allow, SourceKind.DATABASE: shares.databases.allow},
            ),
            view_robots=ViewRobots(records=adapters.robots, robot_states=messaging.robot_states),
            save_robot=save_robot,
            robot_canary=SteerRobotCanary(records=adapters.robots, save=save_robot, runs=messaging.judge),
            buckets=wiring.bucket_cases(adapters, sync=sync, copy=definitions.copy),
            robot_health=TrackRobotHealth(
                records=adapters.robots,
                sync=sync,
                clock=clock,
                notify_failed=approvals.notify_manager.of_failure,
                notify_recovered=approvals.notify_manager.of_recovery,
            ),
            routes=routes,
            receive_webhook=wiring.receive_webhook(
                (adapters, messaging, settings, service),
                routes=routes,
                rates=rates,
                secrets=cached_secrets,
                backlogs=backlogs,
                guard=guard,
            ),
            admit_work=admit_work,
            request_run=request_run,
            retry_execution=retry_execution,
            retry_executions=RetryExecutions(schedule=messaging.schedule, retry=retry_execution, clock=clock),
            intervene_robot=InterveneRobot(
                robots=adapters.robots,
                executions=messaging.executions,
                schedule=messaging.schedule,
                requests=adapters.requests,
                request_run=request_run,
                new_id=new_id,
                guard=guard,
            ),
            control=control,
            control_robots=ControlRobots(
                robots=adapters.robots, teams=adapters.teams, save=save_robot, executions=control
            ),
            assign_databases=wiring.assign_databases(
                (adapters, databases, settings, service), routes=routes, backlogs=backlogs, guard=guard, outages=outages
            ),
            backlogs=backlogs,
            inbound=adapters.inbound,
            stream_leases=adapters.stream_leases,
            rates=rates,
            trusted_proxies=networks(settings.trusted_proxies),
            attachments=ManageAttachments(
                files=adapters.attachments,
                records=adapters.attachment_records,
                share=shares.attachments,
                limit=settings.attachment_limit,
                clock=clock,
                new_id=new_id,
            ),
            streams=OpenRequests(shares.streams, "live streams open", math.ceil(settings.heartbeat)),
            calls=calls,
            call_agent=call_agent,
            definitions=definitions,
            offered=wiring.offered_cases((adapters, messaging, settings, service), call_agent=call_agent, calls=calls),
            known_keys=KnownKeys(),
            audit=audit,
            approvals=approvals.decide,
            decide_by_link=approvals.by_link,
            notify_manager=approvals.notify_manager,
            read_recipient=approvals.read_recipient,
            ask=service.ask,
            live=service.live,
            bus=service.bus,
            clock=clock,
            heartbeat=settings.heartbeat,
        )
