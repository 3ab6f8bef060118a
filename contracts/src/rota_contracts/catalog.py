"""The catalog: every channel with its publishers, consumers and stream, and every question, one line each."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from rota_contracts.messages import (
    activity,
    agent,
    approval,
    attachment,
    audit,
    backlog,
    callback,
    control,
    definition,
    delivery,
    delivery_log,
    execution,
    executor_capacity,
    goal_merge,
    learning,
    memory,
    notice,
    notification,
    parking,
    plan,
    provider,
    quarantine,
    replay,
    retry,
    robot_check,
    robot_facts,
    robot_state,
    run_trace,
    run_trail,
    secrets,
    spend,
    targets,
    team_facts,
    trigger,
    validation,
    workspace,
)
from rota_contracts.model import Part, Payload
from rota_contracts.upcasting import Upcaster

P = TypeVar("P", bound=Payload)
Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)

ROOT = "rota.v1"
ANYONE = "anyone"
FEED = "DELIVERIES"
"""The stream that programs outside read."""
SERVICES = ("trigger-gateway", "scheduler", "executor", "validator", "delivery-center", "learner", "memory")


@dataclass(frozen=True)
class Channel(Generic[P]):
    """A fact: `rota.v<version>.<noun>.<past-tense verb>.<team>.<member>`. `stream` is None if it is not stored.

    `name`: noun and verb, with the version from the second on: `execution.finished.v2`. A version with an `upcaster` is
    read by services that know nothing of the one before.
    """

    name: str
    payload: type[P]
    stream: str | None
    producers: frozenset[str]
    consumers: frozenset[str]
    version: int = 1
    upcaster: Upcaster[P] | None = None

    def __post_init__(self) -> None:
        older = self.upcaster.older if self.upcaster else None
        if older is not None and (older.fact, older.version) != (self.fact, self.version - 1):
            raise ValueError(f"expected an upcaster of the version before {self.type}, got one of {older.type}")

    @property
    def fact(self) -> str:
        """Noun and verb, the same in all versions."""
        return self.name if self.version == 1 else self.name.removesuffix(f".v{self.version}")

    @property
    def schema(self) -> str:
        """The name of the file with its schema."""
        return f"{self.fact}.v{self.version}.json"

    @property
    def type(self) -> str:
        """The CloudEvents type: noun, verb and version, as in the subject."""
        return f"rota.v{self.version}.{self.fact}"

    @property
    def sequenced(self) -> bool:
        """True for the feed, whose facts are numbered by subject."""
        return self.stream == FEED

    @property
    def pattern(self) -> str:
        """The filter subject of its consumers."""
        return f"{self.type}.*.*"

    @property
    def summary(self) -> str:
        return (self.payload.__doc__ or "").strip().split("\n")[0]

    def subject(self, team: str, member: str) -> str:
        return f"{self.type}.{team}.{member}"

    def durable(self, service: str) -> str:
        """The name of a service's durable consumer of this channel."""
        return f"{service}-{self.name.replace('.', '-')}"


@dataclass(frozen=True)
class Question(Generic[Q, A]):
    """A request that one service answers: `rota.v1.rpc.<service>.<verb>`. `timeout` in seconds."""

    name: str
    request: type[Q]
    answer: type[A]
    answered_by: str
    asked_by: frozenset[str]
    timeout: float

    @property
    def subject(self) -> str:
        return f"{ROOT}.rpc.{self.name}"


CHANNELS: dict[str, Channel[Payload]] = {}
QUESTIONS: dict[str, Question[Part, Part]] = {}


def channel(
    fact: str,
    payload: type[P],
    *,
    stream: str | None,
    producers: str,
    consumers: str,
    version: int = 1,
    upcaster: Upcaster[P] | None = None,
) -> Channel[P]:
    name = fact if version == 1 else f"{fact}.v{version}"
    parties = frozenset(producers.split()), frozenset(consumers.split())
    made = Channel(name, payload, stream, *parties, version, upcaster)
    CHANNELS[name] = made  # type: ignore[assignment]  # a dict can't say that each value has its own payload
    return made


def question(
    verb: str, request: type[Q], answer: type[A], *, to: str, asked_by: str, timeout: float = 5
) -> Question[Q, A]:
    made = Question(f"{to.replace('-', '_')}.{verb}", request, answer, to, frozenset(asked_by.split()), timeout)
    QUESTIONS[made.name] = made  # type: ignore[assignment]  # as above
    return made


