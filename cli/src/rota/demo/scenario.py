"""The demo from beginning to end: start everything, post two leads, look at what the outside parties got."""

import base64
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
from rota.demo import checks
from rota.demo.external_systems import Fact, Hook, Inbox, feed, mailbox, webhook_receiver
from rota.demo.follower import Follower, following
from rota.demo.robot import EXAMPLE, WEBHOOK_SECRET, demo_robot
from rota.demo.screen import Screen
from rota.errors import CliError
from rota.server.stack import Stack
from rota.signing import signed_event
from rota.waiting import until_over
from rota_common.clock import now
from rota_common.nats_admin.feed_client_admin import Subscribers
from rota_contracts.catalog import DELIVERY_COMPLETED
from rota_contracts.messages.execution import ExecStatus, Execution

TEAM, SOURCE, SUBSCRIBER = "demo", "leads", "crm"
EVENT_TYPE = "lead.created"
FIRST_LEAD = EXAMPLE.parents[1] / "events" / "lead-created.json"
SECOND_LEAD = {
    "name": "Mary Jones",
    "email": "mary@bigcorp.com",
    "company": "BigCorp",
    "message": "Can we have a trial for our second team?",
}
SOURCE_SECRET = "LEADS_WEBHOOK_SECRET"  # noqa: S105  # the variable's name
REHEARSAL = "rehearsal"
RUN_TIMEOUT_S = 300


@dataclass
class Cast:
    """Everybody who takes part."""

    api: Api
    follower: Follower
    receiver: Inbox[Hook]
    mails: Inbox[EmailMessage]
    facts: Inbox[Fact]
    source_secret: str
    sender: str = ""
    accepted: list[str] = field(default_factory=list)


def signing_secret() -> str:
    """A new secret as Standard Webhooks write it."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"


async def tell(folder: Path, screen: Screen, *, connector: str, environ: Mapping[str, str]) -> bool:
    """Did everybody get what they should? `folder` is for the servers' data; nothing runs any more on return."""
    async with AsyncExitStack() as ends:
        cast = await _enter(ends, folder, screen, connector=connector, environ=environ)
        screen.heading("2. A lead comes in")
        first = await _lead(cast, screen, json.loads(FIRST_LEAD.read_text()))
        screen.heading("3. A second lead of the same company")
        second = await _lead(cast, screen, SECOND_LEAD)
        screen.heading("4. What the outside parties got")
        verdicts = [
            checks.of_sender(cast.accepted),
            checks.of_receiver(cast.receiver.got, [first, second]),
            checks.of_mailbox(cast.mails.got, cast.sender),
            checks.of_subscriber(cast.facts.got, [first, second]),
            checks.of_memory(first, second, must_mention=connector == REHEARSAL),
        ]
        for one in verdicts:
            screen.party(one.party, ok=one.ok, lines=one.lines)
        screen.heading("5. Stopping")
    return all(one.ok for one in verdicts)


async def _enter(
    ends: AsyncExitStack, folder: Path, screen: Screen, *, connector: str, environ: Mapping[str, str]
) -> Cast:
    screen.heading("1. Starting NATS, MongoDB and the seven services")
    incoming, outgoing = signing_secret(), signing_secret()
    receiver = await ends.enter_async_context(webhook_receiver(outgoing))
    mails = await ends.enter_async_context(mailbox())
    stack = await ends.enter_async_context(
        Stack(
            folder,
            connector=connector,
            smtp_url=mails.where,
            allow_private_targets="127.0.0.1/32",
            environ={**environ, SOURCE_SECRET: incoming, WEBHOOK_SECRET: outgoing},
            progress=screen.part,
        )
    )
    seed = await Subscribers(stack.nats, stack.nats_url).add(TEAM, SUBSCRIBER) if stack.nats else None
    facts = await ends.enter_async_context(feed(stack.nats_url, DELIVERY_COMPLETED.subject(TEAM, "*"), seed=seed))
    async with Api(stack.url, TEAM, stack.admin_key) as admin:
        key = str((await admin.create_team(TEAM))["api_key"])
    api = await ends.enter_async_context(Api(stack.url, TEAM, key))
    await api.add_source(SOURCE, f"$ENV.{SOURCE_SECRET}")
    robot = demo_robot(receiver.where)
    await apply_one(api, robot)
    screen.line(f"robot {robot.member_id}, from {EXAMPLE.relative_to(EXAMPLE.parents[2])}; changed for the demo:")
    screen.line(f"its webhook goes to {receiver.where}, its mails to {mails.where}, both on this machine")
    follower = await ends.enter_async_context(following(api, screen))
    return Cast(api, follower, receiver, mails, facts, incoming, sender=robot.robot_email or "")


async def _lead(cast: Cast, screen: Screen, lead: dict[str, Any]) -> Execution:
    """Post a lead, signed, and wait for all that follows from it."""
    body, headers = signed_event(
        cast.source_secret, message_id=f"msg_{secrets.token_hex(12)}", at=now(), type=EVENT_TYPE, data=lead
    )
    screen.line(f"{EVENT_TYPE}: {lead['name']}, {lead['company']}: {lead['message']}")
    answer = await cast.api.hook(TEAM, SOURCE, body, headers)
    if len(answer["triggers"]) != 1:
        raise CliError(f"expected the lead to wake one robot: {answer['message']}", hint="see the robot's events")
    woken = answer["triggers"][0]
    cast.accepted.append(woken["execution_id"])
    run = Execution.model_validate(await until_over(cast.api, woken, timeout=RUN_TIMEOUT_S))
    await cast.follower.until_shown(run.execution_id)
    if run.status is not ExecStatus.COMPLETED:
        raise CliError(f"the run {run.status.value}: {run.error or 'no reason was given'}")
    for inbox in (cast.receiver, cast.mails, cast.facts):
        await inbox.wait(len(cast.accepted))
    return run
