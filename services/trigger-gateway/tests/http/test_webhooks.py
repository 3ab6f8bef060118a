"""Webhooks: accepted events become triggers, refused ones leave no trace."""

import asyncio
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from rota_common.clock import now
from rota_common.runtime.service import Runtime
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import TRIGGER_RECEIVED
from rota_contracts.ids import event_trigger_id, execution_id
from rota_contracts.messages.trigger import TriggerType

from .harness import HOOK, LEAD, Gateway, error_of, signed
from .scheduler import Scheduler


async def test_a_signed_event_becomes_a_trigger_of_the_subscribed_robot(acme: Gateway) -> None:  # TG-11, TG-12
    answer = await acme.post(headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
    trigger_id = event_trigger_id("acme", "leads", "evt_1", "leader")
    assert answer.status_code == 202
    assert answer.json() == {
        "event_id": "evt_1",
        "triggers": [
            {
                "trigger_id": trigger_id,
                "execution_id": execution_id(trigger_id),
                "member_id": "leader",
                "status_url": f"/v1/teams/acme/triggers/{trigger_id}",
            }
        ],
        "status_url": "/v1/teams/acme/events/leads/evt_1",
        "message": "stored for 1 robot",
    }
    [trigger] = acme.triggers()
    assert (trigger.team_id, trigger.member_id, trigger.trigger_id) == ("acme", "leader", trigger_id)
    assert (trigger.type, trigger.robot_rev) == (TriggerType.EVENT, 1)
    assert (trigger.input.source, trigger.input.event_type) == ("leads", "lead.created")
    assert trigger.input.data == LEAD["data"]
    [event] = acme.bus.facts(TRIGGER_RECEIVED)
    assert event.traceparent.startswith(f"00-{'a' * 32}-")


async def test_the_same_event_twice_is_one_trigger_and_the_same_answer(acme: Gateway) -> None:  # TG-31
    answers = [await acme.post() for _ in range(3)]
    assert {answer.text for answer in answers} == {answers[0].text}
    assert [answer.status_code for answer in answers] == [202, 200, 200]
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true", "true"]
    assert len(acme.triggers()) == 1


async def test_two_events_with_the_same_body_are_two_triggers(acme: Gateway) -> None:
    await acme.post(event_id="evt_1")
    await acme.post(event_id="evt_2")
    assert len(acme.triggers()) == 2


async def test_two_robots_get_a_trigger_each(acme: Gateway) -> None:  # TG-12
    await acme.make_robot("second")
    answer = (await acme.post()).json()
    assert [woken["member_id"] for woken in answer["triggers"]] == ["leader", "second"]
    events = acme.bus.facts(TRIGGER_RECEIVED)
    assert {event.data.trigger_id for event in events} == {woken["trigger_id"] for woken in answer["triggers"]}
    assert len({event.id for event in events}) == 2


async def test_a_disabled_robot_gets_its_trigger_for_the_scheduler_to_refuse(
    acme: Gateway,
) -> None:  # TG-03
    await acme.make_robot("off", triggers={"event": {"enabled": False}})
    await acme.call("PATCH", "/v1/teams/acme/robots/leader", json={"robot_status": "paused"})
    assert len((await acme.post()).json()["triggers"]) == 2


async def test_a_deleted_robot_gets_nothing(acme: Gateway) -> None:  # TG-20
    assert len((await acme.post()).json()["triggers"]) == 1
    await acme.call("DELETE", "/v1/teams/acme/robots/leader")
    assert (await acme.post(event_id="evt_2")).json()["triggers"] == []


async def test_an_event_without_subscribers_is_accepted_with_a_message(acme: Gateway) -> None:
    for number, body in enumerate(({"type": "lead.lost", "data": {}}, {"no": "type"})):
        answer = await acme.post(body, event_id=f"evt_{number}")
        assert (answer.status_code, answer.json()["triggers"]) == (202, []), body
        assert "no robot of the team subscribes" in answer.json()["message"]
    assert acme.triggers() == []


async def test_an_event_that_meets_no_robots_conditions_is_accepted_and_says_so(acme: Gateway) -> None:
    where = {"event_types": ["bid.*"], "conditions": [{"path": "amount", "op": "gt", "value": 50}]}
    await acme.make_robot("bidder", events=[{"type": "webhook", "source": "leads", "filter": where}])
    sent = [await acme.post({"type": "bid.new", "data": {"amount": each}}, event_id=f"e{each}") for each in (50, 51)]
    assert [len(answer.json()["triggers"]) for answer in sent] == [0, 1]
    assert sent[0].json()["message"] == (
        "accepted, but its data doesn't meet the conditions of any robot for type bid.new: nothing will run"
    )


async def test_a_robot_without_a_filter_gets_events_without_a_type_whole(acme: Gateway) -> None:
    await acme.make_robot("all", events=[{"type": "webhook", "source": "leads"}])
    await acme.post({"name": "Ada", "data": 1})
    [trigger] = acme.triggers()
    assert (trigger.member_id, trigger.input.event_type) == ("all", None)
    assert trigger.input.data == {"name": "Ada", "data": 1}


async def test_a_source_may_name_the_field_of_its_type(acme: Gateway) -> None:
    await acme.make_source("crm", event_type_field="event")
    await acme.make_robot("crm", events=[{"type": "webhook", "source": "crm", "filter": {"event_types": ["won"]}}])
    answer = await acme.post({"event": "won", "data": {"deal": 7}}, path="/v1/hooks/acme/crm")
    assert [woken["member_id"] for woken in answer.json()["triggers"]] == ["crm"]
    [trigger] = acme.triggers()
    assert trigger.input.data == {"event": "won", "data": {"deal": 7}}


OTHER = "whsec_" + "b3RoZXIgc2VjcmV0IG9mIHNvbWVib2R5"


def minutes_away(minutes: int) -> dict[str, str]:
    return signed(b"{}", at=datetime.now(UTC) + timedelta(minutes=minutes))


FORGED: dict[str, Callable[[], dict[str, str]]] = {
    "of another secret": lambda: signed(b"{}", secret=OTHER),
    "of another body": lambda: signed(b'{"a": 1}'),
    "six minutes old": lambda: minutes_away(-6),
    "six minutes ahead": lambda: minutes_away(6),
    "not base64": lambda: signed(b"{}") | {"webhook-signature": "v1,%%%"},
    "without a version": lambda: signed(b"{}") | {"webhook-signature": "abc"},
    "of version 2 alone": lambda: signed(b"{}") | {"webhook-signature": "v2,abc"},
    "of no instant": lambda: signed(b"{}") | {"webhook-timestamp": "yesterday"},
    "missing": lambda: {key: value for key, value in signed(b"{}").items() if key != "webhook-signature"},
    "missing with all its headers": dict,
}


async def test_an_event_with_a_wrong_signature_is_refused(acme: Gateway) -> None:  # TG-30, DEC-5
    for name, forge in FORGED.items():
        answer = await acme.http.post(HOOK, content=b"{}", headers=forge())
        assert error_of(answer) == (403, "bad_signature"), name
    assert acme.triggers() == []


async def test_a_body_that_is_no_text_has_a_wrong_signature(acme: Gateway) -> None:
    assert error_of(await acme.http.post(HOOK, content=b"\xff", headers=signed(b"{}"))) == (403, "bad_signature")


async def test_the_same_event_at_two_replicas_at_once_is_one_trigger(acme: Gateway) -> None:
    async with acme.replica() as other:
        answers = await asyncio.gather(*(each.post() for each in (acme, other) * 5))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
    assert len({answer.text for answer in answers}) == 1
    assert len(acme.triggers()) == 1


async def test_of_several_signatures_one_has_to_match(acme: Gateway) -> None:
    right = signed(b"{}")["webhook-signature"]
    answer = await acme.post(b"{}", headers={"webhook-signature": f"v1,{'A' * 43}= {right}"})
    assert answer.status_code == 202


BODIES = {
    "empty": b"",
    "cut off": b'{"type": ',
    "an array": b"[1]",
    "a string": b'"lead"',
    "not a number": b'{"score": NaN}',
    "half a character": b'{"name": "\\ud800"}',
    "nested without end": b'{"a":' + b"[" * 5000,
}


async def test_an_event_that_is_no_json_object_is_refused(acme: Gateway) -> None:  # TG-32
    for name, body in BODIES.items():
        assert error_of(await acme.post(body)) == (400, "malformed_json"), name
    assert acme.triggers() == []


async def test_an_event_of_64_kb_is_accepted_and_one_more_byte_is_not(acme: Gateway) -> None:  # TG-32, DEC-7
    frame = b'{"type":"lead.created","data":{"text":""}}'
    largest = frame.replace(b'""', b'"' + b"x" * (65_536 - len(frame)) + b'"')
    assert (await acme.post(largest)).status_code == 202
    refused = await acme.post(largest + b" ")
    assert error_of(refused) == (413, "too_large")
    assert "at most 65536 bytes, not 65537" in refused.text
    assert error_of(await acme.http.post("/v1/hooks/acme/missing", content=largest + b" ")) == (413, "too_large")
    assert len(acme.triggers()) == 1


async def test_an_event_of_an_unknown_source_is_not_found(acme: Gateway) -> None:
    for path in ("/v1/hooks/acme/other", "/v1/hooks/other/leads", "/v1/hooks/acme/leads/", "/v1/hooks/acme/$where"):
        assert error_of(await acme.post(path=path))[0] == 404
    assert acme.triggers() == []


async def test_an_event_with_too_long_an_id_is_refused(acme: Gateway) -> None:
    assert error_of(await acme.post(event_id="x" * 257)) == (400, "malformed_event")
    assert acme.triggers() == []


async def test_a_source_without_its_secret_is_a_503_that_names_no_variable(acme: Gateway) -> None:
    body = {"name": "crm", "secret": "$ENV.NOWHERE"}
    await acme.call("POST", "/v1/teams/acme/sources", json=body)
    answer = await acme.post(path="/v1/hooks/acme/crm")
    assert error_of(answer) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert "NOWHERE" not in answer.text


async def test_a_deleted_source_is_not_found(acme: Gateway) -> None:
    assert (await acme.post()).status_code == 202
    await acme.call("DELETE", "/v1/teams/acme/sources/leads")
    assert error_of(await acme.post(event_id="evt_2")) == (404, "source_not_found")


async def test_another_replica_learns_of_a_new_robot(acme: Gateway) -> None:
    begun = now()
    still = Runtime(bus=acme.bus, clock=lambda: begun)  # so its cache doesn't expire
    async with acme.replica(runtime=still) as other:
        assert len((await other.post()).json()["triggers"]) == 1  # cached
        await acme.make_robot("second")
        async with asyncio.timeout(PATIENCE_S):
            tries = itertools.count()
            while len((await other.post(event_id=f"try_{next(tries)}")).json()["triggers"]) < 2:
                await asyncio.sleep(0.01)


async def test_an_events_triggers_can_be_followed(acme: Gateway, scheduler: Scheduler) -> None:
    posted = (await acme.post(event_id="odd/id ?")).json()
    [woken] = posted["triggers"]
    async with asyncio.timeout(PATIENCE_S):
        while not scheduler.seen:
            await asyncio.sleep(0.01)
        while (answer := await acme.call("GET", posted["status_url"])).status_code == 404:
            await asyncio.sleep(0.01)
    assert answer.json()["event_id"] == "odd/id ?"
    assert answer.json()["triggers"] == [woken | {"state": "running"}]
    read = (await acme.call("GET", woken["status_url"])).json()
    assert (read["state"], read["execution_id"]) == ("running", woken["execution_id"])
    assert read["execution_url"] == f"/v1/teams/acme/executions/{woken['execution_id']}"


async def test_a_malformed_body_does_not_use_up_the_id(acme: Gateway) -> None:  # DEC-6
    assert error_of(await acme.post(b"{")) == (400, "malformed_json")
    assert (await acme.post()).status_code == 202


async def test_a_repeat_of_an_event_without_subscribers_is_recognised(acme: Gateway) -> None:
    first, again = await acme.post({"type": "other"}), await acme.post({"type": "other"})
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.text == first.text