# fmt: off
TRIGGER_RECEIVED     = channel("trigger.received",     trigger.TriggerReceivedV1,          stream="TRIGGERS",   producers="trigger-gateway", consumers="scheduler")
TRIGGER_ADMITTED     = channel("trigger.admitted",     trigger.TriggerAdmittedV1,          stream="FACTS",      producers="scheduler",       consumers="anyone")
TRIGGER_REJECTED     = channel("trigger.rejected",     trigger.TriggerRejectedV1,          stream="FACTS",      producers="scheduler",       consumers="anyone")
TRIGGER_MISSED       = channel("trigger.missed",       trigger.TriggerMissedV1,            stream="FACTS",      producers="scheduler",       consumers="anyone")
BACKLOG_REPORTED     = channel("backlog.reported",     backlog.BacklogReportedV1,          stream=None,         producers="scheduler",       consumers="trigger-gateway")
ROBOT_CHANGED        = channel("robot.changed",        robot_facts.RobotChangedV1,         stream="FACTS",      producers="trigger-gateway", consumers="executor memory anyone")
ROBOT_DELETED        = channel("robot.deleted",        robot_facts.RobotDeletedV1,         stream="FACTS",      producers="trigger-gateway", consumers="scheduler executor delivery-center learner memory anyone")
ROBOT_FAILED         = channel("robot.failed",         robot_facts.RobotFailedV1,          stream="FACTS",      producers="scheduler",       consumers="trigger-gateway anyone")
ROBOT_RECOVERED      = channel("robot.recovered",      robot_facts.RobotRecoveredV1,       stream="FACTS",      producers="scheduler",       consumers="trigger-gateway anyone")
TARGET_DISABLED      = channel("target.disabled",      targets.TargetDisabledV1,           stream="FACTS",      producers="delivery-center", consumers="anyone")
TARGET_ENABLED       = channel("target.enabled",       targets.TargetEnabledV1,            stream="FACTS",      producers="delivery-center", consumers="anyone")
NOTIFICATION_POSTED  = channel("notification.posted",  notification.NotificationPostedV1,  stream="FACTS",      producers="delivery-center", consumers="anyone")
EXECUTION_REQUESTED  = channel("execution.requested",  execution.ExecutionRequestedV1,     stream="EXECUTIONS", producers="scheduler",       consumers="executor")
EXECUTION_STARTED    = channel("execution.started",    execution.ExecutionStartedV1,       stream="EXECUTIONS", producers="executor",        consumers="scheduler")
EXECUTION_PARKED     = channel("execution.parked",     parking.ExecutionParkedV1,          stream="EXECUTIONS", producers="executor",        consumers="scheduler trigger-gateway")
EXECUTION_RESUMABLE  = channel("execution.resumable",  parking.ExecutionResumableV1,       stream="EXECUTIONS", producers="executor",        consumers="scheduler")
EXECUTION_INTERVENED = channel("execution.intervened", control.ExecutionIntervenedV1,      stream="EXECUTIONS", producers="executor",        consumers="anyone")
EXECUTION_FINISHED   = channel("execution.finished",   execution.ExecutionFinishedV1,      stream="EXECUTIONS", producers="executor",        consumers="scheduler")
VALIDATION_REQUESTED = channel("validation.requested", validation.ValidationRequestedV1,   stream="EXECUTIONS", producers="executor",        consumers="validator")
VALIDATION_COMPLETED = channel("validation.completed", validation.ValidationCompletedV1,   stream="EXECUTIONS", producers="validator",       consumers="executor")
DELIVERY_REQUESTED   = channel("delivery.requested",   delivery.DeliveryRequestedV1,       stream="EXECUTIONS", producers="executor",        consumers="delivery-center")
DELIVERY_ACCEPTED    = channel("delivery.accepted",    delivery.DeliveryAcceptedV1,        stream="EXECUTIONS", producers="delivery-center", consumers="executor")
DELIVERY_ATTEMPTED   = channel("delivery.attempted",   delivery.DeliveryAttemptedV1,       stream="DELIVERIES", producers="delivery-center", consumers="anyone")
DELIVERY_COMPLETED   = channel("delivery.completed",   delivery.DeliveryCompletedV1,       stream="DELIVERIES", producers="delivery-center", consumers="anyone")
DELIVERY_SETTLED     = channel("delivery.settled",     delivery.DeliverySettledV1,         stream="DELIVERIES", producers="delivery-center", consumers="anyone")
DELIVERY_FAILED      = channel("delivery.failed",      delivery.DeliveryFailedV1,          stream="DELIVERIES", producers="delivery-center", consumers="anyone")
LEARNING_REQUESTED   = channel("learning.requested",   learning.LearningRequestedV1,       stream="EXECUTIONS", producers="executor",        consumers="learner")
LEARNING_COMPLETED   = channel("learning.completed",   learning.LearningCompletedV1,       stream="EXECUTIONS", producers="learner",         consumers="executor")
PLAN_CHANGED         = channel("plan.changed",         plan.PlanChangedV1,                 stream="FACTS",      producers="scheduler",       consumers="anyone")
APPROVAL_REQUESTED   = channel("approval.requested",   approval.ApprovalRequestedV1,       stream="FACTS",      producers="executor",        consumers="trigger-gateway anyone")
APPROVAL_DECIDED     = channel("approval.decided",     approval.ApprovalDecidedV1,         stream="FACTS",      producers="executor",        consumers="anyone")
NOTICE_REQUESTED     = channel("notice.requested",     notice.NoticeRequestedV1,           stream="FACTS",      producers="trigger-gateway", consumers="delivery-center")
QUARANTINE_DECIDED   = channel("quarantine.decided",   quarantine.QuarantineDecidedV1,     stream="FACTS",      producers="executor",        consumers="anyone")
CONTROL_GIVEN        = channel("control.given",        control.ControlGivenV1,             stream=None,         producers="executor",        consumers="executor delivery-center")
EXECUTOR_REPORTED    = channel("executor.reported",    executor_capacity.ExecutorReportedV1,        stream=None,         producers="executor",        consumers="scheduler trigger-gateway")
TEAM_REMOVED         = channel("team.removed",         team_facts.TeamRemovedV1,          stream="FACTS",      producers="trigger-gateway", consumers="trigger-gateway scheduler executor delivery-center learner memory")
AUDIT_RECORDED       = channel("audit.recorded",       audit.AuditRecordedV1,              stream="FACTS",      producers="trigger-gateway", consumers="anyone")
MODEL_CALLED         = channel("model.called",         spend.ModelCalledV1,                stream=None,         producers="executor",        consumers="anyone")
ANSWER_PIECE         = channel("answer.piece",         agent.AnswerPieceV1,                stream=None,         producers="executor",        consumers="trigger-gateway")
ACTIVITY             = channel("activity.observed",    activity.ActivityV1,                stream=None,         producers="executor",        consumers="anyone")

