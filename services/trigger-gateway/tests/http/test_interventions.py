"""Interventions in running executions and in the plan, and the actions that a robot allows."""

from typing import Any

import pytest

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.plan import PlanState
from rota_contracts.messages.trigger import InterventionAction

from .harness import Gateway, error_of, fields_of
from .scheduler import Scheduler
from .stand_ins import Executor
from .test_runs import INTERVENE

PLANS = "/v1/teams/acme/plans"
WORDS = [{"role": "user", "content": "Ask for Friday instead."}]
SAYS: dict[str, Any] = {"action": "instruct", "messages": WORDS}
NOON = "2030-01-01T12:00:00Z"

COMPLETE: list[dict[str, Any]] = [
    {"action": "task.add", "task": {"description": "Call Ada", "executor_type": "mcp", "args": [1]}},
    {"action": "task.update", "task": {"id": "task-1", "expected_output": "a number"}},
    {"action": "task.cancel", "task": {"id": "task-2"}},
    {"action": "goal.adjust", "messages": WORDS, "goal": "Goal 1"},
    {"action": "goal.add", "messages": WORDS},
    {"action": "goal.complete", "goal": "Goal 2"},
    {"action": "goal.cancel", "messages": WORDS},
    SAYS,
]


async def test_an_intervention_goes_to_the_running_execution(
    acme: Gateway, executor: Executor
) -> None:  # TG-06, TG-07, DEC-35
    executor.give("over", status=ExecStatus.COMPLETED)
    executor.give("e1", status=ExecStatus.WAITING)
    for body in COMPLETE:
        executor.words.clear()
        answer = await acme.call("POST", INTERVENE, json=body)
        [given] = executor.words
        assert answer.status_code == 202, body
        assert answer.json() == {
            "execution_id": "e1",
            "intervention_id": given.intervention_id,
            "status": "waiting",
            "message": "accepted; the execution applies it at its next step",
            "status_url": "/v1/teams/acme/executions/e1",
        }
        whose = {"intervention_id", "team_id", "member_id"}
        sent = given.model_dump(mode="json", exclude_defaults=True, exclude=whose)
        assert (sent["action"], sent.get("task"), sent.get("goal")) == (
            body["action"],
            body.get("task"),
            body.get("goal"),
        )
        contents = [message["content"] for message in sent.get("messages", [])]
        assert contents == [each["content"] for each in body.get("messages", [])]
    assert acme.triggers() == []  # and no run of its own


async def test_an_intervention_may_carry_images(acme: Gateway, executor: Executor) -> None:  # TG-08
    executor.give("e1")
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
    answer = await acme.call("POST", INTERVENE, json=SAYS | {"messages": [{"role": "user", "content": parts}]})
    assert answer.status_code == 202
    assert executor.words[0].messages[0].content == parts


