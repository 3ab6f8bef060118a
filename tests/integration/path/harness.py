"""The seven services with external systems around them, for tests from the webhook to the receiver."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import yaml

from rota.client import Api
from rota.demo.external_systems import Fact, Hook, Inbox, feed, mailbox, webhook_receiver
from rota.server.stack import Stack
from rota.signing import new_secret, signed_event
from rota.waiting import until_finished
from rota_common.clock import now
from rota_common.runtime.service import Runtime
from rota_common.testing.team_secrets import ForEveryTeam
from rota_contracts.messages.execution import Execution

TEAM, SOURCE = "acme", "leads"
LEAD = {
    "name": "John Smith",
    "email": "john@bigcorp.com",
    "company": "BigCorp",
    "message": "Interested in Enterprise pricing, team of 50",
}
EXAMPLES = Path(__file__).parents[3] / "examples" / "robots"


def example(name: str, hook_url: str) -> dict[str, Any]:
    """A robot of the examples whose signed webhooks go to `hook_url`."""
    robot: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    delivery = robot["robot_config"]["delivery"]
    targets = delivery.get("preferences", {}).get("webhook", {}).get("targets", [])
    if delivery.get("type") == "webhook":
        targets = [delivery["opts"]]
    for target in targets:
        target |= {"url": hook_url, "secret": "$ENV.OUT_SECRET"}
    return robot


@dataclass(frozen=True)
class StackWithMail:
    """`environ` holds the secrets that `$ENV.` refers to."""

    stack: Stack
    mails: Inbox[EmailMessage]
    environ: Mapping[str, str]


@dataclass(frozen=True)
class System:
    """A team of a stack, with its webhook receiver, the stack's mailbox and the team's facts of deliveries."""

    stack: Stack
    team: str
    api: Api
    admin: Api
    hooks: Inbox[Hook]
    mails: Inbox[EmailMessage]
    facts: Inbox[Fact]
    environ: Mapping[str, str]

    async def post_lead(
        self, message_id: str = "", lead: dict[str, Any] = LEAD, *, at: datetime | None = None
    ) -> dict[str, Any]:
        """A signed lead.created event; the gateway's answer. A repeat of an event has the same id and instant."""
        body, headers = signed_event(
            self.environ["IN_SECRET"],
            message_id=message_id or f"msg_{secrets.token_hex(8)}",
            at=at or now(),
            type="lead.created",
            data=lead,
        )
        return await self.api.hook(self.team, SOURCE, body, headers)

    async def asked(self, member: str, words: str) -> dict[str, Any]:
        """A run of its own, on a person's word; an intervention would go to a run that is under way."""
        return await self.api.trigger(member, {"type": "human", "messages": [{"content": words}]})

    async def ended(self, started: dict[str, Any]) -> Execution:
        """The execution that a trigger started, once it has finished."""
        return Execution.model_validate(await until_finished(self.api, started, timeout=60))


@asynccontextmanager
async def a_stack(
    folder: Path,
    *,
    nats_url: str,
    mongo_url: str,
    mongo_prefix: str,
    runtime: Runtime | None = None,
    connector: str = "rehearsal",
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[StackWithMail]:
    """The seven services in this process, on these servers."""
    known = {"IN_SECRET": new_secret(), "OUT_SECRET": new_secret(), **(environ or {})}
    async with mailbox() as mails:
        stack = Stack(
            folder,
            nats_url=nats_url,
            mongo_url=mongo_url,
            mongo_prefix=mongo_prefix,
            connector=connector,
            smtp_url=mails.url,
            allow_private_targets="127.0.0.0/8",
            environ=environ or {},
            secrets=ForEveryTeam(known),
            runtime=runtime or Runtime(),
        )
        async with stack:
            yield StackWithMail(stack, mails, known)


@asynccontextmanager
async def a_team(on: StackWithMail, team: str = TEAM) -> AsyncIterator[System]:
    """A new team of the stack."""
    stack = on.stack
    on.mails.received.clear()
    async with AsyncExitStack() as ends:
        hooks = await ends.enter_async_context(webhook_receiver(on.environ["OUT_SECRET"]))
        facts = await ends.enter_async_context(feed(stack.nats_url, f"rota.v1.delivery.*.{team}.>"))
        admin = await ends.enter_async_context(Api(stack.url, team, key=stack.admin_key))
        key = str((await admin.create_team(team))["api_key"])
        api = await ends.enter_async_context(Api(stack.url, team, key=key))
        await api.add_source(SOURCE, "$ENV.IN_SECRET")
        yield System(stack, team, api, admin, hooks, on.mails, facts, on.environ)


@asynccontextmanager
async def a_system(folder: Path, **settings: Any) -> AsyncIterator[System]:
    """A team on a stack of its own, with the settings of `a_stack`."""
    async with a_stack(folder, **settings) as on, a_team(on) as system:
        yield system
