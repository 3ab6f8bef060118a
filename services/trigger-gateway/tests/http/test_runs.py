"""Interventions and manual triggers: stored, then answered with the decision of the scheduler."""

from datetime import UTC, datetime
from time import monotonic
from typing import Any

import pytest

from rota_contracts.ids import derived_id, execution_id, request_trigger_id
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, RejectReason, TriggerType

from .harness import Gateway, error_of, fields_of
from .scheduler import Scheduler

INTERVENE = "/v1/teams/acme/robots/leader/intervene"
TRIGGER = "/v1/teams/acme/robots/leader/trigger"
pytestmark = pytest.mark.usefixtures("executor")

TASK: dict[str, Any] = {"action": "task.add", "messages": [{"role": "user", "content": "Prepare materials."}]}


@pytest.mark.parametrize("action", ["task.add", "goal.add", "instruct"])
async def test_an_intervention_is_admitted_and_answered_with_its_execution(
    acme: Gateway, scheduler: Scheduler, action: str
) -> None:  # TG-06, TG-14, TG-15
    body = TASK | {"action": action, "executor_mode": "dryrun", "locale": "de-DE"}
    answer = await acme.call("POST", INTERVENE, json=body)
    assert answer.status_code == 202
    [trigger] = scheduler.seen
    assert answer.json() == {
        "execution_id": execution_id(trigger.trigger_id),
        "trigger_id": trigger.trigger_id,
        "status": "pending",
        "message": "queued",
        "status_url": f"/v1/teams/acme/triggers/{trigger.trigger_id}",
    }
    assert (trigger.type, trigger.input.action) == (TriggerType.HUMAN, InterventionAction(action))
    assert [message.text() for message in trigger.input.messages] == ["Prepare materials."]
    assert (trigger.executor_mode, trigger.locale) == (ExecutorMode.DRYRUN, "de-DE")


async def test_a_refused_intervention_is_answered_with_the_schedulers_reason(
    acme: Gateway, scheduler: Scheduler
) -> None:  # TG-03, TG-04
    scheduler.refuses = RejectReason.ACTION_NOT_ALLOWED
    answer = await acme.call("POST", INTERVENE, json=TASK)
    assert error_of(answer) == (409, "action_not_allowed")
    assert answer.json()["error"]["message"] == "no: action_not_allowed"


async def test_without_a_scheduler_a_request_is_stored_and_pending_within_a_second(acme: Gateway) -> None:
    took = list[float]()
    for _ in range(3):
        begun = monotonic()
        answer = await acme.call("POST", INTERVENE, json=TASK)
        took.append(monotonic() - begun)
    assert min(took) < 1  # however busy the machine is now and then
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")
    events = acme.triggers()
    assert len(events) == len(took)
    assert events[-1].trigger_id == answer.json()["trigger_id"]
    assert answer.json()["execution_id"] == execution_id(events[-1].trigger_id)


@pytest.mark.parametrize("header", ["idempotency-key", "x-idempotency-key", None])
async def test_a_repeat_with_the_same_key_is_one_run(
    acme: Gateway, scheduler: Scheduler, header: str | None
) -> None:  # TG-31, DEC-6
    headers, body = ({header: "k1"}, TASK) if header else ({}, TASK | {"request_id": "k1"})
    first = await acme.call("POST", INTERVENE, json=body, headers=headers)
    again = await acme.call("POST", INTERVENE, json=body, headers=headers)
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["execution_id"] == first.json()["execution_id"]
    assert again.json()["status"] == "running"
    assert len(scheduler.seen) == 1


async def test_the_same_key_with_another_request_is_refused(acme: Gateway, scheduler: Scheduler) -> None:  # DEC-6
    headers = {"idempotency-key": "k1"}
    await acme.call("POST", INTERVENE, json=TASK, headers=headers)
    other = TASK | {"action": "goal.add"}
    assert error_of(await acme.call("POST", INTERVENE, json=other, headers=headers)) == (409, "idempotency_key_reused")
    assert len(scheduler.seen) == 1


async def test_a_request_of_the_time_before_its_ids_had_a_word_of_their_own_is_still_known(
    acme: Gateway, scheduler: Scheduler
) -> None:
    former = derived_id("trigger", "acme", "leader", "request", "k1")
    body, headers = {"type": "event", "data": {"a": 1}}, {"idempotency-key": "k1"}
    first = await acme.call("POST", TRIGGER, json=body, headers=headers)
    store = acme.adapters.requests
    known = await store.recall(request_trigger_id("acme", "leader", "k1"))
    assert known is not None
    await store.remember(former, known.digest)
    again = await acme.call("POST", TRIGGER, json=body, headers=headers)
    assert again.json()["execution_id"] == execution_id(former) != first.json()["execution_id"]


async def test_requests_are_the_same_when_they_are_equal_as_json(acme: Gateway, scheduler: Scheduler) -> None:
    body: dict[str, Any] = {"type": "event", "data": {"a": 1, "b": 2}}
    headers = {"idempotency-key": "k1"}
    first = await acme.call("POST", TRIGGER, json=body, headers=headers)
    again = await acme.call("POST", TRIGGER, json=body | {"data": {"b": 2.0, "a": 1}}, headers=headers)
    other = await acme.call("POST", TRIGGER, json=body | {"data": {"b": 2, "a": True}}, headers=headers)
    assert (first.status_code, again.status_code, other.status_code) == (202, 200, 409), again.text
    assert len(scheduler.seen) == 1


