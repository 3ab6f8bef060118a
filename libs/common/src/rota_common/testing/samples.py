"""A robot and a trigger as tests want them, and a clock that a test sets."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rota_contracts.messages.trigger import TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
"""A Monday."""

TEAM, MEMBER = "acme", "ann"


class SetClock:
    """Stands still until it is moved."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def forward(self, seconds: float) -> datetime:
        self.at += timedelta(seconds=seconds)
        return self.at


def a_robot(*, config: dict[str, Any] | None = None, **fields: Any) -> Robot:
    """`config` is laid over a robot_config that has only an identity; `fields` over the member record."""
    duties, rules = ["Score leads", "Report the best"], ["Never invent figures"]
    identity = {"role": "Sales Analyst", "duties": duties, "rules": rules}
    robot = {"team_id": TEAM, "member_id": MEMBER, "robot_config": {"identity": identity, **(config or {})}}
    return Robot.model_validate(robot | fields)


def a_trigger(
    trigger_id: str = "t1", type: TriggerType | str = TriggerType.EVENT, *, at: datetime = NOON, **fields: Any
) -> TriggerReceivedV1:
    """An event by default; a clock trigger gets its clock context, a person's its words."""
    given: dict[TriggerType, TriggerInput] = {
        TriggerType.CLOCK: TriggerInput(clock=clock_context(at)),
        TriggerType.HUMAN: TriggerInput.model_validate(
            {"action": "task.add", "messages": [{"content": "Look at Globex"}]}
        ),
    }
    event = TriggerInput(source="leads", event_type="lead.created", data={"company": "Globex"})
    kind = TriggerType(type)
    base = {"trigger_id": trigger_id, "team_id": TEAM, "member_id": MEMBER, "type": kind, "received_at": at}
    return TriggerReceivedV1.model_validate({**base, "input": given.get(kind, event), **fields})
