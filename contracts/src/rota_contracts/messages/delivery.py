"""Delivering a result: the executor hands over content, the delivery-center decides where it goes (DC-01)."""

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
    """DC-04. `file` is a wrapper `__<uploader>://<fileID>`."""

    title: str
    description: str | None = None
    task_id: str | None = None
    file: str = Field(pattern=r"^__[A-Za-z0-9_.-]+://.+$")


class DeliveryContent(Part):
    """What the delivery agent wrote (DC-03)."""

    summary: str = Field(description="one or two sentences")
    body: Text = Field(description="the whole report, markdown")
    attachments: list[Attachment] = []


class DeliveryContext(Part):
    """DC-06: whose result this is."""

    member_id: Name
    execution_id: str
    trigger_type: TriggerType
    team_id: Name
    score: float | None = Field(default=None, ge=0, le=1, description="the lowest of the validated results behind it")


class DeliveryRequestedV1(Payload):
    """A result to deliver (DC-02). There is no channels field: the robot's preferences decide where it goes."""

    request_id: str
    content: DeliveryContent
    context: DeliveryContext
    executor_mode: ExecutorMode = ExecutorMode.STANDARD


class ChannelResult(Part):
    """DC-14: how one target fared, so far."""

    type: DeliveryType
    target: str = Field(description="address, URL without its query, process or channel")
    success: bool
    recipients: list[str] = []
    details: Json = None
    error: str | None = None
    sent_at: Instant | None = None
    delivery_id: str = Field(description="same at every attempt: the receiver's idempotency key")
    attempts: int = Field(default=1, ge=0)
    final: bool = Field(default=True, description="false: it will be tried again")
    target_id: str = Field(default="", description="the same for all deliveries of the team to this place")


class DeliveryResult(Part):
    """DC-13."""

    request_id: str
    content: DeliveryContent
    results: list[ChannelResult] = []
    success: bool = Field(description="every target has been reached; true if there is none")
    error: str | None = None
    sent_at: Instant | None = None


class DeliveryAcceptedV1(Payload):
    """The delivery-center has stored the delivery with its first attempts; the execution may go on."""

    request_id: str
    execution_id: str
    result: DeliveryResult


REPLAY_OF = Field(default=None, description="the request whose result is sent once more, on purpose")


class DeliveryCompletedV1(Payload):
    """For the outside world: the content and the first outcome at every target."""

    request_id: str
    context: DeliveryContext
    result: DeliveryResult
    replay_of: str | None = REPLAY_OF


class DeliveryAttemptedV1(Payload):
    """One attempt at one target. `error` is empty when it succeeded."""

    request_id: str
    context: DeliveryContext
    attempt: int = Field(ge=1)
    result: ChannelResult
    latency_ms: int = Field(ge=0)
    replay_of: str | None = REPLAY_OF


class DeliverySettledV1(Payload):
    """Every target is final: reached, or given up."""

    request_id: str
    context: DeliveryContext
    results: list[ChannelResult]
    success: bool
    replay_of: str | None = REPLAY_OF


class DeliveryFailedV1(Payload):
    """One target was given up; the reason is in its result."""

    request_id: str
    context: DeliveryContext
    result: ChannelResult
    replay_of: str | None = REPLAY_OF


class MayDeliver(Part):
    """Question to the executor, before anything is sent: may this execution's result still go out?"""

    team_id: Name
    execution_id: str


class Permission(StrEnum):
    ALLOW = "go"
    HOLD = "hold"
    DENY = "stop"


class DeliveryPermission(Part):
    """`hold`: the execution is paused, ask again later. `stop`: it was stopped; `reason` says by what."""

    leave: Permission
    reason: str = ""


class ReadDelivery(Part):
    """Question to the delivery-center: how has a delivery fared? By `request_id`, or the newest of an execution."""

    team_id: Name
    execution_id: str = ""
    request_id: str = ""


class AttemptDetail(Part):
    """One attempt at one target. `details`: what the receiver said: of a webhook `{status, body}`, its beginning."""

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
    """`request_id` is None when this team has no such delivery."""

    request_id: str | None = None
    accepted_at: Instant | None = None
    settled: bool = False
    error: str | None = None
    targets: list[TargetDetail] = []
    context: DeliveryContext | None = None
    summary: str = ""
    replay_of: str | None = None
