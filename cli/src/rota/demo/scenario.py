"""The demo's scenario: start everything, post two leads, check what the external systems received."""

import json
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from rota.applying import apply_one
from rota.client import Api
from rota.demo import expectations
from rota.demo.external_systems import Fact, Hook, Inbox, feed, mailbox, webhook_receiver
from rota.demo.follower import Follower, following
from rota.demo.robot import EXAMPLE, WEBHOOK_SECRET, demo_robot
from rota.demo.screen import Screen
from rota.errors import CliError
from rota.server.stack import Stack
from rota.signing import new_secret, signed_event
from rota.timestamps import now
from rota.waiting import until_finished
from rota_common.nats_admin.feed_client_admin import FeedClients
from rota_contracts.catalog import DELIVERY_COMPLETED
from rota_contracts.messages.execution import ExecStatus, Execution

TEAM, SOURCE, FEED_CLIENT = "demo", "leads", "crm"
EVENT_TYPE = "lead.created"
FIRST_LEAD = EXAMPLE.parents[1] / "events" / "lead-created.json"
SECOND_LEAD = {
    "name": "Mary Jones",
    "email": "mary@bigcorp.com",
    "company": "BigCorp",
    "message": "Can we have a trial for our second team?",
}
SOURCE_SECRET = "LEADS_WEBHOOK_SECRET"  # noqa: S105  # the secret's name
REHEARSAL = "rehearsal"
RUN_TIMEOUT_S = 1860
"""A little more than the longest working time of a run, after which it ends by itself."""


@dataclass
class Participants:
    """The gateway's client and the external systems."""

    api: Api
    follower: Follower
    receiver: Inbox[Hook]
    mails: Inbox[EmailMessage]
    facts: Inbox[Fact]
    source_secret: str
    sender: str = ""
    accepted: list[str] = field(default_factory=list)


async def play(folder: Path, screen: Screen, *, connector: str, environ: Mapping[str, str]) -> bool:
    """Whether every system received what it should. `folder` is for the servers' data; on return nothing runs."""
    async with AsyncExitStack() as ends:
        parties = await _enter(ends, folder, screen, connector=connector, environ=environ)
        screen.heading("2. A lead comes in")
        first = await _lead(parties, screen, json.loads(FIRST_LEAD.read_text()))
        screen.heading("3. A second lead of the same company")
        second = await _lead(parties, screen, SECOND_LEAD)
        screen.heading("4. What the external systems received")
        results = [
            expectations.check_sender(parties.accepted),
            expectations.check_receiver(parties.receiver.received, [first, second]),
            expectations.check_mailbox(parties.mails.received, parties.sender),
            expectations.check_feed_client(parties.facts.received, [first, second]),
            expectations.check_memory(first, second, must_mention=connector == REHEARSAL),
        ]
        for one in results:
            screen.party(one.party, ok=one.ok, lines=one.lines)
        screen.heading("5. Stopping")
    return all(one.ok for one in results)


async def _enter(
    ends: AsyncExitStack, folder: Path, screen: Screen, *, connector: str, environ: Mapping[str, str]
) -> Participants:
    screen.heading("1. Starting NATS, MongoDB and the seven services")
    incoming, outgoing = new_secret(), new_secret()
    receiver = await ends.enter_async_context(webhook_receiver(outgoing))
    mails = await ends.enter_async_context(mailbox())
    stack = await ends.enter_async_context(
        Stack(
            folder,
            connector=connector,
            smtp_url=mails.url,
            allow_private_targets="127.0.0.1/32",
            environ=environ,
            secrets={TEAM: {SOURCE_SECRET: incoming, WEBHOOK_SECRET: outgoing}},
            progress=screen.part,
        )
    )
    seed = await FeedClients(stack.nats, stack.nats_url).add(TEAM, FEED_CLIENT) if stack.nats else None
    facts = await ends.enter_async_context(feed(stack.nats_url, DELIVERY_COMPLETED.subject(TEAM, "*"), seed=seed))
    async with Api(stack.url, TEAM, key=stack.admin_key) as admin:
        key = str((await admin.create_team(TEAM))["api_key"])
    api = await ends.enter_async_context(Api(stack.url, TEAM, key=key))
    await api.add_source(SOURCE, f"$SECRET.{SOURCE_SECRET}")
    robot = demo_robot(receiver.url)
    await apply_one(api, robot)
    screen.line(f"robot {robot.member_id}, from {EXAMPLE.relative_to(EXAMPLE.parents[2])}; changed for the demo:")
    screen.line(f"its webhook goes to {receiver.url}, its mails to {mails.url}, both on this machine")
    follower = await ends.enter_async_context(following(api, screen))
    return Participants(api, follower, receiver, mails, facts, incoming, sender=robot.robot_email or "")


async def _lead(parties: Participants, screen: Screen, lead: dict[str, Any]) -> Execution:
    """Post a signed lead, and wait for its run and deliveries."""
    body, headers = signed_event(
        parties.source_secret, message_id=f"msg_{secrets.token_hex(12)}", at=now(), type=EVENT_TYPE, data=lead
    )
    screen.line(f"{EVENT_TYPE}: {lead['name']}, {lead['company']}: {lead['message']}")
    answer = await parties.api.hook(TEAM, SOURCE, body, headers)
    if len(answer["triggers"]) != 1:
        raise CliError(f"expected the lead to start one run: {answer['message']}", hint="check the robot's events")
    started = answer["triggers"][0]
    parties.accepted.append(started["execution_id"])
    run = Execution.model_validate(await until_finished(parties.api, started, timeout=RUN_TIMEOUT_S))
    await parties.follower.until_shown(run.execution_id)
    if run.status is not ExecStatus.COMPLETED:
        raise CliError(f"the run {run.status.value}: {run.error or 'no reason given'}")
    for inbox in (parties.receiver, parties.mails, parties.facts):
        await inbox.wait(len(parties.accepted))
    return run