async def test_a_request_may_follow_an_execution(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:  # EX-93
    message = {"messages": [{"role": "user", "content": "Also prepare similar case studies"}], "follows": "e0"}
    by_hand = "/v1/teams/acme/robots/leader/trigger"
    assert (await acme.call("POST", INTERVENE, json=SAYS | message)).status_code == 202
    assert (await acme.call("POST", by_hand, json={"type": "human", **message})).status_code == 202
    assert [trigger.input.follows for trigger in acme.triggers()] == ["e0", "e0"]
    wrong = {
        by_hand: {"type": "event", "event_type": "lead.created", **message},
        INTERVENE: {"action": "goal.adjust", **message},
    }
    for path, body in wrong.items():
        assert "follows" in fields_of(await acme.call("POST", path, json=body))


async def test_pictures_and_files_that_no_model_takes_are_refused_with_the_reason(
    acme: Gateway,
) -> None:  # TG-08
    file = "__rota.attachment://" + "a" * 32
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, "expected an attachment"),
        ({"type": "image_url", "image_url": {"url": "ftp://example.com/a.png"}}, "also an address (https://…)"),
        ({"type": "file", "file": {"file_id": "../../etc/passwd"}}, "expected an attachment"),
        ({"type": "file", "file": {"file_id": "__other.uploader://abcdefgh"}}, "expected an attachment"),
        ({"type": "input_audio", "input_audio": {"data": "/etc/passwd?"}}, "expected an attachment"),
        ({"type": "image_url"}, "expected a part of type image_url with its image_url"),
        ({"type": "video", "video": file}, "expected parts of type text, image_url, input_audio or file, not video"),
    ]
    missed = []
    for part, reason in wrong:
        body = {"type": "human", "messages": [{"role": "user", "content": [part]}]}
        answer = await acme.call("POST", "/v1/teams/acme/robots/leader/trigger", json=body)
        [field] = answer.json()["error"].get("fields", [{}])
        if answer.status_code != 422 or reason not in field.get("message", ""):
            missed.append((part, answer.text))
    assert missed == []
    many = [{"type": "image_url", "image_url": {"url": f"__rota.attachment://{n:032}"}} for n in range(11)]
    body = {"type": "human", "messages": [{"role": "user", "content": many}]}
    answer = await acme.call("POST", "/v1/teams/acme/robots/leader/trigger", json=body)
    assert "expected at most 10 pictures and files, not 11" in answer.text


async def test_what_an_execution_has_no_room_for_is_refused_with_the_reason(acme: Gateway, executor: Executor) -> None:
    executor.give("e1")
    long = SAYS | {"messages": [{"role": "user", "content": "x" * 30_000}] * 10}
    answer = await acme.call("POST", INTERVENE, json=long)
    assert error_of(answer) == (413, "too_large")
    assert "256 KB" in answer.json()["error"]["message"]
    executor.full = "it has got all that it may"
    refused = await acme.call("POST", INTERVENE, json=SAYS)
    paused = await acme.call("POST", "/v1/teams/acme/executions/e1/pause")
    for each in (refused, paused):
        assert error_of(each) == (409, "inbox_full")
        assert "all that it may" in each.json()["error"]["message"]
    assert (await acme.call("POST", "/v1/teams/acme/executions/e1/stop")).status_code == 202


async def test_mode_and_locale_are_for_a_run_that_starts_and_never_dropped(acme: Gateway, executor: Executor) -> None:
    own = SAYS | {"executor_mode": "dryrun", "locale": "de-DE"}  # TG-06
    assert (await acme.call("POST", INTERVENE, json=own)).status_code == 202
    [trigger] = acme.triggers()
    assert (trigger.executor_mode, trigger.locale) == ("dryrun", "de-DE")
    executor.give("e1")
    answer = await acme.call("POST", INTERVENE, json=own)
    assert error_of(answer) == (409, "execution_begun")
    assert "executor_mode, locale can't change any more" in answer.json()["error"]["message"]
    named = await acme.call("POST", INTERVENE, json=own | {"execution_id": "e1"})
    assert list(fields_of(named)) == ["executor_mode", "locale"]
    assert executor.words == []


async def test_a_paused_execution_applies_an_intervention_when_it_is_resumed(acme: Gateway, executor: Executor) -> None:
    executor.give("e1", status=ExecStatus.PAUSED)
    answer = (await acme.call("POST", INTERVENE, json=SAYS)).json()
    assert (answer["status"], "when it is resumed" in answer["message"]) == ("paused", True)


async def test_one_of_several_running_executions_has_to_be_chosen(acme: Gateway, executor: Executor) -> None:  # DEC-35
    executor.give("e1", "e2")
    executor.give("e3", member="second")
    answer = await acme.call("POST", INTERVENE, json=SAYS)
    assert error_of(answer) == (409, "several_executions")
    assert answer.json()["error"]["fields"] == [{"field": "execution_id", "message": "expected one of e1, e2"}]
    chosen = await acme.call("POST", INTERVENE, json=SAYS | {"execution_id": "e2"})
    assert (chosen.status_code, chosen.json()["execution_id"]) == (202, "e2")