async def test_a_repeat_of_a_refused_request_is_refused_again(acme: Gateway, scheduler: Scheduler) -> None:
    scheduler.refuses = RejectReason.QUEUE_FULL
    for _ in range(2):
        answer = await acme.call("POST", INTERVENE, json=TASK, headers={"idempotency-key": "k1"})
        assert answer.status_code == 409
        assert answer.json()["error"]["message"] == "no: queue_full"
    assert len(scheduler.seen) == 1


async def test_requests_without_a_key_are_runs_of_their_own(acme: Gateway, scheduler: Scheduler) -> None:
    answers = [(await acme.call("POST", INTERVENE, json=TASK)).json() for _ in range(2)]
    assert answers[0]["trigger_id"] != answers[1]["trigger_id"]


WRONG: list[tuple[dict[str, Any], str, str]] = [
    (TASK | {"action": "task.cancel"}, "invalid_request", "task.id"),
    (TASK | {"action": "plan.add", "messages": []}, "invalid_request", "messages"),
    (TASK | {"action": "plan.add", "execution_id": "e1"}, "invalid_request", "execution_id"),
    (TASK | {"action": "dance"}, "invalid_request", "action"),
    (TASK | {"plan_time": "2030-01-01T09:00:00Z"}, "invalid_request", "plan_time"),
    (TASK | {"action": "plan.add", "plan_time": "2030-01-01T09:00:00"}, "invalid_request", "plan_time"),
    (TASK | {"task": {"descripton": "x"}}, "invalid_request", "task.descripton"),
    (TASK | {"messages": []}, "invalid_request", "messages"),
    (TASK | {"messages": [{"role": "user", "content": ""}]}, "invalid_request", "messages"),
    (TASK | {"executor_mode": "fast"}, "invalid_request", "executor_mode"),
    (TASK | {"mesages": []}, "invalid_request", "mesages"),
]


async def test_a_wrong_intervention_is_refused_with_its_field(acme: Gateway) -> None:
    for body, code, field in WRONG:
        answer = await acme.call("POST", INTERVENE, json=body)
        assert error_of(answer) == (422, code), body
        assert list(fields_of(answer)) == [field], body
    assert acme.triggers() == []


async def test_an_intervention_needs_an_existing_robot(acme: Gateway) -> None:
    await acme.make_robot("gone")
    await acme.call("DELETE", "/v1/teams/acme/robots/gone")
    for member in ("missing", "gone"):
        answer = await acme.call("POST", f"/v1/teams/acme/robots/{member}/intervene", json=TASK)
        assert error_of(answer) == (404, "robot_not_found")
    assert acme.triggers() == []


async def test_a_manual_clock_trigger_has_the_time_of_the_robot(acme: Gateway, scheduler: Scheduler) -> None:  # TG-13
    zone = {"mode": "times", "times": ["09:00"], "tz": "Asia/Shanghai"}
    await acme.make_robot("clock", clock=zone)
    answer = await acme.call("POST", "/v1/teams/acme/robots/clock/trigger", json={"type": "clock"})
    assert answer.status_code == 202
    [trigger] = scheduler.seen
    assert trigger.type is TriggerType.CLOCK
    assert trigger.input.clock is not None
    assert trigger.input.clock.tz == "Asia/Shanghai"
    assert trigger.input.clock.hour == (datetime.now(UTC).hour + 8) % 24


async def test_a_manual_event_carries_its_data(acme: Gateway, scheduler: Scheduler) -> None:  # TG-11, TG-13
    body = {"type": "event", "source": "leads", "event_type": "lead.created", "data": {"name": "Ada"}}
    assert (await acme.call("POST", TRIGGER, json=body)).status_code == 202
    [trigger] = scheduler.seen
    given = trigger.input
    assert (given.source, given.event_type, given.data) == ("leads", "lead.created", {"name": "Ada"})


async def test_a_wrong_manual_trigger_is_refused_with_its_field(acme: Gateway) -> None:
    for body, field in (
        ({"type": "callback"}, "type"),
        ({}, "type"),
        ({"type": "human"}, "messages"),
        ({"type": "event", "data": []}, "data"),
    ):
        assert list(fields_of(await acme.call("POST", TRIGGER, json=body))) == [field], body
    assert acme.triggers() == []


async def test_an_unknown_trigger_has_the_state_unknown(acme: Gateway, scheduler: Scheduler) -> None:
    read = await acme.call("GET", "/v1/teams/acme/triggers/none")
    assert (read.status_code, read.json()["state"]) == (200, "unknown")


async def test_without_a_scheduler_reading_a_trigger_is_a_503(acme: Gateway) -> None:
    answer = await acme.call("GET", "/v1/teams/acme/triggers/none")
    assert error_of(answer) == (503, "unavailable")
    assert answer.json()["error"]["message"] == "the scheduler doesn't answer now"
    assert int(answer.headers["retry-after"]) > 0
