"""Deliveries: the executor provides the content, the delivery-center chooses the targets and sends."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode, TriggerType
from rota_contracts.model import Instant, Json, Name, Part, Payload


class DeliveryType(StrEnum):
    EMAIL = "email"
    WEBHOOK = "webhook"
    PROCESS = "process"
    NOTIFY = "notify"


class Attachment(Part):
    """A file that belongs to a result. `file` is a wrapper `__<uploader>://<fileID>`."""

    title: str
    description: str | None = None
    task_id: str | None = None
    file: str = Field(pattern=r"^__[A-Za-z0-9_.-]+://.+$")


class DeliveredTask(Part):
    """A task of the run that a result comes of."""

    id: str
    description: str = Field(description="its beginning")
    status: str = Field(description="as in the execution: completed, failed or skipped; pending if it wasn't begun")
    output: Json = Field(
        default=None, description="of a completed one: JSON where it is JSON, else text; null: it isn't completed"
    )
    truncated: bool = Field(default=False, description="the output is the beginning of a longer one, as text")


class DeliveryContent(Part):
    """The content of a delivery, written by the delivery agent."""

    summary: str = Field(description="one or two sentences")
    body: Text = Field(description="the whole report, markdown")
    attachments: list[Attachment] = []
    result: dict[str, Json] | None = Field(
        default=None, description="the result for programs, in the form of the robot's delivery.schema, if it has one"
    )
    tasks: list[DeliveredTask] = Field(
        default=[], description="in delivery.requested and delivery.completed alone, if delivery.include names them"
    )


class EventOrigin(Part):
    """The event that a result answers."""

    source: str = Field(description="the name of its source")
    type: str | None = Field(default=None, description="for example lead.created")
    id: str = Field(description="the id that its sender gave it")


class DeliveryContext(Part):
    """The origin of a result: its robot, execution and trigger."""

    member_id: Name
    execution_id: str
    trigger_type: TriggerType
    team_id: Name
    trigger_id: str | None = Field(default=None, description="in delivery.requested and delivery.completed alone")
    event: EventOrigin | None = Field(default=None, description="in the same facts, if an event has triggered the run")
    score: float | None = Field(default=None, ge=0, le=1, description="the lowest score of the validated results")
    failed: bool = Field(default=False, description="the run failed, and the content says why")
    rehearsed: bool = Field(default=False, description="canned answers stood in for a model")
    released_by: str | None = Field(
        default=None, description="the id of the key or member that released this result, which failed validation"
    )


class DeliveryRequestedV1(Payload):
    """Published when a run has a result to deliver. The targets are those of the robot's preferences."""

    request_id: str
    content: DeliveryContent
    context: DeliveryContext
    executor_mode: ExecutorMode = ExecutorMode.STANDARD
    event_values: dict[str, str] = Field(
        default={}, description="what the event holds at the fields that the robot's mails take addresses from"
    )
    robot_rev: int | None = Field(default=None, description="the robot's revision of the run; a later one may count")


class ChannelResult(Part):
    """The result of a delivery at one target, so far."""

    type: DeliveryType
    target: str = Field(description="address, URL without its query, process or channel")
    success: bool
    recipients: list[str] = []
    details: Json = None
    error: str | None = None
    sent_at: Instant | None = None
    delivery_id: str = Field(description="the idempotency key for the receiver, the same at every attempt")
    attempts: int = Field(default=1, ge=0)
    final: bool = Field(default=True, description="false: it will be retried")
    target_id: str = Field(default="", description="the same for all deliveries of the team to this target")


class DeliveryResult(Part):
    """The results of a delivery at all its targets."""

    request_id: str
    content: DeliveryContent
    results: list[ChannelResult] = []
    success: bool = Field(description="true if every target was reached, or there is none")
    error: str | None = None
    sent_at: Instant | None = None


class DeliveryAcceptedV1(Payload):
    """Published when a delivery is stored with its first attempts; the execution goes on."""

    request_id: str
    execution_id: str
    result: DeliveryResult


REPLAY_OF = Field(default=None, description="the request that this is a replay of")


class DeliveryCompletedV1(Payload):
    """Published when every target was tried once: the content, and the first outcome at each target."""

    request_id: str
    context: DeliveryContext
    result: DeliveryResult
    replay_of: str | None = REPLAY_OF


class DeliveryAttemptedV1(Payload):
    """Published after each attempt at a target. The result's `error` is null if it succeeded."""

    request_id: str
    context: DeliveryContext
    attempt: int = Field(ge=1)
    result: ChannelResult
    latency_ms: int = Field(ge=0)
    replay_of: str | None = REPLAY_OF


class DeliverySettledV1(Payload):
    """Published when every target of a delivery is final: reached, or given up."""

    request_id: str
    context: DeliveryContext
    results: list[ChannelResult]
    success: bool
    replay_of: str | None = REPLAY_OF


class DeliveryFailedV1(Payload):
    """Published when a target of a delivery is given up; the reason is in its result."""

    request_id: str
    context: DeliveryContext
    result: ChannelResult
    replay_of: str | None = REPLAY_OF


class MayDeliver(Part):
    """Request to the executor, before a result is sent: is it still allowed?"""

    team_id: Name
    execution_id: str
    request_id: str = Field(default="", description="the delivery's; a released result has one of its own")


class Permission(StrEnum):
    ALLOW = "go"
    HOLD = "hold"
    DENY = "stop"


class DeliveryPermission(Part):
    """`hold`: the execution is paused, ask again later. `stop`: it was stopped; `reason` says why."""

    leave: Permission
    reason: str = ""


class ReadDelivery(Part):
    """Request to the delivery-center: read a delivery, by `request_id` or the newest of an execution."""

    team_id: Name
    execution_id: str = ""
    request_id: str = ""
    with_body: bool = Field(default=False, description="only by request_id")


class AttemptDetail(Part):
    """One attempt at one target. `details` is the receiver's answer: of a webhook `{status, body}`, truncated."""

    at: Instant
    ok: bool
    latency_ms: int
    error: str | None = None
    details: Json = None


class TargetDetail(Part):
    """One target: its result so far and every attempt, oldest first."""

    result: ChannelResult
    attempts: list[AttemptDetail] = []
    next_attempt_at: Instant | None = None


class DeliveryReply(Part):
    """`request_id` is null if the team has no such delivery."""

    request_id: str | None = None
    accepted_at: Instant | None = None
    settled: bool = False
    error: str | None = None
    targets: list[TargetDetail] = []
    context: DeliveryContext | None = None
    summary: str = ""
    replay_of: str | None = None
    body: str | None = Field(default=None, description="if it was asked for")