async def test_changing_a_run_needs_a_running_one(acme: Gateway, executor: Executor) -> None:  # DEC-35
    needing = {"task.cancel", "task.update", "goal.adjust", "goal.complete", "goal.cancel"}
    for body in (each for each in COMPLETE if each["action"] in needing):
        answer = await acme.call("POST", INTERVENE, json=body)
        assert error_of(answer) == (409, "nothing_under_way"), body
        assert "no execution of this robot is running" in answer.text
        assert "task.add, goal.add, instruct start one" in answer.text
    assert acme.triggers() == []


async def test_a_finished_or_unknown_execution_accepts_no_intervention(acme: Gateway, executor: Executor) -> None:
    executor.give("over", status=ExecStatus.FAILED)
    over = await acme.call("POST", INTERVENE, json=SAYS | {"execution_id": "over"})
    assert error_of(over) == (409, "execution_over")
    assert "over is failed" in over.text
    unknown = await acme.call("POST", INTERVENE, json=SAYS | {"execution_id": "e9"})
    assert error_of(unknown) == (404, "execution_not_found")
    assert acme.triggers() == []


async def test_a_task_without_a_message_starts_a_run_with_its_description(
    acme: Gateway, executor: Executor, scheduler: Scheduler
) -> None:
    body = {"action": "task.add", "task": {"description": "Call Ada"}}
    assert (await acme.call("POST", INTERVENE, json=body)).status_code == 202
    assert [message.text() for message in scheduler.seen[0].input.messages] == ["Call Ada"]
    exact = {"description": "Call Ada", "executor_type": "mcp", "executor_id": "crm.call"}
    refused = await acme.call("POST", INTERVENE, json=body | {"task": exact})
    assert error_of(refused) == (409, "nothing_under_way")
    assert "without task.executor_type, task.executor_id, or once an execution has begun" in refused.text
    assert len(scheduler.seen) == 1


async def test_a_repeat_with_the_same_key_is_one_intervention(acme: Gateway, executor: Executor) -> None:
    executor.give("e1")
    headers = {"idempotency-key": "k1"}
    first = await acme.call("POST", INTERVENE, json=SAYS, headers=headers)
    executor.give("e2")  # the repeat doesn't choose anew
    again = await acme.call("POST", INTERVENE, json=SAYS, headers=headers)
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json() == first.json() | {"message": "this request was made before"}
    assert len(executor.words) == 1
    other = SAYS | {"action": "goal.add"}
    assert error_of(await acme.call("POST", INTERVENE, json=other, headers=headers)) == (409, "idempotency_key_reused")


async def test_a_repeated_start_is_no_intervention_in_the_run_it_started(
    acme: Gateway, executor: Executor, scheduler: Scheduler
) -> None:
    headers = {"idempotency-key": "k1"}
    first = (await acme.call("POST", INTERVENE, json=SAYS, headers=headers)).json()
    executor.give(first["execution_id"])
    again = await acme.call("POST", INTERVENE, json=SAYS, headers=headers)
    assert (again.status_code, again.json()["execution_id"]) == (200, first["execution_id"])
    assert executor.words == []
    assert len(scheduler.seen) == 1


@pytest.mark.parametrize("body", [SAYS, SAYS | {"execution_id": "e1"}, {"action": "plan.add", "messages": WORDS}])
async def test_an_action_that_the_robot_does_not_allow_is_refused_for_runs_and_plans(
    acme: Gateway, executor: Executor, scheduler: Scheduler, body: dict[str, Any]
) -> None:  # TG-03, TG-04
    executor.give("e1", member="strict")
    executor.give("e2", member="closed")
    await acme.make_robot("strict", triggers={"intervene": {"actions": ["task.add", "goal.adjust"]}})
    await acme.make_robot("closed", triggers={"intervene": {"enabled": False}})
    strict = await acme.call("POST", "/v1/teams/acme/robots/strict/intervene", json=body)
    assert error_of(strict) == (409, "action_not_allowed")
    assert f"expected one of the actions task.add, goal.adjust, not {body['action']}" in strict.text
    closed = await acme.call("POST", "/v1/teams/acme/robots/closed/intervene", json=body)
    assert error_of(closed) == (409, "trigger_disabled")
    assert (executor.words, scheduler.changes) == ([], [])
    assert acme.triggers() == []


