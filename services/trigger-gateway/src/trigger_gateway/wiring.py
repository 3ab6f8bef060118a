"""The wiring of use cases that have many parts."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import uuid4

from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_common.runtime.service import Service
from rota_common.team_secrets import TeamSecrets
from rota_contracts.streams import DEFINITIONS_BUCKET, ROBOTS_BUCKET
from trigger_gateway.agents.ask_agent import AskAgent
from trigger_gateway.agents.call_team_agent import CallTeamAgent
from trigger_gateway.approvals.decide_approvals import DecideApprovals
from trigger_gateway.approvals.decide_by_link import DecideByLink
from trigger_gateway.approvals.link import ApprovalLinks
from trigger_gateway.approvals.notify_manager import NotifyManager
from trigger_gateway.approvals.read_recipient import ReadRecipient
from trigger_gateway.audit.record_changes import RecordChanges
from trigger_gateway.copies.refill_bucket import RefillBucket
from trigger_gateway.databases.assign_databases import AssignDatabases
from trigger_gateway.databases.read_changes import ReadChanges
from trigger_gateway.definitions.apply_definitions import ApplyDefinitions
from trigger_gateway.definitions.copy_definitions import CopyDefinitions
from trigger_gateway.definitions.executors_seen import ExecutorsSeen
from trigger_gateway.definitions.forget_definitions import ForgetDefinitions
from trigger_gateway.definitions.ports import DefinitionCopies, DefinitionStore
from trigger_gateway.definitions.steer_canary import SteerCanary
from trigger_gateway.definitions.write_head import WriteHead
from trigger_gateway.members.end_files import EndFiles
from trigger_gateway.members.manage_members import ManageMembers
from trigger_gateway.members.person_of import PersonOf
from trigger_gateway.offered.find_offered import FindOffered
from trigger_gateway.ports import Adapters, Messaging
from trigger_gateway.robots.routes import Routes
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.follow_execution import FollowExecution
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.settings import Settings
from trigger_gateway.sources.verify_sender import VerifySender
from trigger_gateway.teams.shares import OpenRequests, allow_all
from trigger_gateway.webhooks.answer_message import AnswerMessage
from trigger_gateway.webhooks.ingest_event import IngestEvent
from trigger_gateway.webhooks.rate_limits import RateLimiter, RateLimits
from trigger_gateway.webhooks.receive_webhook import InFlightLimit, ReceiveWebhook


@dataclass(frozen=True, kw_only=True)
class ApprovalCases:
    """Everything about approvals."""

    decide: DecideApprovals
    by_link: DecideByLink
    notify_manager: NotifyManager
    read_recipient: ReadRecipient


def approval_cases(
    adapters: Adapters, messaging: Messaging, settings: Settings, service: Service, *, audit: RecordChanges
) -> ApprovalCases:
    clock, members, robots = service.runtime.clock, adapters.members, adapters.robots
    links = ApprovalLinks(signer=adapters.link_signer, base_url=settings.public_url)
    decide = DecideApprovals(approvals=messaging.approvals)
    return ApprovalCases(
        decide=decide,
        by_link=DecideByLink(links=links, members=members, robots=robots, approvals=decide, audit=audit, clock=clock),
        notify_manager=NotifyManager(members=members, robots=robots, notices=messaging.notices, clock=clock),
        read_recipient=ReadRecipient(members=members, robots=robots, links=links),
    )


def rate_limiter(adapters: Adapters, settings: Settings, *, clock: Clock) -> RateLimiter:
    return RateLimiter(
        store=adapters.rates,
        clock=clock,
        limits=RateLimits(
            per_address=settings.rate_per_address,
            per_source=settings.rate_per_source,
            per_team=settings.rate_per_team,
            failed_keys=settings.failed_keys_per_address,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class OfferedCases:
    """What programs outside find, ask and follow. `base_url` is where they reach the gateway; empty: by the address of
    their request."""

    find: FindOffered
    ask: AskAgent
    follow: FollowExecution
    base_url: str


def offered_cases(
    given: tuple[Adapters, Messaging, Settings, Service], *, call_agent: CallTeamAgent, calls: OpenRequests
) -> OfferedCases:
    adapters, messaging, settings, service = given
    return OfferedCases(
        find=FindOffered(robots=adapters.robots, agents=messaging.agents),
        ask=AskAgent(call_agent=call_agent, share=calls),
        follow=FollowExecution(executions=messaging.executions, schedule=messaging.schedule, live=service.live),
        base_url=settings.public_url,
    )


@dataclass(frozen=True, kw_only=True)
class PeopleCases:
    """Everything about members who are people."""

    manage: ManageMembers
    person_of: PersonOf
    end_files: EndFiles


def people_cases(adapters: Adapters, settings: Settings, service: Service) -> PeopleCases:
    members, end_files = adapters.members, EndFiles(ask=service.ask, log=logger(service=service.name))
    return PeopleCases(
        manage=ManageMembers(
            members=members,
            robots=adapters.robots,
            clock=service.runtime.clock,
            end_files=end_files,
            allow=settings.shares.members.allow,
        ),
        person_of=PersonOf(members=members),
        end_files=end_files,
    )


@dataclass(frozen=True, kw_only=True)
class BucketCases:
    """The buckets that hold copies for other services."""

    robots: RefillBucket
    definitions: RefillBucket


def bucket_cases(adapters: Adapters, *, sync: SyncRobots, copy: CopyDefinitions) -> BucketCases:
    def bucket(name: str, forget: Callable[[], Awaitable[None]], copy: Callable[[], Awaitable[bool]]) -> RefillBucket:
        return RefillBucket(
            name=name, buckets=adapters.buckets, filled=adapters.filled_buckets, forget=forget, copy=copy
        )

    return BucketCases(
        robots=bucket(ROBOTS_BUCKET, adapters.robots.forget_synced, sync.sweep),
        definitions=bucket(DEFINITIONS_BUCKET, adapters.definition_store.forget_copied, copy.sweep),
    )


@dataclass(frozen=True, kw_only=True)
class DefinitionCases:
    """Everything about a team's agents, connectors, MCP servers and skills."""

    store: DefinitionStore
    copies: DefinitionCopies
    copy: CopyDefinitions
    apply: ApplyDefinitions
    canary: SteerCanary
    forget: ForgetDefinitions
    executors: ExecutorsSeen


