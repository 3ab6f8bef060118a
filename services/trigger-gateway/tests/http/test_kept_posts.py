"""Headers and bodies of posts: shown to a team's admins, without credentials."""

import json
from urllib.parse import urlencode

from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryInboundLog
from trigger_gateway.webhooks.posts import PostLimits

from .harness import ENVIRON, LEAD, SECRETS_KEY, Gateway, error_of, gateway
from .scheduler import Scheduler

EVENTS = "/v1/teams/acme/events/leads"
TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


async def test_admins_see_headers_and_body_and_others_the_event_alone(acme: Gateway, scheduler: Scheduler) -> None:
    posted = (await acme.post(headers={"user-agent": "shop/2"})).json()
    keys = {role: await acme.make_key(role) for role in ("viewer", "member", "admin", "owner")}
    read = {role: (await acme.call("GET", posted["status_url"], key=key)).json() for role, key in keys.items()}
    for role in ("viewer", "member"):
        assert (read[role]["event_id"], read[role]["post"]) == ("evt_1", None)
        assert "role admin" in read[role]["no_post"]
    assert read["admin"] == read["owner"]
    post = read["admin"]["post"]
    assert (json.loads(post["body"]), post["size"], post["cut"]) == (LEAD, len(post["body"]), False)
    assert (post["headers"]["user-agent"], post["headers"]["webhook-id"]) == ("shop/2", "evt_1")


async def test_credentials_are_not_shown_wherever_a_post_has_them(acme: Gateway, scheduler: Scheduler) -> None:
    body = {"type": "lead.created", "data": {"name": "Ada", "api_key": "hunter2-hunter2", "note": f"use {TOKEN}"}}
    hidden = {
        "authorization": "Bearer abc.def.ghi1",
        "cookie": "session=s3cr3t",
        "x-api-key": "k-12345",
        "x-shop-hmac-sha256": "aGVsbG8=",
        "x-gitlab-token": "t-12345",
    }
    assert (await acme.post(body, headers=hidden | {"x-note": f"token={TOKEN}"})).status_code == 202
    answer = await acme.call("GET", f"{EVENTS}/evt_1")
    post = answer.json()["post"]
    assert {post["headers"][name] for name in (*hidden, "webhook-signature")} == {"[REDACTED]"}
    data = json.loads(post["body"])["data"]
    assert data == {"name": "Ada", "api_key": "[REDACTED]", "note": "use [REDACTED]"}
    assert TOKEN not in answer.text


async def test_a_form_stays_a_form_and_the_sources_own_header_counts_as_a_signature(acme: Gateway) -> None:
    await acme.make_source("crm", scheme="hmac", header="X-Crm-Seal")
    await acme.make_source("hub", scheme="github")
    form = urlencode({"payload": json.dumps({"token": "abcdefgh", "n": 1}), "password": "abcdefgh", "x": "a b"})
    headers = {"content-type": "application/x-www-form-urlencoded", "x-crm-seal": "0f0f", "x-request-id": "req-1"}
    for name in ("crm", "hub"):
        await acme.post(form.encode(), path=f"/v1/hooks/acme/{name}", headers=headers)
    read = [(await acme.call("GET", f"/v1/teams/acme/events/{name}/req-1")).json() for name in ("crm", "hub")]
    assert [each["post"]["headers"]["x-crm-seal"] for each in read] == ["[REDACTED]", "0f0f"]
    shown = urlencode({"payload": json.dumps({"token": "[REDACTED]", "n": 1})}, safe="[]")
    assert read[1]["post"]["body"] == f"{shown}&password=[REDACTED]&x=a+b"


async def test_a_refused_post_is_shown_by_the_id_of_its_event_or_its_request(acme: Gateway) -> None:
    forged = {"webhook-signature": "v1,AAAA"}
    first = await acme.post({"n": 1}, event_id="evt_x", headers=forged)
    last = await acme.post({"n": 2}, event_id="", headers=forged)
    by_event = (await acme.call("GET", f"{EVENTS}/evt_x")).json()
    by_request = (await acme.call("GET", f"{EVENTS}/{last.headers['x-request-id']}")).json()
    assert (by_event["status"], by_event["reason"], by_event["triggers"]) == ("refused", "bad_signature", [])
    assert by_event["cause"].startswith("no_match")
    assert by_request["cause"].startswith("no_id")
    assert by_event["request_id"] == first.headers["x-request-id"]
    assert [json.loads(each["post"]["body"]) for each in (by_event, by_request)] == [{"n": 1}, {"n": 2}]


async def test_a_post_is_not_for_other_teams(acme: Gateway, scheduler: Scheduler) -> None:
    await acme.post()
    other = await acme.make_team("other")
    assert error_of(await acme.call("GET", f"{EVENTS}/evt_1", key=other)) == (403, "foreign_team")
    theirs = "/v1/teams/other/events/leads/evt_1"
    assert error_of(await acme.call("GET", theirs, key=other)) == (404, "event_not_found")


async def test_an_event_whose_post_is_not_kept_says_so() -> None:
    inbound = InMemoryInboundLog(PostLimits(days=0))
    async with gateway(adapters=in_memory(given=ENVIRON, secrets_key=SECRETS_KEY, inbound=inbound)) as acme:
        acme.key = await acme.make_team()
        await acme.make_source()
        await acme.post()
        read = (await acme.call("GET", f"{EVENTS}/evt_1")).json()
    assert (read["status"], read["post"]) == ("accepted", None)
    assert "ROTA_POST_DAYS" in read["no_post"]
