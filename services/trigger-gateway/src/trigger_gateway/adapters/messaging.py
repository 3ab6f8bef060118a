"""All messages and questions of the gateway, over its bus."""

from rota_common.bus.room import NatsUsage
from rota_common.runtime.service import Service
from trigger_gateway.adapters.nats_approvals import NatsApprovals, NatsNotices
from trigger_gateway.adapters.nats_audit import NatsAuditFacts
from trigger_gateway.adapters.nats_definition_copies import NatsDefinitionJudge
from trigger_gateway.adapters.nats_definitions import NatsRobotEvents
from trigger_gateway.adapters.nats_questions import NatsAgents, NatsExecutions, NatsSchedule
from trigger_gateway.adapters.nats_team_events import NatsTeamEvents
from trigger_gateway.adapters.nats_triggers import NatsOutcomes, NatsTriggers
from trigger_gateway.ports import Messaging


def messaging(service: Service) -> Messaging:
    schedule = NatsSchedule(service.ask)
    return Messaging(
        triggers=NatsTriggers(service.bus, service.publish),
        outcomes=NatsOutcomes(service.bus, service.live, ask=service.ask),
        executions=NatsExecutions(service.ask),
        schedule=schedule,
        robot_states=schedule,
        robot_events=NatsRobotEvents(service.bus, service.publish),
        team_events=NatsTeamEvents(service.bus, service.publish),
        agents=NatsAgents(service.ask),
        usage=NatsUsage(service.bus),
        audit_facts=NatsAuditFacts(service.bus, service.publish),
        approvals=NatsApprovals(service.ask),
        judge=NatsDefinitionJudge(service.ask),
        notices=NatsNotices(service.publish),
    )