def definition_cases(given: tuple[Adapters, Messaging, Settings, Service], *, end_files: EndFiles) -> DefinitionCases:
    adapters, messaging, settings, service = given
    store, copies, clock = adapters.definition_store, adapters.definition_copies, service.runtime.clock
    copy, judge = CopyDefinitions(store=store, copies=copies), messaging.judge
    write = WriteHead(store=store, copy=copy, end_files=end_files, allow=settings.shares.definitions.allow)
    return DefinitionCases(
        store=store,
        copies=copies,
        copy=copy,
        apply=ApplyDefinitions(store=store, write=write, judge=judge, clock=clock),
        canary=SteerCanary(store=store, write=replace(write, allow=allow_all), judge=judge, clock=clock),
        forget=ForgetDefinitions(store=store, copies=copies, clock=clock, keep=timedelta(days=settings.keep_days)),
        executors=ExecutorsSeen(),
    )


def receive_webhook(
    given: tuple[Adapters, Messaging, Settings, Service],
    *,
    routes: Routes,
    rates: RateLimiter,
    backlogs: Backlogs,
    guard: GuardInput,
    secrets: TeamSecrets,
) -> ReceiveWebhook:
    adapters, messaging, settings, service = given
    clock, at_once = service.runtime.clock, settings.webhooks_at_once
    return ReceiveWebhook(
        routes=routes,
        rates=rates,
        verify=VerifySender(secrets=secrets, cipher=adapters.cipher, clock=clock, service=service.name),
        ingest=IngestEvent(
            rates=rates, triggers=messaging.triggers, log=adapters.inbound, backlogs=backlogs, guard=guard
        ),
        answer=AnswerMessage(robots=adapters.robots, agents=messaging.agents, requests=adapters.requests, guard=guard),
        log=adapters.inbound,
        clock=clock,
        new_id=new_id,
        posts=InFlightLimit(at_once),
        messages=InFlightLimit(max(1, at_once // 10)),  # their answers take long
    )


def assign_databases(
    given: tuple[Adapters, Messaging, Settings, Service],
    *,
    routes: Routes,
    backlogs: Backlogs,
    guard: GuardInput,
    outages: tuple[type[Exception], ...],
) -> AssignDatabases:
    adapters, messaging, settings, service = given
    read = ReadChanges(
        databases=adapters.databases,
        leases=adapters.stream_leases,
        routes=routes,
        triggers=messaging.triggers,
        backlogs=backlogs,
        inbound=adapters.inbound,
        secrets=adapters.operator_secrets,
        own_databases=settings.own_databases,
        clock=service.runtime.clock,
        random=service.runtime.random,
        service=service.name,
        outages=outages,
        guard=guard,
    )
    return AssignDatabases(
        sources=adapters.sources,
        leases=adapters.stream_leases,
        read=read,
        random=service.runtime.random,
        owner=new_id(),
        service=service.name,
    )


def new_id() -> str:
    return str(uuid4())
