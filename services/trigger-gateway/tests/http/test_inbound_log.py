"""The inbound log of a source, and the event of a trigger (F6)."""

import base64
import json
from datetime import timedelta

from rota_common.clock import now
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import SetClock

from .harness import HOOK, LEAD, Gateway, error_of, gateway, settings, signed
from .scheduler import Scheduler

LOG = "/v1/teams/acme/sources/leads/log"


async def test_the_log_shows_accepted_and_refused_events_with_the_reason(acme: Gateway) -> None:  # F6
    await acme.make_source("other")
    posted = (await acme.post()).json()
    await acme.post()
    refused = [await acme.post(event_id="evt_x", headers={"webhook-signature": "v1,AAAA"}) for _ in range(3)]
    await acme.post(b"{", event_id="evt_y")
    await acme.post({"other": "body"})
    answer = await acme.call("GET", LOG)
    assert answer.status_code == 200
    lines = answer.json()["lines"]
    assert {(line["status"], line["reason"], line["count"], line["event_id"]) for line in lines} == {
        ("refused", "event_id_reused", 1, "evt_1"),
        ("refused", "malformed_json", 1, "evt_y"),
        ("refused", "bad_signature", 3, "evt_x"),
        ("accepted", None, 2, "evt_1"),
    }
    of = {line["reason"]: line for line in lines}
    assert of["bad_signature"]["request_id"] == refused[-1].headers["x-request-id"]
    assert of[None]["triggers"] == posted["triggers"]
    assert (of[None]["type"], of[None]["status_url"]) == ("lead.created", posted["status_url"])
    assert "Ada" not in answer.text  # nothing of the body
    assert (await acme.call("GET", "/v1/teams/acme/sources/other/log")).json()["lines"] == []
    assert error_of(await acme.call("GET", "/v1/teams/acme/sources/missing/log")) == (404, "source_not_found")


async def test_the_log_shows_the_owner_the_cause_that_senders_do_not_see(acme: Gateway) -> None:
    raw, at = json.dumps(LEAD).encode(), now()
    forged = "whsec_" + base64.b64encode(b"another secret of some length").decode()
    wrong = {
        "no_match": signed(raw, secret=forged),
        "timestamp_too_old": signed(raw, at=at - timedelta(minutes=10)),
        "timestamp_ahead": signed(raw, at=at + timedelta(minutes=10)),
        "no_signature": signed(raw) | {"webhook-signature": ""},
        "no_id": signed(raw) | {"webhook-id": ""},
        "bad_timestamp": signed(raw) | {"webhook-timestamp": "2026-03-02T09:00:00Z"},
        "no_timestamp": signed(raw) | {"webhook-timestamp": ""},
    }
    answers = [await acme.http.post(HOOK, content=raw, headers=headers) for headers in wrong.values()]
    assert {answer.text for answer in answers} == {answers[0].text}  # one answer for all
    assert error_of(answers[0]) == (403, "bad_signature")
    lines = (await acme.call("GET", LOG)).json()["lines"]
    causes = {line["cause"].partition(":")[0]: line["cause"] for line in lines}
    assert set(causes) == set(wrong)
    old = at - timedelta(minutes=10)
    assert f"sent at {int(old.timestamp())}" in causes["timestamp_too_old"]
    assert "at most 300" in causes["timestamp_too_old"]


async def test_a_body_over_the_limit_is_logged_with_both_figures_and_not_kept() -> None:
    async with gateway(settings(webhook_limit=100, rate_per_address=4)) as acme:
        acme.key = await acme.make_team()
        await acme.make_source()
        assert (await acme.post(b"{}" + b" " * 98)).status_code == 202
        answers = [await acme.post(b"{}" + b" " * 99, event_id="evt_2") for _ in range(5)]
        assert {error_of(answer) for answer in answers} == {(413, "too_large")}
        assert "at most 100 bytes, not 101" in answers[0].text
        of = {line["event_id"]: line for line in (await acme.call("GET", LOG)).json()["lines"]}
        refused = of.pop("evt_2")
        assert (refused["reason"], refused["count"], [*of]) == ("too_large", 3, ["evt_1"])  # the rate's rest
        assert refused["cause"] == "body_size: expected a body of at most 100 bytes, not 101"
        shown = (await acme.call("GET", "/v1/teams/acme/events/leads/evt_2")).json()
        assert (shown["reason"], shown["post"]) == ("too_large", None)


