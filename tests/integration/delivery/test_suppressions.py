"""The suppression list: whoever doesn't exist, or doesn't want to, gets no mail of the team any more (F23)."""

from collections.abc import AsyncIterator

import pytest

from rota_contracts.catalog import DELIVERY_ACCEPTED, LIST_SUPPRESSIONS, SUPPRESS, UNSUPPRESS
from rota_contracts.messages.delivery import ChannelResult
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, Unsuppress
from tests.integration.delivery.conftest import World
from tests.integration.delivery.mailservers import MailServer, mail_server
from tests.integration.delivery.test_channels import to

GONE = "Gone@b.example"
UNKNOWN = "550 5.1.1 <gone>: user unknown"


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as made:
        yield made


async def sent(world: World, *request_ids: str) -> list[ChannelResult]:
    """How the mails of these requests fared, one after the other."""
    for request_id in request_ids:
        await world.request(request_id)
        accepted = await world.heard(DELIVERY_ACCEPTED, 1 + request_ids.index(request_id))
    return [event.data.result.results[0] for event in accepted]


async def listed(world: World, team: str = "acme") -> list[Suppression]:
    return (await world.gateway.ask(LIST_SUPPRESSIONS, ListSuppressions(team_id=team))).suppressions


@pytest.mark.once
async def test_after_a_hard_bounce_no_mail_goes_there(world: World, server: MailServer) -> None:
    server.unknown = {GONE: UNKNOWN}
    await world.robot(to("email", {"to": [GONE, "boss@acme.example"]}))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start(smtp_url=server.url())
    first, second = await sent(world, "r1", "r2")
    assert (first.recipients, first.details["refused"]) == (["boss@acme.example"], {GONE: UNKNOWN[4:]})
    assert (second.success, second.recipients) == (True, ["boss@acme.example"])
    assert (second.details["suppressed"], second.details["refused"]) == ([GONE], {})
    assert [mail["To"] for mail in server.taken] == [f"{GONE}, boss@acme.example", "boss@acme.example"]
    (suppression,) = await listed(world)
    assert (suppression.address, suppression.by, suppression.reason) == (GONE.lower(), "mail server", UNKNOWN)
    assert await listed(world, "other") == []


@pytest.mark.once
async def test_if_nobody_is_left_nothing_is_sent_and_the_target_says_why(world: World, server: MailServer) -> None:
    server.unknown = {GONE: UNKNOWN}
    await world.robot(to("email", {"to": [GONE]}))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start(smtp_url=server.url())
    first, second = await sent(world, "r1", "r2")
    assert (first.final, first.details["refused"]) == (True, {GONE: UNKNOWN[4:]})
    assert second.error == f"every recipient is on the suppression list: {GONE}"
    assert (second.final, second.details, server.seen) == (True, {"suppressed": [GONE]}, [])


async def test_a_refusal_that_says_nothing_of_the_mailbox_suppresses_nobody(world: World, server: MailServer) -> None:
    server.unknown = {"a@b.example": "552 5.2.2 mailbox full", "c@b.example": "550 5.7.1 blocked"}
    await world.robot(to("email", {"to": ["a@b.example", "c@b.example", "boss@acme.example"]}))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start(smtp_url=server.url())
    await sent(world, "r1")
    assert await listed(world) == []


@pytest.mark.once
async def test_a_person_puts_addresses_on_the_list_and_takes_them_off(world: World, server: MailServer) -> None:
    await world.robot(to("email", {"to": ["Boss <boss@acme.example>"]}))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start(smtp_url=server.url())
    wanted = Suppress(team_id="acme", address="BOSS@acme.example", reason="asked for it", by="ada")
    (kept,) = (await world.gateway.ask(SUPPRESS, wanted)).suppressions
    assert (kept.address, kept.by, await listed(world)) == ("boss@acme.example", "ada", [kept])
    (suppressed,) = await sent(world, "r1")
    await world.gateway.ask(UNSUPPRESS, Unsuppress(team_id="acme", address="boss@ACME.example"))
    assert await listed(world) == []
    _, again = await sent(world, "r1", "r2")
    assert (suppressed.success, again.success, len(server.taken)) == (False, True, 1)