READ_TRIGGER    = question("read_trigger",    execution.ReadTrigger,    execution.TriggerReply,      to="scheduler", asked_by="trigger-gateway")
LIST_RETRYABLE  = question("list_retryable",  retry.ListRetryable,      retry.RetryablePage,         to="scheduler", asked_by="trigger-gateway")
READ_ROBOTS     = question("read_robots",     robot_state.ReadRobots,      robot_state.RobotsReply,        to="scheduler", asked_by="trigger-gateway")
LIST_WAITING    = question("list_waiting",    goal_merge.ListWaiting,      goal_merge.WaitingPage,      to="scheduler", asked_by="executor")
MERGE_INTO      = question("merge_into",      goal_merge.MergeInto,        goal_merge.MergeReply,             to="scheduler", asked_by="executor")
CHECK_SLOTS     = question("check_slots",     executor_capacity.CheckSlots,      executor_capacity.SlotsReply,      to="executor",  asked_by="scheduler")
CALL_BACK       = question("call_back",       callback.CallBack,        callback.CallbackReply,        to="executor",  asked_by="trigger-gateway")
READ_EXECUTION  = question("read_execution",  execution.ReadExecution,  execution.ExecutionReply,    to="executor",  asked_by="trigger-gateway")
LIST_EXECUTIONS = question("list_executions", execution.ListExecutions, execution.ExecutionPage, to="executor",  asked_by="trigger-gateway")
CALL_AGENT      = question("call_agent",      agent.CallAgent,          agent.AgentReply,        to="executor",  asked_by="validator learner trigger-gateway", timeout=agent.DEFAULT_TIMEOUT_S)
CHECK_RULES     = question("check_rules",     validation.CheckRules,    validation.RulesReply,    to="validator", asked_by="executor")
CHECK_GOALS     = question("check_goals",     learning.CheckGoals,      learning.GoalsReply,      to="learner",   asked_by="executor", timeout=60)
REPLAY          = question("replay",          replay.ReplayExecution, replay.ReplayReply, to="executor", asked_by="trigger-gateway", timeout=30)
READ_TRAIL      = question("read_trail",      run_trail.ReadTrail,    run_trail.TrailReply,       to="executor", asked_by="trigger-gateway", timeout=30)
READ_TRACE      = question("read_trace",      run_trace.ReadTrace,    run_trace.TraceReply,       to="executor", asked_by="trigger-gateway", timeout=30)
CHECK_ROBOT     = question("check_robot",     robot_check.CheckRobot,   robot_check.RobotProblems, to="executor", asked_by="trigger-gateway")
CHECK_DEFINITIONS = question("check_definitions", definition.CheckDefinitions, definition.DefinitionProblems, to="executor", asked_by="trigger-gateway")
COUNT_RUNS      = question("count_runs",      definition.CountRuns,     definition.RunCounts,    to="executor", asked_by="trigger-gateway", timeout=30)
LIST_PROVIDERS  = question("list_providers",  provider.ListProviders,   provider.ProviderList,   to="executor", asked_by="trigger-gateway")
TEST_CONNECTOR  = question("test_connector",  provider.TryConnector,    provider.TryConnectorReply, to="executor", asked_by="trigger-gateway", timeout=provider.TEST_TIMEOUT_S)
LIST_AGENTS     = question("list_agents",     provider.ListAgents,      provider.AgentList,      to="executor", asked_by="trigger-gateway")
LIST_CALLS      = question("list_calls",      agent.ListCalls,          agent.CallList,          to="executor", asked_by="trigger-gateway")
ABORT_CALLS     = question("abort_calls",     agent.AbortCalls,         agent.AbortedCalls,      to="executor", asked_by="trigger-gateway")
READ_SPEND      = question("read_spend",      spend.ReadSpend,        spend.SpendReply,         to="executor", asked_by="trigger-gateway", timeout=30)
CONTROL         = question("control",         control.Control,          control.ControlReply,         to="executor",  asked_by="trigger-gateway")
INTERVENE       = question("intervene",       control.Intervene,        control.InterveneReply,         to="executor",  asked_by="trigger-gateway")
LIST_APPROVALS  = question("list_approvals",  approval.ListApprovals,   approval.ApprovalPage,   to="executor",  asked_by="trigger-gateway")
READ_APPROVAL   = question("read_approval",   approval.ReadApproval,    approval.ApprovalReply,  to="executor",  asked_by="trigger-gateway")
DECIDE_APPROVAL = question("decide_approval", approval.DecideApproval,  approval.ApprovalReply,  to="executor",  asked_by="trigger-gateway")
LIST_QUARANTINE = question("list_quarantine", quarantine.ListQuarantine, quarantine.QuarantinePage, to="executor", asked_by="trigger-gateway")
READ_QUARANTINED = question("read_quarantined", quarantine.ReadQuarantined, quarantine.QuarantineReply, to="executor", asked_by="trigger-gateway")
DECIDE_QUARANTINED = question("decide_quarantined", quarantine.DecideQuarantined, quarantine.QuarantineReply, to="executor", asked_by="trigger-gateway")
MAY_DELIVER     = question("may_deliver",     delivery.MayDeliver,      delivery.DeliveryPermission,     to="executor",  asked_by="delivery-center")
READ_DELIVERY   = question("read_delivery",   delivery.ReadDelivery,    delivery.DeliveryReply,      to="delivery-center", asked_by="trigger-gateway")
LIST_DELIVERIES = question("list_deliveries", delivery_log.ListDeliveries,    delivery_log.DeliveryPage,    to="delivery-center", asked_by="trigger-gateway")
REPLAY_DELIVERIES = question("replay_deliveries", delivery_log.ReplayDeliveries, delivery_log.ReplayDeliveriesReply, to="delivery-center", asked_by="trigger-gateway", timeout=15)
RETRY_DELIVERIES = question("retry_deliveries", delivery_log.RetryDeliveries, delivery_log.RetryDeliveriesReply, to="delivery-center", asked_by="trigger-gateway", timeout=15)
LIST_TARGETS    = question("list_targets",    targets.ListTargets,      targets.TargetPage,      to="delivery-center", asked_by="trigger-gateway")
SWITCH_TARGET   = question("switch_target",   targets.SwitchTarget,     targets.TargetPage,      to="delivery-center", asked_by="trigger-gateway")
SUPPRESS        = question("suppress",        targets.Suppress,         targets.SuppressionPage, to="delivery-center", asked_by="trigger-gateway")
UNSUPPRESS      = question("unsuppress",      targets.Unsuppress,       targets.SuppressionPage, to="delivery-center", asked_by="trigger-gateway")
LIST_SUPPRESSIONS = question("list_suppressions", targets.ListSuppressions, targets.SuppressionPage, to="delivery-center", asked_by="trigger-gateway")
SUBSCRIBE       = question("subscribe",       notification.Subscribe,   notification.SubscriptionPage, to="delivery-center", asked_by="trigger-gateway")
UNSUBSCRIBE     = question("unsubscribe",     notification.Unsubscribe, notification.SubscriptionPage, to="delivery-center", asked_by="trigger-gateway")
LIST_SUBSCRIPTIONS = question("list_subscriptions", notification.ListSubscriptions, notification.SubscriptionPage, to="delivery-center", asked_by="trigger-gateway")
WITHDRAW        = question("withdraw",        control.Withdraw,         control.WithdrawReply,         to="scheduler", asked_by="trigger-gateway")
CHANGE_PLAN     = question("change_plan",     plan.ChangePlan,          plan.ChangePlanReply,           to="scheduler", asked_by="trigger-gateway")
LIST_PLANS      = question("list_plans",      plan.ListPlans,           plan.PlanPage,           to="scheduler", asked_by="trigger-gateway executor")
REMEMBER        = question("remember",        memory.Remember,          memory.RememberReply,          to="memory",    asked_by="learner", timeout=10)
RECALL          = question("recall",          memory.Recall,            memory.RecallReply,            to="memory",    asked_by="executor validator")
SHARE           = question("share",           memory.Share,             memory.ShareReply,              to="memory",    asked_by="trigger-gateway", timeout=10)
UNSHARE         = question("unshare",         memory.Unshare,           memory.ForgetReply,           to="memory",    asked_by="trigger-gateway", timeout=10)
SEARCH_SHARED   = question("search_shared",   memory.SearchShared,      memory.SearchSharedReply,      to="memory",    asked_by="trigger-gateway")
READ_SECRETS    = question("read_secrets",    secrets.ReadSecrets,      secrets.SecretsReply,         to="trigger-gateway", asked_by="delivery-center executor", timeout=2)
READ_RECIPIENT  = question("read_recipient",  notice.ReadRecipient,     notice.RecipientReply,       to="trigger-gateway", asked_by="delivery-center", timeout=2)
RESERVE_ATTACHMENT = question("reserve_attachment", attachment.ReserveAttachment, attachment.ReserveReply, to="trigger-gateway", asked_by="executor", timeout=2)
FORGET          = question("forget",          memory.Forget,            memory.ForgetReply,           to="memory",    asked_by="learner", timeout=10)
LIST_LESSONS    = question("list_lessons",    learning.ListLessons,     learning.LessonPage,          to="learner",   asked_by="trigger-gateway")
FORGET_LESSONS  = question("forget_lessons",  learning.ForgetLessons,   learning.ForgetLessonsReply,  to="learner",   asked_by="trigger-gateway", timeout=15)
WRITE_FILE      = question("write_file",      workspace.WriteFile,      workspace.FileReply,          to="memory",    asked_by="executor trigger-gateway")
READ_FILE       = question("read_file",       workspace.ReadFile,       workspace.FileReply,          to="memory",    asked_by="executor trigger-gateway")
LIST_FILES      = question("list_files",      workspace.ListFiles,      workspace.FileList,           to="memory",    asked_by="executor trigger-gateway")
DELETE_FILE     = question("delete_file",     workspace.DeleteFile,     workspace.FileReply,          to="memory",    asked_by="executor trigger-gateway")
SEED_FILES      = question("seed_files",      workspace.SeedFiles,      workspace.SeededFiles,        to="memory",    asked_by="executor")
FORGET_FILES    = question("forget_files",    workspace.ForgetFiles,    workspace.ForgottenFiles,     to="memory",    asked_by="trigger-gateway", timeout=15)
# fmt: on


def process_subject(team: str, name: str) -> str:
    """The subject of a team's process: `rota.v1.process.<team>.<name>`; the name may hold dots."""
    return f"{ROOT}.process.{team}.{name}"


AGENT_CALLS = f"{ROOT}.agent.*.>"
"""The subjects of all teams' calls of agents."""


def agent_subject(team: str, agent: str) -> str:
    """The subject on which a team's program calls an agent: `rota.v1.agent.<team>.<agent>`; the id may hold dots."""
    return f"{ROOT}.agent.{team}.{agent}"


def dead_subject(subject: str) -> str:
    """The subject of dead letters from this subject."""
    return f"{ROOT}.dead.{subject}"