async def test_without_an_executor_no_run_is_started(acme: Gateway) -> None:
    answer = await acme.call("POST", INTERVENE, json=SAYS)
    assert error_of(answer) == (503, "unavailable")
    assert answer.json()["error"]["message"] == "the executor doesn't answer now"
    assert acme.triggers() == []


async def test_a_plan_is_made_changed_listed_and_removed(acme: Gateway, scheduler: Scheduler) -> None:  # TG-07, TG-09
    body = {"action": "plan.add", "messages": WORDS, "plan_time": NOON, "executor_mode": "dryrun"}
    made = await acme.call("POST", INTERVENE, json=body)
    plan_id = made.json()["plan_id"]
    assert made.status_code == 202
    assert made.json() == {
        "plan_id": plan_id,
        "state": "planned",
        "plan_time": NOON,
        "message": "planned",
        "status_url": "/v1/teams/acme/plans?member_id=leader",
    }
    assert scheduler.changes[0].executor_mode == "dryrun"
    listed = (await acme.call("GET", made.json()["status_url"])).json()["items"]
    assert [each["plan_id"] for each in listed] == [plan_id]
    assert (await acme.call("GET", PLANS, params={"member_id": "second"})).json()["items"] == []
    later = {"action": "plan.update", "plan_id": plan_id, "plan_time": "2030-01-02T12:00:00Z"}
    assert (await acme.call("POST", INTERVENE, json=later)).json()["plan_time"] == "2030-01-02T12:00:00Z"
    gone = await acme.call("POST", INTERVENE, json={"action": "plan.remove", "plan_id": plan_id})
    assert (gone.status_code, gone.json()["state"]) == (202, PlanState.REMOVED)


async def test_a_plan_with_a_key_is_made_once(acme: Gateway, scheduler: Scheduler) -> None:
    body = {"action": "plan.add", "messages": WORDS, "request_id": "k1"}
    first, again = [await acme.call("POST", INTERVENE, json=body) for _ in range(2)]
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["plan_id"] == again.json()["plan_id"]
    assert len(scheduler.plans) == 1
    other = await acme.call("POST", INTERVENE, json=body | {"request_id": "k2"})
    assert other.json()["plan_id"] != first.json()["plan_id"]


async def test_a_plan_that_is_unknown_or_cannot_be_changed_is_refused(acme: Gateway, scheduler: Scheduler) -> None:
    remove = {"action": "plan.remove", "plan_id": "p9"}
    unknown = await acme.call("POST", INTERVENE, json=remove)
    assert error_of(unknown) == (404, "plan_not_found")
    assert "GET /v1/teams/acme/plans" in unknown.text
    scheduler.refuses_plans = "plan p9 has started: it can't be removed any more"
    refused = await acme.call("POST", INTERVENE, json=remove)
    assert error_of(refused) == (409, "plan_refused")
    assert refused.json()["error"]["message"] == scheduler.refuses_plans


async def test_a_wrong_query_of_plans_is_refused_with_its_fields(acme: Gateway) -> None:
    query = {"member_id": "a.b", "limit": 0}
    assert set(fields_of(await acme.call("GET", PLANS, params=query))) == set(query)


def test_every_action_is_tried_here() -> None:  # TG-07
    tried = {each["action"] for each in COMPLETE} | {"plan.add", "plan.update", "plan.remove"}
    assert tried == set(InterventionAction)