async def test_a_secret_that_is_not_set_is_named_in_the_log_and_not_in_the_answer(acme: Gateway) -> None:
    await acme.make_source("new", secret="$ENV.NOT_SET")
    answer = await acme.post(path="/v1/hooks/acme/new")
    assert error_of(answer) == (503, "unavailable")
    assert "NOT_SET" not in answer.text
    (line,) = (await acme.call("GET", "/v1/teams/acme/sources/new/log")).json()["lines"]
    assert (line["status"], line["reason"], line["count"]) == ("refused", "unavailable", 1)
    assert line["cause"].startswith("no_secret: $ENV.NOT_SET: ")
    assert "rota secrets set NOT_SET" in line["cause"]


async def test_the_log_is_read_page_by_page() -> None:
    bus, clock = InMemoryBus(), SetClock(now())
    async with gateway(bus=bus, runtime=Runtime(bus=bus, clock=clock)) as acme:
        acme.key = await acme.make_team()
        await acme.make_source()
        for number in range(5):
            clock.forward(1)
            await acme.post(event_id=f"evt_{number}")
        pages = [(await acme.call("GET", f"{LOG}?page={page}&page_size=2")).json() for page in (1, 2, 3)]
    assert [[line["event_id"] for line in page["lines"]] for page in pages] == [
        ["evt_4", "evt_3"],
        ["evt_2", "evt_1"],
        ["evt_0"],
    ]
    assert [page["more"] for page in pages] == [True, True, False]


async def test_the_log_is_not_for_other_teams(acme: Gateway) -> None:  # TG-23
    other = await acme.make_team("other")
    assert error_of(await acme.call("GET", LOG, key=other)) == (403, "foreign_team")


async def test_a_trigger_shows_its_event(acme: Gateway, scheduler: Scheduler) -> None:  # F6
    posted = (await acme.post(event_id="odd/id ?")).json()
    read = (await acme.call("GET", posted["triggers"][0]["status_url"])).json()
    given = read["event"]
    assert (given["source"], given["event_id"], given["type"]) == ("leads", "odd/id ?", "lead.created")
    assert given["status_url"] == posted["status_url"]
    wanted = {"type": "event", "source": "leads"}
    by_hand = await acme.call("POST", "/v1/teams/acme/robots/leader/trigger", json=wanted)
    assert (await acme.call("GET", by_hand.json()["status_url"])).json()["event"] is None


async def test_an_events_repeats_are_counted(acme: Gateway, scheduler: Scheduler) -> None:
    posted, *_ = [(await acme.post()).json() for _ in range(3)]
    read = (await acme.call("GET", posted["status_url"])).json()
    assert (read["status"], read["repeats"]) == ("accepted", 2)
    assert read["last_at"] >= read["received_at"]


async def test_an_event_of_an_unwanted_type_is_dropped_with_a_202(acme: Gateway) -> None:
    await acme.make_source("crm", event_types=["lead.*"])
    await acme.make_robot("all", events=[{"type": "webhook", "source": "crm"}])
    path = "/v1/hooks/acme/crm"
    wanted, unwanted = await acme.post(path=path), await acme.post({"type": "ping"}, event_id="e2", path=path)
    assert len(wanted.json()["triggers"]) == 1
    assert unwanted.status_code == 202  # an error would make some senders give the address up
    assert (unwanted.json()["triggers"], "not accepted" in unwanted.json()["message"]) == ([], True)
    lines = (await acme.call("GET", "/v1/teams/acme/sources/crm/log")).json()["lines"]
    assert {(line["status"], line["reason"], line["event_id"]) for line in lines} == {
        ("accepted", None, "evt_1"),
        ("refused", "unwanted_type", "e2"),
    }
