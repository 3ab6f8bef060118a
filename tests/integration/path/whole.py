"""The whole system with its outside parties, for tests that go the whole path through HTTP and messages."""

import base64
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
from rota.signing import signed_event
from rota.waiting import until_finished
from rota_common.clock import now
from rota_common.runtime.service import Runtime
from rota_contracts.messages.execution import Execution

TEAM, SOURCE = "acme", "leads"
LEAD = {
    "name": "John Smith",
    "email": "john@bigcorp.com",
    "company": "BigCorp",
    "message": "Interested in Enterprise pricing, team of 50",
}
EXAMPLES = Path(__file__).parents[3] / "examples" / "robots"


def new_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"


def example(name: str, hook_url: str) -> dict[str, Any]:
    """A robot of the examples whose webhooks go to `hook_url`, signed; all else as it is written."""
    robot: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    delivery = robot["robot_config"]["delivery"]
    targets = delivery.get("preferences", {}).get("webhook", {}).get("targets", [])
    if delivery.get("type") == "webhook":
        targets = [delivery["opts"]]
    for target in targets:
        target |= {"url": hook_url, "secret": "$ENV.OUT_SECRET"}
    return robot


@dataclass
class Whole:
    """Everybody who takes part. `environ` holds the secrets that `$ENV.` refers to."""

    stack: Stack
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
        return await self.api.hook(TEAM, SOURCE, body, headers)

    async def ended(self, woken: dict[str, Any]) -> Execution:
        """The execution that a trigger started, once it is over."""
        return Execution.model_validate(await until_finished(self.api, woken, timeout=60))


@asynccontextmanager
async def whole(
    folder: Path,
    *,
    nats_url: str,
    mongo_url: str,
    mongo_prefix: str,
    runtime: Runtime,
    connector: str = "rehearsal",
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Whole]:
    secret = new_secret()
    known = {"IN_SECRET": new_secret(), "OUT_SECRET": secret, **(environ or {})}
    async with AsyncExitStack() as ends:
        hooks = await ends.enter_async_context(webhook_receiver(secret))
        mails = await ends.enter_async_context(mailbox())
        stack = await ends.enter_async_context(
            Stack(
                folder,
                nats_url=nats_url,
                mongo_url=mongo_url,
                mongo_prefix=mongo_prefix,
                connector=connector,
                smtp_url=mails.url,
                allow_private_targets="127.0.0.0/8",
                environ=known,
                runtime=runtime,
            )
        )
        facts = await ends.enter_async_context(feed(stack.nats_url, f"rota.v1.delivery.*.{TEAM}.>"))
        admin = await ends.enter_async_context(Api(stack.url, TEAM, stack.admin_key))
        key = str((await admin.create_team(TEAM))["api_key"])
        api = await ends.enter_async_context(Api(stack.url, TEAM, key))
        await api.add_source(SOURCE, "$ENV.IN_SECRET")
        yield Whole(stack, api, admin, hooks, mails, facts, known)
