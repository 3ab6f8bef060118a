"""The suppression list: missing mailboxes and addresses added by hand get no mail of the team (F23)."""

from collections.abc import AsyncIterator

import pytest

from rota_contracts.catalog import DELIVERY_ACCEPTED, LIST_SUPPRESSIONS, SUPPRESS, UNSUPPRESS
from rota_contracts.messages.delivery import ChannelResult
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, Unsuppress
from tests.integration.delivery.harness import Harness, to
from tests.integration.delivery.mailservers import MailServer, mail_server

GONE = "Gone@b.example"
UNKNOWN = "550 5.1.1 <gone>: user unknown"


@pytest.fixture
def harness(in_memory_harness: Harness) -> Harness:
    return in_memory_harness


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as made:
        yield made


async def sent(harness: Harness, *request_ids: str) -> list[ChannelResult]:
    """The results of these requests, one after the other."""
    for request_id in request_ids:
        await harness.request(request_id)
        accepted = await harness.events(DELIVERY_ACCEPTED, 1 + request_ids.index(request_id))
    return [event.data.result.results[0] for event in accepted]


async def listed(harness: Harness, team: str = "") -> list[Suppression]:
    return (await harness.ask(LIST_SUPPRESSIONS, ListSuppressions(team_id=team or harness.team))).suppressions


@pytest.mark.once
async def test_after_a_hard_bounce_no_mail_goes_there(harness: Harness, server: MailServer) -> None:
    server.unknown = {GONE: UNKNOWN}
    await harness.robot(to("email", {"to": [GONE, "boss@acme.example"]}))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(smtp_url=server.url())
    first, second = await sent(harness, "r1", "r2")
    assert (first.recipients, first.details["refused"]) == (["boss@acme.example"], {GONE: UNKNOWN[4:]})
    assert (second.success, second.recipients) == (True, ["boss@acme.example"])
    assert (second.details["suppressed"], second.details["refused"]) == ([GONE], {})
    assert [mail["To"] for mail in server.taken] == [f"{GONE}, boss@acme.example", "boss@acme.example"]
    (suppression,) = await listed(harness)
    assert (suppression.address, suppression.by, suppression.reason) == (GONE.lower(), "mail server", UNKNOWN)
    assert await listed(harness, "other") == []


@pytest.mark.once
async def test_a_target_with_only_suppressed_recipients_fails_with_the_reason(
    harness: Harness, server: MailServer
) -> None:
    server.unknown = {GONE: UNKNOWN}
    await harness.robot(to("email", {"to": [GONE]}))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(smtp_url=server.url())
    first, second = await sent(harness, "r1", "r2")
    assert (first.final, first.details["refused"]) == (True, {GONE: UNKNOWN[4:]})
    assert second.error == f"every recipient is on the suppression list: {GONE}"
    assert (second.final, second.details, server.seen) == (True, {"suppressed": [GONE]}, [])


async def test_a_refusal_that_does_not_concern_the_mailbox_suppresses_no_address(
    harness: Harness, server: MailServer
) -> None:
    server.unknown = {"a@b.example": "552 5.2.2 mailbox full", "c@b.example": "550 5.7.1 blocked"}
    await harness.robot(to("email", {"to": ["a@b.example", "c@b.example", "boss@acme.example"]}))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(smtp_url=server.url())
    await sent(harness, "r1")
    assert await listed(harness) == []


@pytest.mark.once
async def test_addresses_are_added_and_removed_by_hand(harness: Harness, server: MailServer) -> None:
    await harness.robot(to("email", {"to": ["Boss <boss@acme.example>"]}))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start(smtp_url=server.url())
    wanted = Suppress(team_id=harness.team, address="BOSS@acme.example", reason="asked for it", by="ada")
    (kept,) = (await harness.ask(SUPPRESS, wanted)).suppressions
    assert (kept.address, kept.by, await listed(harness)) == ("boss@acme.example", "ada", [kept])
    (suppressed,) = await sent(harness, "r1")
    await harness.ask(UNSUPPRESS, Unsuppress(team_id=harness.team, address="boss@ACME.example"))
    assert await listed(harness) == []
    _, again = await sent(harness, "r1", "r2")
    assert (suppressed.success, again.success, len(server.taken)) == (False, True, 1)
